"""Signed calls in the State Chain's storage, also those that no method of a node returns.

A broadcaster keeps each call that it has had signed (`PendingApiCalls`) until the call has arrived or has
expired. These are also the failed calls of a chain without a method for them, and the batches that no
authority could send (`AbortedBroadcasts`). The storage has the members of a call, from which its data
follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cfnode.core.scale import NotInMetadataError, ScaleError, decode_compact
from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import (
    Transfer,
    VaultCall,
    all_batch,
    execute_x_swap_and_call,
    transfer_fallback,
)
from cfnode.sdk.exchange import Steps, rpc, rpc_batch
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.blocks import metadata_of
from cfnode.sdk.recovery.errors import BadPayload
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.storage import bad_answer, hex_bytes, storage_key

__all__ = ["aborted_batches", "aborted_numbers", "stored_calls"]

MAX_ABORTED = 500
"""Maximum number of aborted broadcasts read for a chain, newest first."""
_AT_ONCE = 50


def stored_calls(
    session: Session, chain: str, numbers: Sequence[int], at: str
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


def aborted_numbers(session: Session, chain: str, at: str) -> Steps[list[int]]:
    """Return the broadcasts of a chain that no authority could send, newest first."""
    question = "state_getStorage", [storage_key(f"{chain}Broadcaster", "AbortedBroadcasts"), at]
    (entry,) = yield from rpc_batch(session, session.rpc_url, [question])
    return sorted(_numbers(hex_bytes(entry, session.rpc_url)), reverse=True)[:MAX_ABORTED]


def aborted_batches(session: Session, chain: str, at: str) -> Steps[tuple[Payload, ...]]:
    """Return the batches that no authority could send and that the current key has signed, newest first."""
    numbers = yield from aborted_numbers(session, chain, at)
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


def _numbers(entry: bytes) -> list[int]:
    """Read a set of u32; empty for a malformed one."""
    try:
        count, offset = decode_compact(entry, 0) if entry else (0, 0)
    except ScaleError:
        return []
    numbers = entry[offset : offset + 4 * min(count, len(entry) // 4)]
    return [int.from_bytes(numbers[at : at + 4], "little") for at in range(0, len(numbers) - 3, 4)]


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


def _transfer(members: Mapping[str, Any]) -> Transfer:
    return Transfer(members["asset"], members["to"], members["amount"])


def _compressed(key: Mapping[str, Any]) -> bytes:
    return bytes([3 if key["pub_key_y_parity"] == "Odd" else 2]) + bytes(key["pub_key_x"])
