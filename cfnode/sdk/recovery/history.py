"""Events of swaps and payouts in some blocks, linked by their ids.

A swap's output becomes an egress, an egress goes into a broadcast, and a broadcast that reaches its chain may
fail to make one of its transfers: then a call is signed that pays it, by a broadcast of its own. No event
names both, so the call is recognised by asset, amount and receiver, first in the block in which the batch
succeeded. A message has a broadcast of its own, which is itself the call.

Events are received in any order of blocks, and `findings.py` reads the history afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from typing import Any

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.sdk.recovery.blocks import Event
from cfnode.swaps.events import PAYLOADS, Name
from cfnode.swaps.identity import ChannelId, Place, newest_opening, opened_channel

__all__ = [
    "MESSAGE",
    "BroadcastId",
    "EgressId",
    "Fallback",
    "History",
    "ScheduledPayout",
    "accounts_in",
    "holds",
    "reference_text",
]

BATCH, MESSAGE = Name.BATCH, Name.MESSAGE
EgressId = tuple[str, int]
BroadcastId = tuple[str, int]


@dataclass(slots=True)
class ScheduledPayout:
    """A payout that the chain scheduled; `mentions` are the events of its extrinsic."""

    chain: str
    asset: str
    amount: int
    block: int
    request: int | None
    mentions: Any


@dataclass(frozen=True, slots=True)
class Fallback:
    """A requested call in place of a failed transfer."""

    asset: str
    amount: int
    recipient: bytes
    block: int
    broadcast_id: int


class History:
    """The events of swaps in some blocks, by the ids that link them.

    `chain_ids` are the ids of EVM chains, for events that do not name theirs, as those of Tron.
    """

    def __init__(self, chain_ids: Mapping[str, int | None] | None = None) -> None:
        self.chain_ids = chain_ids or {}
        self.first: int | None = None
        self.last = 0
        self.channels: dict[ChannelId, Mapping[str, Any]] = {}
        self.openings: dict[tuple[str, int], set[Place]] = defaultdict(set)
        self.requests: dict[int, Mapping[str, Any]] = {}
        self.requested: dict[int, Place] = {}
        self.completed: set[int] = set()
        self.egresses: dict[EgressId, ScheduledPayout] = {}
        self.broadcasts: dict[EgressId, tuple[str, BroadcastId, int]] = {}
        self.batches: dict[BroadcastId, tuple[EgressId, ...]] = {}
        self.ends: dict[BroadcastId, tuple[int, Any]] = {}
        self.aborted: set[BroadcastId] = set()
        self.invalid: set[EgressId] = set()
        self.expired: set[BroadcastId] = set()
        self.payloads: dict[BroadcastId, tuple[int, Mapping[str, Any]]] = {}
        self.fallbacks: dict[str, list[Fallback]] = defaultdict(list)
        self.deposits: list[tuple[int | None, Mapping[str, Any]]] = []

    def receive(self, block: int, groups: Iterable[list[Event]]) -> None:
        """Add the events of a block, grouped by extrinsic."""
        self.first = block if self.first is None else min(self.first, block)
        self.last = max(self.last, block)
        index = count()
        for group in groups:
            for pallet, name, fields in group:
                with suppress(
                    LookupError, TypeError, ValueError, AttributeError
                ):  # of another runtime's form
                    self._event(pallet, name, fields, (block, next(index)), group)

    def _event(
        self, pallet: str, name: str, fields: Mapping[str, Any], place: Place, group: list[Event]
    ) -> None:
        block = place[0]
        if pallet.endswith("IngressEgress"):
            self._ingress_egress(pallet.removesuffix("IngressEgress"), name, fields, block)
        elif pallet.endswith("Broadcaster"):
            self._broadcaster(pallet.removesuffix("Broadcaster"), name, fields, block)
        else:
            self._other(name, fields, place, group)

    def _other(self, name: str, fields: Mapping[str, Any], place: Place, group: list[Event]) -> None:
        if (opened := opened_channel(name, fields)) is not None:
            self.openings[opened].add(place)
            if name == Name.SWAP_CHANNEL:
                self.channels[ChannelId(*opened, place[0])] = fields
        elif name == Name.REQUESTED:
            self.requests[fields["swap_request_id"]] = fields
            self.requested[fields["swap_request_id"]] = place
        elif name == Name.COMPLETED:
            self.completed.add(fields["swap_request_id"])
        elif isinstance(fields.get("egress_id"), tuple):
            self._egress(fields, place[0], group)

    def is_of(self, channel: ChannelId, number: int) -> bool:
        """Return whether a swap request, as far as these events reveal, began in a channel."""
        fields, place = self.requests[number], self.requested[number]
        origin = fields.get("origin")
        origin_fields = origin[1] if isinstance(origin, tuple) and isinstance(origin[1], Mapping) else {}
        is_number = (ASSETS[fields["input_asset"]].chain, origin_fields.get("channel_id")) == (
            channel.chain,
            channel.number,
        )
        if not is_number or place[0] < channel.block:
            return False
        opening = newest_opening(self.openings[channel.chain, channel.number], place)
        return opening is None or opening[0] <= channel.block

    def _egress(self, fields: Mapping[str, Any], block: int, group: list[Event]) -> None:
        chain, number = fields["egress_id"]
        asset, amount = (fields.get(name, fields.get(f"egress_{name}")) for name in ("asset", "amount"))
        if isinstance(asset, str) and isinstance(amount, int):
            mentions = [event_fields for _, _, event_fields in group]
            self.egresses[chain, number] = ScheduledPayout(
                chain, asset, amount, block, fields.get("swap_request_id"), mentions
            )

    def _ingress_egress(self, chain: str, name: str, fields: Mapping[str, Any], block: int) -> None:
        if name in (BATCH, MESSAGE):
            broadcast = chain, fields["broadcast_id"]
            ids = [fields["egress_id"]] if name == MESSAGE else fields["egress_ids"]
            self.batches[broadcast] = tuple((egress_id[0], egress_id[1]) for egress_id in ids)
            for egress_id in self.batches[broadcast]:
                self.broadcasts[egress_id] = name, broadcast, block
        elif name == Name.TRANSFER_REJECTED:
            self.fallbacks[chain].append(
                Fallback(
                    fields["asset"],
                    fields["amount"],
                    fields["destination_address"],
                    block,
                    fields["broadcast_id"],
                )
            )
        elif name == Name.MESSAGE_INVALID:
            self.invalid.add((fields["egress_id"][0], fields["egress_id"][1]))
        elif name == Name.CALL_EXPIRED:
            self.expired.add((chain, fields["broadcast_id"]))
        elif "deposit_details" in fields and "action" in fields:
            action = fields["action"]
            is_swap = isinstance(action, tuple) and action[0] == "Swap"
            self.deposits.append((action[1]["swap_request_id"] if is_swap else None, fields))

    def _broadcaster(self, chain: str, name: str, fields: Mapping[str, Any], block: int) -> None:
        if name == Name.SUCCEEDED:
            self.ends[chain, fields["broadcast_id"]] = block, fields.get("transaction_ref")
        elif name == Name.ABORTED:
            self.aborted.add((chain, fields["broadcast_id"]))
        elif name in PAYLOADS and isinstance(payload := fields["transaction_payload"], Mapping):
            newest = self.payloads.get((chain, fields["broadcast_id"]), (0, {}))
            self.payloads[chain, fields["broadcast_id"]] = max(newest, (block, payload), key=itemgetter(0))


def reference_text(reference: Any) -> str:
    """Return a transaction's id in explorers of EVM chains; "" for another chain."""
    return f"transaction 0x{reference.hex()}" if isinstance(reference, bytes) else ""


def accounts_in(value: Any, chain: str) -> Iterator[bytes]:
    """Yield every 20-byte address of the chain in the value of an event, except the one deposited to."""
    match value:
        case (variant, bytes() as account) if variant == CHAINS[chain].address and len(account) == 20:
            yield account
        case Mapping():
            value = {name: item for name, item in value.items() if name != "deposit_address"}
    for item in _parts(value):
        yield from accounts_in(item, chain)


def holds(value: Any, names: set[bytes]) -> bool:
    """Return whether the value of an event contains one of the names."""
    if isinstance(value, bytes):
        return value in names
    return any(holds(item, names) for item in _parts(value))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
