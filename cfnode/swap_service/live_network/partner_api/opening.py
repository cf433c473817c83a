"""Opening of partners' channels, each only once by its Idempotency-Key.

That holds whichever process gets the request, and after a process was killed;
`cfnode.ledger.partners.idempotency` has the states. A repeated request waits for the first one: in this
process for an event, and for another process by looking into the database. If the beats of the other process
stop for `HEARTBEAT_TIMEOUT_S`, its request is unknown.

A channel costs five exchanges with nodes, one after the other: the best block; what the checks need, next to
the broker's own best block; the channel; and two for the time of its block. Two of its transactions wait for
the disk: before it is sent, and with its answer.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final, TypeVar

import msgspec
import trio

from cfnode.core.assets import ASSETS
from cfnode.flow.wakeup import Wakeup
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners import idempotency
from cfnode.ledger.partners.access import Refusal as AccessRefusal
from cfnode.ledger.partners.idempotency import Kept, Opened, Order, Outcome, Reused, Running, Unknown
from cfnode.ledger.partners.registry import Partner
from cfnode.swap_service.live_network.broker import CommissionShares, service_channel
from cfnode.swap_service.live_network.outcomes import UnknownOutcome
from cfnode.swap_service.live_network.partner_api.documents import channel_body
from cfnode.swap_service.live_network.partner_api.matching import channel_of, is_of
from cfnode.swap_service.live_network.partner_api.problems import Problem
from cfnode.swap_service.live_network.partner_api.schema import Asset, Broker, Channel, ChannelRequest
from cfnode.swap_service.live_network.source import LiveSource
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.quotes import check_limits
from cfnode.swap_service.requests import SwapTerms, read_terms
from cfnode.swap_service.source import OpenedChannel
from cfnode.swaps.addresses import address_text
from cfnode.swaps.record import Entry
from cfnode.swaps.timing import lifetime_ms

__all__ = ["Opener", "digest_of", "refused"]

T = TypeVar("T")
U = TypeVar("U")
log = logging.getLogger("cfnode.service")
HEARTBEAT_INTERVAL_S: Final = 2.0
"""Seconds between two beats of a process."""
OTHER_REQUEST_POLL_S: Final = 0.5
"""Seconds between two reads of another process's request."""
HEARTBEAT_TIMEOUT_S: Final = 6.0
"""Seconds without a beat after which a process counts as dead."""
WAIT_FOR_FIRST_REQUEST_S: Final = 60.0
"""Seconds that a repeated request waits for the first one."""
RECORD_OUTCOME_TIMEOUT_S: Final = 20.0
"""Seconds in which the answer has to be stored."""
MAX_WRITERS: Final = 3
"""Most transactions of partners at the same time: they wait for each other anyway."""


class Opener:
    """Opener of channels for partners; `run` proves to other processes that this one is alive."""

    def __init__(self, source: LiveSource) -> None:
        self._source, self._database = source, source.database
        self._owner = secrets.token_hex(16)
        self._working: dict[tuple[str, str], trio.Event] = {}
        self._began = Wakeup()
        self._writers = trio.CapacityLimiter(MAX_WRITERS)

    async def run(self) -> None:
        """Count beats while requests are under way, until cancelled."""
        while True:
            while not self._working:
                await self._began.wait()
            try:
                names = list(self._working)
                await self._in_thread(partial(idempotency.beat, self._database, self._owner, names))
            except LedgerError as error:
                log.warning("The beats of channel requests were not stored: %s", error)
            await trio.sleep(HEARTBEAT_INTERVAL_S)

    async def idle(self) -> None:
        """Wait until no request for a channel is under way."""
        while self._working:
            await next(iter(self._working.values())).wait()

    async def open(self, partner: Partner, key: str, request: ChannelRequest) -> bytes:
        """Open a channel, or find that of the first request with this key, and return the answer as JSON.

        Raises Problem, Refusal, LedgerError.
        """
        digest = digest_of(request)
        while True:
            answer = await self._once(partner, key, digest, request)
            if answer is not None:
                return answer.encode()

    async def _once(self, partner: Partner, key: str, digest: str, request: ChannelRequest) -> str | None:
        """Return the answer; None if the first request has ended without one, so that this one may begin."""
        name = (partner.name, key)
        if (running := self._working.get(name)) is not None:
            state = await self._look(partner.name, key, digest)
            if isinstance(state, Reused):
                raise Problem("idempotency_key_reused")
            with _patience():
                await running.wait()
            return _settled(await self._look(partner.name, key, digest))
        async with self._work(name):
            state = await self._look(partner.name, key, digest)
            if isinstance(state, Running):
                with _patience():
                    state = await self._other(partner, key, digest, state)
            if isinstance(state, Unknown):
                state = await self._resolved(partner, key, digest, request)
            return _settled(state) if state is not None else await self._new(partner, key, digest, request)

    @asynccontextmanager
    async def _work(self, name: tuple[str, str]) -> AsyncIterator[None]:
        self._working[name] = trio.Event()
        self._began.notify()
        try:
            yield
        finally:
            self._working.pop(name).set()

    async def _look(self, partner: str, key: str, digest: str) -> idempotency.Found | None:
        return await self._in_thread(partial(idempotency.look, self._database, partner, key, digest))

    async def _other(
        self, partner: Partner, key: str, digest: str, first_running: Running
    ) -> idempotency.Found | None:
        """Wait for another process, or for the end of its beats, and return the request's state."""
        running, since = first_running, trio.current_time()
        while True:
            if running.owner == self._owner:  # this process could not store the end of the request
                since = -math.inf
            else:
                await trio.sleep(OTHER_REQUEST_POLL_S)
            now = await self._look(partner.name, key, digest)
            if not isinstance(now, Running):
                return now
            if now != running:
                running, since = now, trio.current_time()
            elif trio.current_time() - since > HEARTBEAT_TIMEOUT_S:
                log.warning(
                    "A process that opened a channel for %s has stopped: its request is taken over",
                    partner.name,
                )
                take_over = partial(idempotency.take_over, self._database, partner.name, key, digest, now)
                taken_over = await self._in_thread(take_over)
                if not isinstance(taken_over, Running):
                    return taken_over
                running, since = taken_over, trio.current_time()

    async def _resolved(
        self, partner: Partner, key: str, digest: str, request: ChannelRequest
    ) -> idempotency.Found | None:
        """Look for the channel of a request whose answer was lost, and return the request's state.

        None: no channel was opened, and the request may begin anew.
        """
        checked_request = await self._checked(partner, request)
        terms = checked_request.terms

        def kept(event: Entry) -> Kept:
            return _kept(partner, terms, channel_of(event), checked_request.expected)

        wanted_channel = (terms.source, terms.target, partial(is_of, terms, _shares(partner)))
        find = partial(idempotency.resolve, self._database, partner.name, key, digest, wanted_channel, kept)
        return await self._in_thread(find)

    async def _checked(self, partner: Partner, request: ChannelRequest) -> _Checked:
        """Return the checked terms, and the channel's cost. Raises Problem, Refusal, LedgerError."""
        block = await self._source.best()
        terms, expected = read_terms(channel_body(request), block.names)
        if not partner.allows(terms.source, terms.target):
            raise Problem("asset_not_allowed")
        fee = ("cf_channel_opening_fee", {"chain": terms.chain})
        (cost,) = await check_limits(block, terms.source, expected, fee)
        return _Checked(terms, expected, cost)

    async def _new(self, partner: Partner, key: str, digest: str, request: ChannelRequest) -> str | None:
        """Open the channel of a new request, and return the answer; None if another process was faster."""
        broker, order = self._source.broker, None
        checked_request, head = await _both(partial(self._checked, partner, request), broker.head)
        terms = checked_request.terms
        place_order = partial(
            idempotency.place, self._database, partner, key, digest, self._owner, checked_request.cost, head
        )

        async def before() -> None:
            nonlocal order
            outcome: Outcome = await self._in_thread(place_order)
            if not isinstance(outcome, Order):
                raise _NotNew(outcome)
            order = outcome

        try:
            channel = await broker.open_for(terms, _shares(partner), before)
        except _NotNew as not_new:
            if isinstance(not_new.found, AccessRefusal):
                raise refused(not_new.found) from None
            return None if isinstance(not_new.found, Running) else _settled(not_new.found)
        except UnknownOutcome as error:
            log.error("Request %s of %s: %s", key, partner.name, error)
            await self._end(idempotency.lose, order)
            raise Problem("outcome_unknown") from None
        except (Problem, RequestRefusal, LedgerError):
            await self._end(idempotency.give_up, order)
            raise
        except BaseException:  # a bug, or the end of the service
            await self._end(idempotency.lose, order)
            raise
        assert order is not None
        return await self._stored(order, digest, _kept(partner, terms, channel, checked_request.expected))

    async def _end(self, end: Callable[..., None], order: Order | None) -> None:
        """End an order without an answer; nothing to do for None, an order that was not placed."""
        if order is None:
            return
        with trio.CancelScope(shield=True):
            try:
                await self._in_thread(partial(end, self._database, order))
            except LedgerError as error:
                log.error("Request %s of %s: %s", order.key, order.partner, error)

    async def _stored(self, order: Order, digest: str, opened: Kept) -> str:
        """Return the answer once it is in the database. Raises Problem."""
        store = partial(idempotency.finish, self._database, order, opened)
        with trio.CancelScope(shield=True, deadline=trio.current_time() + RECORD_OUTCOME_TIMEOUT_S):
            while True:
                try:
                    await self._in_thread(store)
                    return opened.answer
                except LedgerError as error:
                    if (stored := await self._was_stored(order, digest)) is not None:
                        return stored
                    log.warning("The channel %s is open; storing it again: %s", opened.opened.channel, error)
                await trio.sleep(HEARTBEAT_INTERVAL_S)
        raise Problem("outcome_unknown", "the channel was opened, and could not be stored")

    async def _was_stored(self, order: Order, digest: str) -> str | None:
        """Return the answer if it is in the database: the confirmation of the commit may have been lost."""
        try:
            state = await self._look(order.partner, order.key, digest)
        except LedgerError:
            return None
        return state.answer if isinstance(state, Opened) else None

    async def _in_thread(self, step: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(step, limiter=self._writers)


@dataclass(frozen=True, slots=True)
class _Checked:
    """Checked terms, the expected amount, and the cost of the channel, in smallest units."""

    terms: SwapTerms
    expected: int
    cost: int


async def _both(first: Callable[[], Awaitable[T]], other: Callable[[], Awaitable[U]]) -> tuple[T, U]:
    """Run two steps at the same time, and return their results.

    If a step fails, its error is raised; if both fail, that of the first.
    """
    results: list[Any] = [None, None]
    faults: list[Exception | None] = [None, None]  # raised outside, where the nursery makes no group of them

    async def take(place: int, step: Callable[[], Awaitable[object]]) -> None:
        try:
            results[place] = await step()
        except Exception as fault:
            faults[place] = fault

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take, 0, first)
        nursery.start_soon(take, 1, other)
    for fault in filter(None, faults):
        raise fault
    return results[0], results[1]


class _NotNew(Exception):
    """Request that was placed before, or that is refused; `state` is its state or the refusal."""

    def __init__(self, state: idempotency.Found | AccessRefusal) -> None:
        super().__init__()
        self.found = state


def digest_of(request: ChannelRequest) -> str:
    """Return the SHA-256 hash of a request in hex, which does not depend on how its JSON was written."""
    return sha256(msgspec.json.encode(request)).hexdigest()


@contextmanager
def _patience() -> Iterator[None]:
    """Limit the wait for the first request to `WAIT_FOR_FIRST_REQUEST_S`. Raises Problem."""
    with trio.move_on_after(WAIT_FOR_FIRST_REQUEST_S) as scope:
        yield
    if scope.cancelled_caught:
        raise Problem("request_in_progress", retry_after_s=OTHER_REQUEST_POLL_S)


def _settled(state: idempotency.Found | None) -> str | None:
    """Return the answer of the first request, None without one. Raises Problem."""
    if isinstance(state, Opened):
        return state.answer
    if isinstance(state, Unknown):
        raise Problem("outcome_unknown")
    if isinstance(state, Reused):
        raise Problem("idempotency_key_reused")
    return None


def refused(refusal: AccessRefusal) -> Problem:
    """Return the problem of a request that a key, a rate or a budget refuses."""
    if refusal.reason == "rate":
        return Problem("rate_limited", str(refusal), retry_after_s=refusal.retry_after_s)
    return Problem("budget_used_up" if refusal.reason == "budget" else "unauthorized", str(refusal))


def _shares(partner: Partner) -> CommissionShares:
    affiliates = () if partner.affiliate is None else ((partner.affiliate, partner.affiliate_bps),)
    return CommissionShares(
        partner.commission_bps, tuple(affiliate for affiliate in affiliates if affiliate[1])
    )


def _kept(partner: Partner, terms: SwapTerms, channel: OpenedChannel, expected: int) -> Kept:
    answer = msgspec.json.encode(_channel(partner, terms, channel, expected)).decode()
    opened_channel = service_channel(terms, _shares(partner), channel, expected)
    return Kept(opened_channel, channel.opening_fee, answer)


def _channel(partner: Partner, terms: SwapTerms, channel: OpenedChannel, expected: int) -> Channel:
    return Channel(
        id=str(channel.id(terms.chain)),
        deposit_address=channel.address,
        src_asset=_asset(terms.source),
        dest_asset=_asset(terms.target),
        dest_address=address_text(terms.destination),
        expected_amount=str(expected),
        commission_bps=partner.commission_bps,
        affiliates=[Broker(account, bps) for account, bps in _shares(partner).affiliates],
        max_boost_fee_bps=terms.boost_fee,
        issued_block=channel.issued_block,
        src_chain_expiry_block=str(channel.source_chain_expiry_block),
        estimated_expiry_at=channel.opened_at + lifetime_ms(terms.chain),
        opening_fee=str(channel.opening_fee),
    )


def _asset(name: str) -> Asset:
    return Asset(ASSETS[name].chain, ASSETS[name].symbol)
