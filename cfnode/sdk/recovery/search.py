"""Search of a State Chain node's blocks for the events and failed payouts of an owner.

1. The numbers of swaps and broadcasts come from counters: a binary search finds the block in which the
   counter reached the number. A deposit channel's id begins with its block. From there blocks are read
   forwards, until everything that was sent has arrived.
2. For an address, a transaction or an account the block is unknown: blocks are read backwards from the best
   one.

A search goes as far back as a call that the vault may take can have failed: to the beginning of the previous
epoch, or of the present key where epochs brought no new one, by the chain's own history, and before it as
long as a batch may have been on its way. A node keeps the states of its last blocks only, so missing events
do not prove that nothing happened: `span` names the blocks that were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.blocks import (
    Counter,
    best_block,
    block_that_counted,
    events_of,
    first_on_offer,
)
from cfnode.sdk.recovery.errors import NoSuchCall
from cfnode.sdk.recovery.findings import Findings
from cfnode.sdk.recovery.history import History
from cfnode.sdk.recovery.offered import Offer
from cfnode.sdk.recovery.owner import Account, Address, Batch, Channel, Owner, Swap, Transaction
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.payments import Finding
from cfnode.sdk.recovery.storage import storage_key
from cfnode.swaps.identity import ChannelId

__all__ = ["MAX_RECENT", "MAX_SENDING", "EventSearch", "Progress", "blocks_to_read"]

MAX_RECENT = 256
"""Blocks read before the swap service is queried: an official node keeps the states of as many."""
MAX_SENDING = 600
"""Blocks (an hour) that a batch may be on its way before the failure of one of its transfers is reported."""
_AT_ONCE = 25
_REQUESTS = Counter(storage_key("Swapping", "SwapRequestIdCounter"), 8)


def blocks_to_read(session: ClientSession, url: str) -> Steps[int]:
    """Return how many blocks before the best one may have the events of a call that is on offer."""
    first = yield from first_on_offer(session, url)
    return (yield from best_block(session, url)) - first + MAX_SENDING


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a search: the blocks that it has read, as text, their number, and the maximum."""

    span: str
    count: int
    most: int


@dataclass
class EventSearch:
    """A search of at most `limit` blocks of the node at `url`; `offers` are what the chains have on offer.

    `is_cut` is set if the node lacks the states of the needed blocks; `lowest` and `highest` are the blocks
    that were read.
    """

    session: ClientSession
    url: str
    owner: Owner
    offers: Sequence[Offer]
    limit: int
    progress: Callable[[Progress], None] | None = None
    is_cut: bool = False
    lowest: int | None = None
    highest: int = 0

    @property
    def span(self) -> str:
        """The blocks that were read, as text; "" for none."""
        return "" if self.lowest is None else f"blocks {self.lowest} to {self.highest}"

    def steps(self) -> Steps[Finding]:
        """Return the finding of the events; raise NoSuchCall if the owner never existed."""
        history = History({offer.chain: offer.chain_id for offer in self.offers})
        best = yield from best_block(self.session, self.url)
        first = yield from self._first(best)
        if first is not None and (yield from self._read(history, [first])):
            self._check_channel(history)
            is_whole = yield from self._forwards(history, first + 1, best)
            finding = Findings(history).find(self.owner)
            self.is_cut = self.is_cut or (is_whole and not finding.is_known)  # older than the first state
            return finding if finding.payments or is_whole else Finding(is_known=False)
        is_whole = yield from self._backwards(history, best)
        finding = Findings(history).find(self.owner)
        if finding.is_known or not is_whole:
            return finding
        return Finding(reason=self._nothing())

    def given_up(self) -> Steps[tuple[Payload, ...]]:
        """Return the signed calls that the State Chain has given up, by the events of all blocks."""
        history = History({offer.chain: offer.chain_id for offer in self.offers})
        best = yield from best_block(self.session, self.url)
        yield from self._backwards(history, best, stops=False)
        return tuple(Findings(history).given_up())

    def _nothing(self) -> str:
        if isinstance(self.owner, Address):
            return (
                f"no call on offer pays {self.owner.text}, and no deposit in {self.span} has that "
                "address; calls for failures before these blocks have expired"
            )
        hint = ""
        if isinstance(self.owner, Transaction):
            hint = "; for a transaction of the payout's chain, name a node of that chain (--eth-rpc)"
        return (
            f"no event of {self.span} names {self.owner.text}; no call for an earlier failure is on "
            f"offer{hint}"
        )

    def _first(self, best: int) -> Steps[int | None]:
        """Return the owner's first block, if it is known."""
        match self.owner:
            case Swap(number=number):
                try:
                    return (yield from block_that_counted(self.session, self.url, _REQUESTS, number))
                except NoSuchCall as error:
                    raise NoSuchCall(f"there is no swap {number}: {error.message}") from None
            case Batch(chain=chain, broadcast_id=number):
                counter = Counter(storage_key(f"{chain}Broadcaster", "BroadcastIdCounter"), 4)
                return (yield from block_that_counted(self.session, self.url, counter, number))
            case Channel(id=ChannelId(block=block)) if block > best:
                raise NoSuchCall(f"there is no channel {self.owner.text}: the State Chain is at block {best}")
            case Channel(id=ChannelId(block=block)):
                return block
        return None

    def _check_channel(self, history: History) -> None:
        if isinstance(self.owner, Channel) and self.owner.id not in history.channels:
            block, chain, number = self.owner.id.block, self.owner.id.chain, self.owner.id.number
            raise NoSuchCall(f"block {block} of the State Chain opened no channel {number} for {chain}")

    def _forwards(self, history: History, first: int, best: int) -> Steps[bool]:
        """Read up to the best block, or until the owner is settled; return whether that was possible."""
        last = min(best, first + self.limit)
        for start in range(first, last + 1, _AT_ONCE):
            if not (yield from self._read(history, range(start, min(start + _AT_ONCE, last + 1)))):
                return False
            if Findings(history).is_settled(self.owner):
                return True
        return last == best

    def _backwards(self, history: History, best: int, *, stops: bool = True) -> Steps[bool]:
        """Read down to the first block, or with `stops` to the owner's beginning.

        Return whether that was possible.
        """
        oldest = max(best - self.limit, 0)
        for top in range(best, oldest, -_AT_ONCE):
            if not (yield from self._read(history, range(top, max(top - _AT_ONCE, oldest), -1))):
                return False
            if stops and self._has_all(history):
                return True
        return oldest == 0

    def _has_all(self, history: History) -> bool:
        if isinstance(self.owner, Account):
            calls = (call for offer in self.offers for call in offer.calls)
            return all(Findings(history).explains(call.chain, call.broadcast_id) for call in calls)
        return Findings(history).has_beginning(self.owner)

    def _read(self, history: History, blocks: Iterable[int]) -> Steps[bool]:
        """Read some blocks; return whether the node had all their states."""
        numbers = list(blocks)
        events = yield from events_of(self.session, self.url, numbers)
        for number, groups in zip(numbers, events, strict=False):
            if groups is None:
                self.is_cut = True
                return False
            history.receive(number, groups)
            self.lowest = number if self.lowest is None else min(self.lowest, number)
            self.highest = max(self.highest, number)
        if self.progress is not None and self.lowest is not None:
            count = self.highest - self.lowest + 1
            self.progress(Progress(self.span, count, max(self.limit, count)))
        return True
