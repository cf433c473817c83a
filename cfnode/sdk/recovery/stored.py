"""Signed calls in the State Chain's storage, also those that no method of a node returns.

A broadcaster keeps each call that it has had signed (`PendingApiCalls`) until the call has arrived or has
expired. These are also the failed calls of a chain without a method for them, and the batches that no
authority could send (`AbortedBroadcasts`). Governance may have such a batch signed again without having it
sent: then no list has it, so the keys of the stored calls are read, without those that an authority is to
send (`PendingBroadcasts`). The storage has the members of a call, from which its data follows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cfnode.core.scale import NotInMetadataError, ScaleError, decode_compact
from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import (
    TransferParams,
    VaultCall,
    all_batch,
    execute_x_swap_and_call,
    transfer_fallback,
)
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps, rpc, rpc_batch, rpc_outcomes
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.blocks import metadata_of
from cfnode.sdk.recovery.errors import BadPayload
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.storage import bad_answer, hex_bytes, storage_key

__all__ = [
    "MAX_UNSENT",
    "aborted_numbers",
    "pending_numbers",
    "stored_calls",
    "stored_numbers",
    "unsent_batches",
]

MAX_UNSENT = 500
"""Maximum number of calls read for a chain that no authority is to send, newest first."""
MAX_STORED = 50_000
"""Maximum number of stored calls of a chain whose keys are read."""
_KEYS_PER_REQUEST = 1_000
_AT_ONCE = 50


def stored_calls(
    session: ClientSession, chain: str, numbers: Sequence[int], at: str
) -> Steps[dict[int, tuple[Payload, bytes]]]:
    """Return the signed calls of broadcasts at a block, each with its signer's key (33 bytes compressed).

    A broadcast without a signature, or with a call of another contract, is left out.
    """
    if not numbers:
        return {}
    url, calls = session.rpc_url, dict[int, tuple[Payload, bytes]]()
    version = yield from rpc(session, url, "state_getRuntimeVersion", [at])
    metadata = yield from metadata_of(session, url, version, at)
    pallet, item = f"{chain}Broadcaster", "PendingApiCalls"
    try:
        codec = metadata.storage_codec(pallet, item)
        keys = ["0x" + metadata.storage_key(pallet, item, number).hex() for number in numbers]
    except NotInMetadataError:
        return {}
    for start in range(0, len(keys), _AT_ONCE):
        chunk = keys[start : start + _AT_ONCE]
        entries = yield from rpc_batch(session, url, [("state_getStorage", [key, at]) for key in chunk])
        for number, entry in zip(numbers[start : start + _AT_ONCE], entries, strict=True):
            if not (data := hex_bytes(entry, url)):
                continue
            try:
                call = _call(chain, number, codec.decode(data))
            except ScaleError as error:
                raise bad_answer(url, f"{pallet}.{item} of {number} is malformed: {error}") from None
            if call is not None:
                calls[number] = call
    return calls


def aborted_numbers(session: ClientSession, chain: str, at: str) -> Steps[set[int]]:
    """Return the broadcasts of a chain that no authority could send."""
    return (yield from _numbers(session, chain, "AbortedBroadcasts", at))


def pending_numbers(session: ClientSession, chain: str, at: str) -> Steps[set[int]]:
    """Return the broadcasts of a chain that wait for their signature, or that an authority is to send."""
    return (yield from _numbers(session, chain, "PendingBroadcasts", at))


def unsent_batches(
    session: ClientSession, chain: str, at: str, listed: Collection[int] = ()
) -> Steps[tuple[Payload, ...]]:
    """Return the batches that the current key has signed and no authority is to send, newest first.

    They were aborted, or signed again afterwards and not sent; a node that lists no keys reveals the aborted
    ones only. `listed` are the failed calls of the chain, which are no batches.
    """
    aborted = yield from aborted_numbers(session, chain, at)
    stored = yield from stored_numbers(session, chain, at)
    idle = stored - (yield from pending_numbers(session, chain, at)) if stored else set()
    numbers = sorted(aborted | idle.difference(listed), reverse=True)[:MAX_UNSENT]
    if not numbers:
        return ()
    vault = yield from rpc(session, session.rpc_url, "cf_eth_vault", [at])
    calls = yield from stored_calls(session, chain, numbers, at)
    key = str(vault[0]).removeprefix("0x") if isinstance(vault, Sequence) and vault else ""
    return tuple(
        replace(call, is_offered=False)
        for call, signer in calls.values()
        if call.is_batch and signer.hex() == key
    )


def stored_numbers(session: ClientSession, chain: str, at: str) -> Steps[set[int] | None]:
    """Return the broadcasts whose calls are stored; None from a node that does not list keys."""
    prefix, numbers = storage_key(f"{chain}Broadcaster", "PendingApiCalls"), set[int]()
    last: Any = None
    for _ in range(MAX_STORED // _KEYS_PER_REQUEST):
        question = "state_getKeysPaged", [prefix, _KEYS_PER_REQUEST, last, at]
        keys: Any
        (keys,) = yield from rpc_outcomes(session, session.rpc_url, [question])
        if isinstance(keys, RpcCallError) or not isinstance(keys, list):
            return None
        numbers |= {int.from_bytes(hex_bytes(key, session.rpc_url)[-4:], "little") for key in keys}
        if len(keys) < _KEYS_PER_REQUEST:
            break
        last = keys[-1]
    return numbers


def _numbers(session: ClientSession, chain: str, item: str, at: str) -> Steps[set[int]]:
    """Return a stored set of u32 of a chain's broadcaster; empty for a malformed one."""
    question = "state_getStorage", [storage_key(f"{chain}Broadcaster", item), at]
    (text,) = yield from rpc_batch(session, session.rpc_url, [question])
    entry = hex_bytes(text, session.rpc_url)
    try:
        count, offset = decode_compact(entry, 0) if entry else (0, 0)
    except ScaleError:
        return set()
    numbers = entry[offset : offset + 4 * min(count, len(entry) // 4)]
    return {int.from_bytes(numbers[start : start + 4], "little") for start in range(0, len(numbers) - 3, 4)}


def _call(chain: str, number: int, value: Any) -> tuple[Payload, bytes] | None:
    """Return the call and its signer's key, from the value of an `Api` in storage.

    Returns None for a malformed value.
    """
    try:
        kind, members = value
        key, signature = members["signer_and_sig_data"]
        bound = members["replay_protection"]
        schnorr = Signature(int(signature["sig"]).to_bytes(32, "big"), signature["k_times_g_address"])
        call = _contract_call(kind, members["call"])
        document = {
            "contract": bound["contract_address"].hex(),
            "chain_id": bound["chain_id"],
            "data": call.data(signature["nonce"], schnorr).hex(),
        }
        return read_payload(chain, number, document, None), _compressed(key)
    except (BadPayload, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _contract_call(kind: str, call: Mapping[str, Any]) -> VaultCall:
    """Return the contract's call; raise LookupError for one that makes no payment."""
    if kind == "AllBatch":
        return all_batch(
            [(fetch["channel_id"], fetch["asset"]) for fetch in call["fetch_deploy_params"]],
            [(fetch["contract_address"], fetch["asset"]) for fetch in call["fetch_params"]],
            [_transfer(transfer) for transfer in call["transfer_params"]],
        )
    if kind == "TransferFallback":
        return transfer_fallback(_transfer(call["transfer_param"]))
    if kind == "ExecutexSwapAndCall":
        paid = _transfer(call["transfer_param"])
        return execute_x_swap_and_call(paid, call["source_chain"], call["source_address"], call["message"])
    raise LookupError(kind)


def _transfer(members: Mapping[str, Any]) -> TransferParams:
    return TransferParams(members["asset"], members["to"], members["amount"])


def _compressed(key: Mapping[str, Any]) -> bytes:
    return bytes([3 if key["pub_key_y_parity"] == "Odd" else 2]) + bytes(key["pub_key_x"])
