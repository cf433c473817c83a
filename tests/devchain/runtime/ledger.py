"""Two sides of all money: what a chain holds, and everything that came, went and was swapped.

Inside: storage, read raw, of everything that the chain owes or keeps. Outside: what events say that
came in, went out, and passed through the pools. Shares of a batch are rounded down, so a unit for each swap
but one may be left over; that, and outputs too small to be sent, are in no account.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.devchain.runtime.world import World

Event = tuple[str, str, Mapping[str, Any]]
"""Pallet, name, fields."""
USDC = "Usdc"
BTC_EGRESS = 80 + 290 + 2 * 255
_SENT = {
    "SwapEgressScheduled": "amount",
    "RefundEgressScheduled": "amount",
    "WithdrawalRequested": "egress_amount",
}
_IGNORED = {"SwapEgressIgnored", "RefundEgressIgnored"}


class Ledger:
    """Expected contents of the chain by asset, from the events of every block."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.flows = Counter[str]()
        self.emitted, self.actions = set[str](), set[str]()
        """Names of the events so far, and what has become of deposits."""
        self.scheduled: set[tuple[str, int]] = set()
        self.announced = Counter[tuple[str, int]]()
        self._begin = inside(world)

    def put_up(self, asset: str, amount: int) -> None:
        """Record a change of the funds that a boost pool has."""
        self.flows[asset] += amount

    def receive(self, events: Iterable[Event]) -> None:
        """Receive the events of a block."""
        swaps, legs = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
        for _, name, fields in events:
            self.emitted.add(name)
            if name == "SwapExecuted":
                swaps.append(fields)
            elif name == "AssetSwapped":
                legs.append(fields)
            else:
                self._receive(name, fields)
        for leg in legs:
            self._swapped(leg, swaps)

    def missing(self) -> dict[str, int]:
        """Return the excess of the chain's contents by asset; empty if all is right."""
        unaccounted = inside(self.world)
        unaccounted.subtract(self._begin)
        unaccounted.subtract(self.flows)
        return {asset: amount for asset, amount in unaccounted.items() if amount}

    def _receive(self, name: str, fields: Mapping[str, Any]) -> None:
        if name == "DepositFinalised":
            self.flows[fields["asset"]] += fields["amount"]
            self.actions.add(fields["action"][0])
        elif name == "DepositFailed" and fields["reason"] == "NotEnoughToPayFees":
            witness = fields["details"][1]["deposit_witness"]
            self.flows[witness["asset"]] += witness["amount"]
        elif name in _SENT:
            self.flows[fields.get("asset", USDC)] -= fields[_SENT[name]]
            self.scheduled.add(tuple(fields["egress_id"]))
        elif name in _IGNORED and fields["asset"] == "Btc":  # elsewhere the fee takes what is too little
            self.flows["Btc"] -= max(0, fields["amount"] - BTC_EGRESS)
        elif name == "BatchBroadcastRequested":
            self.announced.update(tuple(egress_id) for egress_id in fields["egress_ids"])
        elif name == "CcmBroadcastRequested":
            self.announced[tuple(fields["egress_id"])] += 1

    def _swapped(self, leg: Mapping[str, Any], swaps: Iterable[Mapping[str, Any]]) -> None:
        """Book what a pool has taken and given; what its swaps have not got of that is in no account."""
        source, target = leg["from"], leg["to"]
        side, asset = ("input_asset", source) if target == USDC else ("output_asset", target)
        mine = [swap for swap in swaps if swap[side] == asset]
        got = sum(_gross(swap) if target == USDC else swap["output_amount"] for swap in mine)
        left_over = leg["output_amount"] - got
        assert 0 <= left_over < max(1, len(mine)), (leg, mine)
        self.flows[source] -= leg["input_amount"]
        self.flows[target] += got


def _gross(swap: Mapping[str, Any]) -> int:
    """Return USDC that a swap has got for its input, before fees."""
    stable = swap["output_amount"] if swap["output_asset"] == USDC else swap["intermediate_amount"]
    return int(stable + swap["network_fee"] + swap["broker_fee"])


def inside(world: World) -> Counter[str]:
    """Return everything that the chain holds, but pools and what is about to be sent."""
    held = Counter[str]()
    for _, asset, amount in items(world, "AssetBalances", "FreeBalances"):
        held[asset] += amount
    for asset, pool in items(world, "LendingPools", "GeneralLendingPools"):
        held[asset] += pool["available_amount"]
    for pallet, item in (
        ("AssetBalances", "WithheldAssets"),
        ("Swapping", "CollectedRejectedFunds"),
        ("LendingPools", "PendingNetworkFees"),
    ):
        for asset, amount in items(world, pallet, item):
            held[asset] += amount
    held[USDC] += world.stored("Swapping", "CollectedNetworkFee")
    held["Flip"] += world.stored("Swapping", "FlipToBurn")
    for _, swap in world.stored("Swapping", "ScheduledSwaps"):
        held[swap["from"]] += swap["input_amount"]
    for _, request in items(world, "Swapping", "SwapRequests"):
        if isinstance(request["state"], tuple):
            chunks = request["state"][1]["dca_state"]
            held[request["input_asset"]] += chunks["remaining_input_amount"]
            held[request["output_asset"]] += chunks["accumulated_output_amount"]
    return held


def items(world: World, pallet: str, item: str) -> Iterator[tuple[Any, ...]]:
    """Yield (key, …, value) of a map."""
    storage = world.metadata.storage(pallet, item)
    prefix = storage.key()
    key = world.state.next_key(prefix)
    while key is not None and key.startswith(prefix):
        yield *storage.decode_key(key), storage.decode(world.state.get(key))
        key = world.state.next_key(key)


__all__ = ["Ledger", "inside", "items"]
