"""Events of foreign chains that a test wants: deposits, funds, failures, as the calls that engines witness.

Each function gives the answers of one wish, for the block that is being built. The chain executes a witnessed
call once in an epoch, so calls with equal contents are made different: by a transaction's hash where the
release has one, and else by the height of the foreign chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from cfnode.core.addresses import NETWORKS, EncodedAddress, foreign_address
from cfnode.core.assets import ASSETS
from cfnode.core.hashing import blake2_256
from cfnode.core.scale import ScaleError
from cfnode.devchain.engine.answers import Answer, Reported, Witnessed
from cfnode.devchain.engine.block import Call
from cfnode.devchain.engine.names import CHAINS
from cfnode.devchain.engine.sending import broadcast_number, failure
from cfnode.devchain.engine.situation import Situation

__all__ = ["RefusedWish", "broadcast_failure", "deposit", "funding", "governed", "network_of"]

HEIGHTS_TRIED: Final = 1_000
"""Heights after the present one for calls of the same contents in one epoch."""


class RefusedWish(ScaleError):
    """A wish that this chain cannot fulfil; the text says why."""


def network_of(situation: Situation) -> str:
    """Return the name of the chain's network, which decides the form of Bitcoin's addresses."""
    name = situation.block.value("Environment", "ChainflipNetworkEnvironment")
    return str(name)


def deposit(
    situation: Situation, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None
) -> Iterator[Answer]:
    """Yield the witness of a deposit at an address."""
    yield Witnessed(_deposit_call(situation, address, asset, amount, transaction))


def _deposit_call(
    situation: Situation, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None
) -> Call:
    block, chain = situation.block, ASSETS[asset].chain
    if chain not in CHAINS or not block.has_call(f"{chain}IngressEgress", "process_deposits"):
        raise RefusedWish(f"the engine witnesses no deposits on {chain} in this runtime")
    _, account = foreign_address(address, NETWORKS[network_of(situation)])
    channel = block.value(f"{chain}IngressEgress", "DepositChannelLookup", account)
    numbers = amount.to_bytes(16, "little") + situation.number.to_bytes(8, "little")
    unique = transaction or blake2_256(address[1] + numbers)
    details = _details(chain, unique, amount, channel)
    witness = {"deposit_address": account, "asset": asset, "amount": amount, "deposit_details": details}

    def at(height: int) -> Call:
        fields = {"deposit_witnesses": [witness], "block_height": height}
        return block.call(f"{chain}IngressEgress", "process_deposits", **fields)

    height = block.value(f"{chain}ChainTracking", "CurrentChainState")["block_height"]
    for candidate in range(height, height + HEIGHTS_TRIED):
        if situation.is_new(call := at(candidate)):
            return call
    raise RefusedWish(f"{HEIGHTS_TRIED} equal deposits of {amount} have been witnessed in this epoch")


def _details(chain: str, transaction: bytes, amount: int, channel: Any) -> dict[str, Any]:
    """Return what any release wants to know of a deposit's transaction: the type takes its own fields."""
    output = {"tx_id": transaction, "vout": 0}
    if chain == "Bitcoin":
        state = channel["deposit_channel"]["state"] if channel else {}
        return {**output, "id": output, "amount": amount, "deposit_address": state}
    return {"tx_hashes": [transaction]}


def funding(situation: Situation, account: bytes, amount: int) -> Answer:
    """Return the witness of FLIP that was sent to the gateway for an account."""
    block = situation.block
    unique = blake2_256(account + amount.to_bytes(16, "little") + situation.number.to_bytes(8, "little"))
    if block.has_call("Funding", "funded"):
        return Witnessed(block.call("Funding", "funded", account_id=account, amount=amount, tx_hash=unique))
    deposit = {"deposit": ("FlipToSCGateway", {"amount": amount})}
    fields = {"deposit_and_call": deposit, "caller_account_id": account, "eth_tx_hash": unique}
    return Witnessed(block.call("Funding", "execute_sc_call", **fields))


def governed(situation: Situation, call: Call) -> Iterator[Answer]:
    """Yield the proposal of a call by our authority in the council, which approves it by itself."""
    members = situation.block.value("Governance", "Members")
    council = members["members"] if isinstance(members, dict) else members
    member = next((authority for authority in situation.authorities if authority in council), None)
    if member is None:
        raise RefusedWish("the engine has the key of no member of the council")
    proposal = {"call": call, "execution": "Automatic"}
    yield Reported(member, situation.block.call("Governance", "propose_governance_extrinsic", **proposal))


def broadcast_failure(situation: Situation, chain: str, broadcast_id: int | None) -> Iterator[Answer]:
    """Yield the failure of the authority that is to send a broadcast (default: the newest)."""
    waiting = {
        broadcast_number(broadcast): broadcast
        for _, broadcast in situation.block.entries(f"{chain}Broadcaster", "AwaitingBroadcast")
    }
    if not waiting:
        raise RefusedWish(f"no transaction to {chain} waits to be sent")
    number = max(waiting) if broadcast_id is None else broadcast_id
    if number not in waiting:
        raise RefusedWish(f"broadcast {number} to {chain} does not wait to be sent")
    if waiting[number]["nominee"] not in situation.authorities:
        raise RefusedWish("the authority that is to send it is not ours")
    yield failure(situation.block, chain, waiting[number])
