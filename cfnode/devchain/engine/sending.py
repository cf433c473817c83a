"""Transactions that wait to be sent to foreign chains: they succeed, unless a test wants them to fail.

A transaction of an EVM chain that sets another aggregate key also activates it. A batch succeeds as a whole;
transfers in it to receivers that refuse them are reported apart, as the vault's contract does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cfnode.core.assets import gas_asset
from cfnode.core.hashing import keccak_256
from cfnode.core.vault_calls import NATIVE_TOKEN, batch_transfers, set_agg_key
from cfnode.devchain.engine.answers import Answer, Reported, Witnessed
from cfnode.devchain.engine.block import BlockView
from cfnode.devchain.engine.names import CHAINS
from cfnode.devchain.engine.situation import Situation

__all__ = ["broadcast_number", "broadcasts", "failure"]

_SET_AGG_KEY: Final = set_agg_key(bytes(32), odd=False).selector


def broadcasts(situation: Situation) -> Iterator[Answer]:
    """Yield the success of each transaction that waits, on chains that no test holds."""
    for chain in CHAINS:
        if chain not in situation.holds.chains:
            for _, waiting in situation.block.entries(f"{chain}Broadcaster", "AwaitingBroadcast"):
                if (chain, broadcast_number(waiting)) not in situation.holds.failing:
                    yield from _success(situation, chain, waiting)
                elif waiting["nominee"] in situation.authorities:
                    yield failure(situation.block, chain, waiting)


def broadcast_number(waiting: Mapping[str, Any]) -> int:
    """Return the number of a waiting broadcast."""
    attempt = _attempt(waiting)
    return int(attempt.get("broadcast_attempt_id", attempt)["broadcast_id"])


def failure(block: BlockView, chain: str, waiting: Mapping[str, Any]) -> Answer:
    """Return the report of the authority that was asked to send a broadcast and could not."""
    attempt = _attempt(waiting)
    name = "broadcast_attempt_id" if "broadcast_attempt_id" in attempt else "broadcast_id"
    call = block.call(f"{chain}Broadcaster", "transaction_failed", broadcast_id=attempt[name])
    return Reported(waiting["nominee"], call)


def _attempt(waiting: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the broadcast in an entry of the chain: a struct of its own before 1.5."""
    attempt: Mapping[str, Any] = waiting.get("broadcast_attempt", waiting)
    return attempt


def _success(situation: Situation, chain: str, waiting: Mapping[str, Any]) -> Iterator[Answer]:
    block, attempt = situation.block, _attempt(waiting)
    pallet, out_id = f"{chain}Broadcaster", attempt["transaction_out_id"]
    if block.stored(pallet, "TransactionOutIdToBroadcastId", out_id) is None:
        return  # it has succeeded, or was given up
    payload = attempt["transaction_payload"]
    metadata = payload if "contract" in payload else ()
    fields = {"tx_out_id": out_id, "tx_metadata": metadata}
    yield Witnessed(block.call(pallet, "transaction_succeeded", **fields))
    data = payload.get("data", b"")
    yield from _refusals(situation, chain, data)
    if data[:4] == _SET_AGG_KEY and block.has_call(f"{chain}Vault", "vault_key_rotated"):
        height = block.value(f"{chain}ChainTracking", "CurrentChainState")["block_height"]
        fields = {"block_number": height, "tx_id": keccak_256(out_id["s"])}
        yield Witnessed(block.call(f"{chain}Vault", "vault_key_rotated", **fields))


def _refusals(situation: Situation, chain: str, data: bytes) -> Iterator[Answer]:
    """Yield the failed transfers of a transaction to an EVM chain: those to receivers that refuse them."""
    if not situation.holds.receivers or not data:
        return
    block = situation.block
    tokens = {token: asset for (asset,), token in block.entries("Environment", f"{chain}SupportedAssets")}
    tokens[NATIVE_TOKEN] = gas_asset(chain).name
    for transfer in batch_transfers(data):
        asset = tokens.get(transfer.token)
        if (asset, transfer.recipient) in situation.holds.receivers:
            fields = {"asset": asset, "amount": transfer.amount, "destination_address": transfer.recipient}
            yield Witnessed(block.call(f"{chain}IngressEgress", "vault_transfer_failed", **fields))
