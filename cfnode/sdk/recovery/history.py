"""Which failed calls belong to a swap, a channel, an address, a transaction or an account? What events say.

A swap's output becomes an egress, an egress goes into a broadcast, and a broadcast that reaches its chain may
leave one of its transfers undone: then a call is signed that pays it, by a broadcast of its own. No event
names both, so the call is recognised by asset, amount and receiver, first in the block in which the batch
succeeded. A message has a broadcast of its own, which is itself the call.

Events are received in any order of blocks, and the questions are asked afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.sdk.recovery.blocks import Event
from cfnode.sdk.recovery.owner import Account, Address, Batch, Channel, Owner, Swap, Transaction

__all__ = ["Finding", "History", "Payment"]

_SCHEDULED = ("SwapEgressScheduled", "RefundEgressScheduled")
_BATCH, _MESSAGE = "BatchBroadcastRequested", "CcmBroadcastRequested"
_SETTLED_AFTER = 25
"""Blocks after a batch's success in which the failure of one of its transfers is still reported: the two
come from different witnesses."""

EgressId = tuple[str, int]
BroadcastId = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Payment:
    """A payout; what is None is unknown and fits any call. `asset` is a name of `core.assets`."""

    chain: str
    asset: str | None = None
    amount: int | None = None
    recipient: bytes | None = None
    broadcast_id: int | None = None
    nonce: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a source knows: the payouts that failed, or in words why there is none.

    `is_known` is False where the source has never met the thing; `is_whole` where it may know only a part.
    """

    payments: tuple[Payment, ...] = ()
    reason: str = ""
    is_known: bool = True
    is_whole: bool = True


@dataclass(slots=True)
class _Egress:
    chain: str
    asset: str
    amount: int
    block: int
    request: int | None
    mentions: Any


@dataclass(frozen=True, slots=True)
class _Fallback:
    asset: str
    amount: int
    recipient: bytes
    block: int
    broadcast_id: int


class History:
    """The events of swaps of some blocks, and what they say of an owner."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = 0
        self.channels: dict[tuple[str, int], tuple[int, Mapping[str, Any]]] = {}
        self.requests: dict[int, Mapping[str, Any]] = {}
        self.completed: set[int] = set()
        self.egresses: dict[EgressId, _Egress] = {}
        self.broadcasts: dict[EgressId, tuple[str, BroadcastId, int]] = {}
        self.batches: dict[BroadcastId, tuple[EgressId, ...]] = {}
        self.ends: dict[BroadcastId, tuple[int, Any]] = {}
        self.aborted: set[BroadcastId] = set()
        self.fallbacks: dict[str, list[_Fallback]] = defaultdict(list)
        self.deposits: list[tuple[int | None, Mapping[str, Any]]] = []

    def receive(self, block: int, groups: Iterable[list[Event]]) -> None:
        """The events of a block, those of one extrinsic together."""
        self.first = block if self.first is None else min(self.first, block)
        self.last = max(self.last, block)
        for group in groups:
            for pallet, name, fields in group:
                with suppress(
                    LookupError, TypeError, ValueError, AttributeError
                ):  # of another runtime's form
                    self._event(pallet, name, fields, block, group)

    def _event(
        self, pallet: str, name: str, fields: Mapping[str, Any], block: int, group: list[Event]
    ) -> None:
        if pallet.endswith("IngressEgress"):
            self._ingress_egress(pallet.removesuffix("IngressEgress"), name, fields, block)
        elif pallet.endswith("Broadcaster"):
            self._broadcaster(pallet.removesuffix("Broadcaster"), name, fields, block)
        else:
            self._other(name, fields, block, group)

    def _other(self, name: str, fields: Mapping[str, Any], block: int, group: list[Event]) -> None:
        if name == "SwapDepositAddressReady":
            chain = ASSETS[fields["source_asset"]].chain
            self.channels[chain, fields["channel_id"]] = block, fields
        elif name == "SwapRequested":
            self.requests[fields["swap_request_id"]] = fields
        elif name == "SwapRequestCompleted":
            self.completed.add(fields["swap_request_id"])
        elif isinstance(fields.get("egress_id"), tuple):
            self._egress(fields, block, group)

    def _egress(self, fields: Mapping[str, Any], block: int, group: list[Event]) -> None:
        chain, number = fields["egress_id"]
        asset, amount = (fields.get(name, fields.get(f"egress_{name}")) for name in ("asset", "amount"))
        if isinstance(asset, str) and isinstance(amount, int):
            about = [each for _, _, each in group]
            self.egresses[chain, number] = _Egress(
                chain, asset, amount, block, fields.get("swap_request_id"), about
            )

    def _ingress_egress(self, chain: str, name: str, fields: Mapping[str, Any], block: int) -> None:
        if name in (_BATCH, _MESSAGE):
            broadcast = chain, fields["broadcast_id"]
            ids = [fields["egress_id"]] if name == _MESSAGE else fields["egress_ids"]
            self.batches[broadcast] = tuple((each[0], each[1]) for each in ids)
            for each in self.batches[broadcast]:
                self.broadcasts[each] = name, broadcast, block
        elif name == "TransferFallbackRequested":
            self.fallbacks[chain].append(
                _Fallback(
                    fields["asset"],
                    fields["amount"],
                    fields["destination_address"],
                    block,
                    fields["broadcast_id"],
                )
            )
        elif "deposit_details" in fields and "action" in fields:
            action = fields["action"]
            is_swap = isinstance(action, tuple) and action[0] == "Swap"
            self.deposits.append((action[1]["swap_request_id"] if is_swap else None, fields))

    def _broadcaster(self, chain: str, name: str, fields: Mapping[str, Any], block: int) -> None:
        if name == "BroadcastSuccess":
            self.ends[chain, fields["broadcast_id"]] = block, fields.get("transaction_ref")
        elif name == "BroadcastAborted":
            self.aborted.add((chain, fields["broadcast_id"]))

    # Questions

    def find(self, owner: Owner) -> Finding:
        """What the events say of a thing."""
        match owner:
            case Swap():
                return self._of_requests([owner.number], owner.text, is_met=owner.number in self.requests)
            case Channel():
                return self._of_channel(owner)
            case Transaction():
                return self._of_transaction(owner)
            case Batch():
                return self._of_batches([(owner.chain, owner.broadcast_id)], owner.text)
            case Account():
                return self._of_account(owner)
        return self._of_deposit_address(owner)

    def is_settled(self, owner: Owner) -> bool:
        """Whether later blocks can add nothing: everything that a swap or a batch sends has arrived."""
        if isinstance(owner, Swap):
            sent = [key for key, each in self.egresses.items() if each.request == owner.number]
            broadcasts = [self.broadcasts[key][1] for key in sent if key in self.broadcasts]
            if owner.number not in self.completed or len(broadcasts) < len(sent):
                return False
        elif isinstance(owner, Batch):
            broadcasts = [(owner.chain, owner.broadcast_id)]
        else:
            return False
        return all(
            each in self.ends and self.last >= self.ends[each][0] + _SETTLED_AFTER for each in broadcasts
        )

    def has_beginning(self, owner: Owner) -> bool:
        """Whether earlier blocks can add nothing: the events hold how it began."""
        if isinstance(owner, Address):
            return any(_is_address(fields["deposit_address"], owner) for _, fields in self.channels.values())
        if isinstance(owner, Transaction) and owner.hash is not None:
            names = {owner.hash, owner.hash[::-1]}
            batches = [key for key, (_, reference) in self.ends.items() if _holds(reference, names)]
            sent = [self.batches.get(each, ()) for each in batches]
            if batches:
                return all(keys and all(key in self.egresses for key in keys) for keys in sent)
            return any(_holds(fields, names) for _, fields in self.deposits)
        return False

    def explains(self, chain: str, broadcast_id: int) -> bool:
        """Whether it is known which egress a failed call belongs to."""
        found = [each for each in self.fallbacks[chain] if each.broadcast_id == broadcast_id]
        if found:
            return self._claimed(chain, found[0])
        return any(key in self.egresses for key in self.batches.get((chain, broadcast_id), ()))

    def _of_requests(self, numbers: Iterable[int], text: str, *, is_met: bool = True) -> Finding:
        wanted = set(numbers)
        sent = [key for key, each in self.egresses.items() if each.request in wanted]
        if sent:
            return self._of_egresses(sent, text)
        if not is_met:
            return Finding(is_known=False)
        if wanted <= self.completed:
            return Finding(reason=f"nothing was paid out for {text}: the output was too small")
        return Finding(reason=f"{text} is still being swapped, and nothing of it has been sent yet")

    def _of_egresses(self, keys: Iterable[EgressId], text: str) -> Finding:
        payments: list[Payment] = []
        reasons: dict[str, None] = {}
        for key in keys:
            found, reason = self._outcome(key)
            payments += found
            if reason:
                reasons[reason] = None
        return Finding(tuple(dict.fromkeys(payments)), f"nothing of {text} has failed: {'; '.join(reasons)}")

    def _outcome(self, key: EgressId) -> tuple[list[Payment], str]:
        """The failed calls of an egress, or why it has none."""
        egress = self.egresses[key]
        if key not in self.broadcasts:
            return [], f"a payout on {egress.chain} waits for its broadcast"
        kind, broadcast, asked = self.broadcasts[key]
        chain, number = broadcast
        if kind == _MESSAGE and broadcast in self.aborted and broadcast not in self.ends:
            return [Payment(chain, egress.asset, egress.amount, None, number)], ""
        if kind != _MESSAGE and (calls := self._fallbacks_of(egress, broadcast, asked)):
            return [
                Payment(chain, each.asset, each.amount, each.recipient, each.broadcast_id) for each in calls
            ], ""
        if (end := self.ends.get(broadcast)) is None:
            state = (
                "was aborted, and only Chainflip can send it again"
                if broadcast in self.aborted
                else "is sent"
            )
            return [], f"a payout on {chain} has not arrived: its batch (broadcast {number}) {state}"
        return [], f"a payout on {chain} went through ({_reference(end[1]) or f'broadcast {number}'})"

    def _fallbacks_of(self, egress: _Egress, broadcast: BroadcastId, asked: int) -> list[_Fallback]:
        """Calls for a transfer of this asset and amount, of the batch's own block where it has one."""
        recipients = set(self._recipients(egress))
        alike = [
            each
            for each in self.fallbacks[broadcast[0]]
            if (each.asset, each.amount) == (egress.asset, egress.amount)
            and each.block >= asked
            and (not recipients or each.recipient in recipients)
        ]
        if broadcast in self.ends:
            here = [each for each in alike if each.block == self.ends[broadcast][0]]
            return here or [each for each in alike if not self._claimed(broadcast[0], each)]
        return []

    def _recipients(self, egress: _Egress) -> Iterator[bytes]:
        request = self.requests.get(egress.request) if egress.request is not None else None
        yield from accounts_in(request if request is not None else egress.mentions, egress.chain)

    def _claimed(self, chain: str, fallback: _Fallback) -> bool:
        """Whether a batch that succeeded in the call's own block holds a transfer of its asset and amount."""
        return any(
            (egress.asset, egress.amount) == (fallback.asset, fallback.amount)
            for broadcast, (block, _) in self.ends.items()
            if block == fallback.block and broadcast[0] == chain
            for key in self.batches.get(broadcast, ())
            if (egress := self.egresses.get(key)) is not None
        )

    def _of_channel(self, owner: Channel) -> Finding:
        key = owner.chain, owner.number
        opened = self.channels.get(key)
        if opened is not None and opened[0] != owner.block:
            opened = None
        numbers = [
            number
            for number, fields in self.requests.items()
            if ASSETS[fields["input_asset"]].chain == owner.chain
            and _origin(fields).get("channel_id") == owner.number
        ]
        if numbers:
            found = self._of_requests(numbers, f"channel {owner.text}")
            return Finding(found.payments, found.reason, is_whole=opened is not None)
        if opened is None:
            return Finding(is_known=False)
        return self._without_deposit(f"channel {owner.text}")

    def _of_deposit_address(self, owner: Address) -> Finding:
        numbers = [
            number
            for number, fields in self.requests.items()
            if _is_address(_origin(fields).get("deposit_address"), owner)
        ]
        if numbers:
            found = self._of_requests(numbers, owner.text)
            return Finding(found.payments, found.reason, is_whole=False)
        if any(_is_address(fields["deposit_address"], owner) for _, fields in self.channels.values()):
            return self._without_deposit(f"the channel of {owner.text}")
        return Finding(is_known=False)

    def _without_deposit(self, text: str) -> Finding:
        return Finding(reason=f"no deposit has arrived at {text} yet: there is nothing to recover")

    def _of_transaction(self, owner: Transaction) -> Finding:
        if owner.hash is None:
            return Finding(is_known=False)
        names = {owner.hash, owner.hash[::-1]}
        batches = [key for key, (_, reference) in self.ends.items() if _holds(reference, names)]
        if batches:
            return self._of_batches(batches, f"transaction {owner.text}")
        deposits = [(each, fields) for each, fields in self.deposits if _holds(fields, names)]
        numbers = {each for each, _ in deposits if each is not None}
        numbers |= {each for each, fields in self.requests.items() if _holds(fields["origin"], names)}
        if numbers:
            return self._of_requests(numbers, f"transaction {owner.text}")
        if deposits:
            return Finding(reason=f"transaction {owner.text} is a deposit that began no swap")
        return Finding(is_known=False)

    def _of_batches(self, broadcasts: Iterable[BroadcastId], text: str) -> Finding:
        known = [each for each in broadcasts if each in self.ends or each in self.batches]
        payments: list[Payment] = []
        reasons: list[str] = []
        for each in known:
            keys = [key for key in self.batches.get(each, ()) if key in self.egresses]
            if keys:
                found = self._of_egresses(keys, text)
                payments += found.payments
                reasons.append(found.reason)
            elif each in self.ends:
                payments += self._unclaimed_of(each)
        reason = reasons[0] if reasons else f"no transfer of {text} has failed"
        return Finding(tuple(payments), reason, is_known=bool(known))

    def _unclaimed_of(self, broadcast: BroadcastId) -> Iterator[Payment]:
        """The calls of the block in which a batch succeeded, of which it is not known what it paid."""
        chain, block = broadcast[0], self.ends[broadcast][0]
        for each in self.fallbacks[chain]:
            if each.block == block and not self._claimed(chain, each):
                yield Payment(chain, each.asset, each.amount, each.recipient, each.broadcast_id)

    def _of_account(self, owner: Account) -> Finding:
        numbers = {each for each, fields in self.requests.items() if _mentions(fields, owner.public)}
        keys = [
            key
            for key, each in self.egresses.items()
            if each.request in numbers or (each.request is None and _mentions(each.mentions, owner.public))
        ]
        if not keys:
            return Finding(is_known=False)
        found = self._of_egresses(keys, owner.text)
        return Finding(found.payments, found.reason, is_whole=False)


def accounts_in(value: Any, chain: str) -> Iterator[bytes]:
    """Every 20-byte address of the chain in the value of an event."""
    match value:
        case (variant, bytes() as account) if variant == CHAINS[chain].address and len(account) == 20:
            yield account
    for item in _parts(value):
        yield from accounts_in(item, chain)


def _origin(request: Mapping[str, Any]) -> Mapping[str, Any]:
    origin = request.get("origin")
    is_full = isinstance(origin, tuple) and isinstance(origin[1], Mapping)
    return origin[1] if is_full else {}  # type: ignore[index]  # a tuple, by the line above


def _is_address(encoded: Any, owner: Address) -> bool:
    return isinstance(encoded, tuple) and encoded[1] == owner.raw


def _reference(reference: Any) -> str:
    return f"transaction 0x{reference.hex()}" if isinstance(reference, bytes) else ""


def _holds(value: Any, names: set[bytes]) -> bool:
    if isinstance(value, bytes):
        return value in names
    return any(_holds(item, names) for item in _parts(value))


def _mentions(value: Any, account: bytes) -> bool:
    return _holds(value, {account})


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
