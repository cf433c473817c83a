"""How is a partner's channel opened, once? By its Idempotency-Key, whatever process is asked, and over kills.

`cfnode.ledger.partners.orders` has the states. A repeated request waits for the first one: in this process by
an event, in another one by looking. If the beats of that one stop for `DEAD_S`, its request is taken over, or
is unknown.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from hashlib import sha256
from typing import Final, TypeVar

import msgspec
import trio

from cfnode.core.assets import ASSETS
from cfnode.flow.wakeup import Wakeup
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners import orders
from cfnode.ledger.partners.access import Refusal as AccessRefusal
from cfnode.ledger.partners.orders import Kept, Opened, Order, Outcome, Reused, Running, Unknown
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.swap_events import FoundEvent
from cfnode.swap_service.fields import Refusal
from cfnode.swap_service.live.broker import Shares, service_channel
from cfnode.swap_service.live.outcomes import UnknownOutcome
from cfnode.swap_service.live.partner_api.documents import channel_body
from cfnode.swap_service.live.partner_api.matching import channel_of, is_of
from cfnode.swap_service.live.partner_api.problems import Problem
from cfnode.swap_service.live.partner_api.schema import Asset, Broker, Channel, ChannelRequest
from cfnode.swap_service.live.source import LiveSource
from cfnode.swap_service.quotes import check_limits
from cfnode.swap_service.requests import SwapTerms, read_terms
from cfnode.swap_service.source import OpenedChannel
from cfnode.swaps.addresses import address_text
from cfnode.swaps.timing import lifetime_ms

__all__ = ["Opener", "digest_of", "refused"]

T = TypeVar("T")
log = logging.getLogger("cfnode.service")
BEAT_S: Final = 2.0
"""Seconds between two beats of a process."""
LOOK_S: Final = 0.5
"""Seconds between two looks at another process's request."""
DEAD_S: Final = 6.0
"""Seconds without a beat after which a process counts as dead."""
PATIENCE_S: Final = 60.0
"""Seconds that a repeated request waits for the first one."""
STORE_S: Final = 20.0
"""Seconds in which the answer has to be stored."""
MAX_WRITERS: Final = 3
"""Transactions of partners at the same time: they wait for each other anyway."""


class Opener:
    """Opens channels for partners; `run` shows other processes that this one lives."""

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
                await self._in_thread(partial(orders.beat, self._database, self._owner, names))
            except LedgerError as error:
                log.warning("No beat: %s", error)
            await trio.sleep(BEAT_S)

    async def idle(self) -> None:
        """Wait until no request for a channel is under way."""
        while self._working:
            await next(iter(self._working.values())).wait()

    async def open(self, partner: Partner, key: str, request: ChannelRequest) -> bytes:
        """The answer, as JSON. Raises Problem, Refusal, LedgerError."""
        digest = digest_of(request)
        while True:
            answer = await self._once(partner, key, digest, request)
            if answer is not None:
                return answer.encode()

    async def _once(self, partner: Partner, key: str, digest: str, request: ChannelRequest) -> str | None:
        """The answer; None if the first request has ended without one, so that this one may begin."""
        name = (partner.name, key)
        if (running := self._working.get(name)) is not None:
            known = await self._look(partner.name, key, digest)
            if isinstance(known, Reused):
                raise Problem("idempotency_key_reused")
            with _patience():
                await running.wait()
            return _settled(await self._look(partner.name, key, digest))
        async with self._work(name):
            found: Order | orders.Found | None = await self._look(partner.name, key, digest)
            if isinstance(found, Running):
                with _patience():
                    found = await self._other(partner, key, digest, found)
            if isinstance(found, Unknown):
                found = await self._resolved(partner, key, digest, request)
            if isinstance(found, Order):
                return await self._new(partner, found, request, None)
            return _settled(found) if found is not None else await self._place(partner, key, digest, request)

    @asynccontextmanager
    async def _work(self, name: tuple[str, str]) -> AsyncIterator[None]:
        self._working[name] = trio.Event()
        self._began.notify()
        try:
            yield
        finally:
            self._working.pop(name).set()

    async def _look(self, partner: str, key: str, digest: str) -> orders.Found | None:
        return await self._in_thread(partial(orders.look, self._database, partner, key, digest))

    async def _other(
        self, partner: Partner, key: str, digest: str, found: Running
    ) -> Order | orders.Found | None:
        """Wait for another process, or for the end of its beats."""
        seen, since = found, trio.current_time()
        while True:
            if seen.owner == self._owner:  # this process could not store its end
                since = -math.inf
            else:
                await trio.sleep(LOOK_S)
            now = await self._look(partner.name, key, digest)
            if not isinstance(now, Running):
                return now
            if now != seen:
                seen, since = now, trio.current_time()
            elif trio.current_time() - since > DEAD_S:
                log.warning("A request of %s was left behind: going on with it", partner.name)
                take = partial(orders.take_over, self._database, partner.name, key, digest, self._owner, now)
                taken = await self._in_thread(take)
                if not isinstance(taken, Running):
                    return taken
                seen, since = taken, trio.current_time()

    async def _resolved(
        self, partner: Partner, key: str, digest: str, request: ChannelRequest
    ) -> orders.Found | None:
        """What the books say about a request whose answer was lost."""
        terms, expected = await self._checked(partner, request)

        def kept(event: FoundEvent) -> Kept:
            return _kept(partner, terms, channel_of(event), expected)

        wanted = (terms.source, terms.target, partial(is_of, terms, _shares(partner)))
        find = partial(orders.resolve, self._database, partner.name, key, digest, wanted, kept)
        return await self._in_thread(find)

    async def _place(self, partner: Partner, key: str, digest: str, request: ChannelRequest) -> str | None:
        """Begin a new request."""
        terms, expected = await self._checked(partner, request)
        block = await self._source.best()
        cost = await block.value("cf_channel_opening_fee", chain=terms.chain)
        place = partial(orders.place, self._database, partner, key, digest, self._owner, cost)
        found: Outcome = await self._in_thread(place)
        if isinstance(found, Order):
            return await self._new(partner, found, request, (terms, expected))
        if isinstance(found, AccessRefusal):
            raise refused(found)
        return None if isinstance(found, Running) else _settled(found)

    async def _checked(self, partner: Partner, request: ChannelRequest) -> tuple[SwapTerms, int]:
        """The terms of the swap. Raises Problem, Refusal."""
        block = await self._source.best()
        terms, expected = read_terms(channel_body(request), block.names)
        if not partner.allows(terms.source, terms.target):
            raise Problem("asset_not_allowed")
        await check_limits(block, terms.source, expected)
        return terms, expected

    async def _new(
        self, partner: Partner, order: Order, request: ChannelRequest, checked: tuple[SwapTerms, int] | None
    ) -> str | None:
        """Open the channel of an order of this process; None if another one has taken it over."""
        is_sent = False

        async def before(head: int) -> None:
            nonlocal is_sent
            refusal = await self._in_thread(partial(orders.start_sending, self._database, order, head))
            if refusal is not None:
                raise refused(refusal)
            is_sent = True

        try:
            terms, expected = checked or await self._checked(partner, request)
            channel = await self._source.broker.open_for(terms, _shares(partner), before)
        except orders.TakenOver:
            return None
        except UnknownOutcome as error:
            log.error("Request %s of %s: %s", order.key, order.partner, error)
            await self._end(orders.lose, order)
            raise Problem("outcome_unknown") from None
        except (Problem, Refusal, LedgerError):
            await self._end(orders.give_up, order)
            raise
        except BaseException:  # a bug, or the end of the service
            await self._end(orders.lose if is_sent else orders.give_up, order)
            raise
        return await self._stored(order, digest_of(request), _kept(partner, terms, channel, expected))

    async def _end(self, end: Callable[..., None], order: Order) -> None:
        with trio.CancelScope(shield=True):
            try:
                await self._in_thread(partial(end, self._database, order))
            except LedgerError as error:
                log.error("Request %s of %s: %s", order.key, order.partner, error)

    async def _stored(self, order: Order, digest: str, opened: Kept) -> str:
        """The answer, once it is in the database. Raises Problem."""
        store = partial(orders.finish, self._database, order, opened)
        with trio.CancelScope(shield=True, deadline=trio.current_time() + STORE_S):
            while True:
                try:
                    await self._in_thread(store)
                    return opened.answer
                except LedgerError as error:
                    if (stored := await self._was_stored(order, digest)) is not None:
                        return stored
                    log.warning("The channel %s is open; storing it again: %s", opened.opened.channel, error)
                await trio.sleep(BEAT_S)
        raise Problem("outcome_unknown", "the channel was opened, and could not be stored")

    async def _was_stored(self, order: Order, digest: str) -> str | None:
        """The answer, if it is in the database: its word about it may have been lost."""
        try:
            found = await self._look(order.partner, order.key, digest)
        except LedgerError:
            return None
        return found.answer if isinstance(found, Opened) else None

    async def _in_thread(self, step: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(step, limiter=self._writers)


def digest_of(request: ChannelRequest) -> str:
    """The hash of a request, the same however its JSON was written."""
    return sha256(msgspec.json.encode(request)).hexdigest()


@contextmanager
def _patience() -> Iterator[None]:
    """Wait for the first request, not for ever. Raises Problem."""
    with trio.move_on_after(PATIENCE_S) as scope:
        yield
    if scope.cancelled_caught:
        raise Problem("request_in_progress", retry_after_s=LOOK_S)


def _settled(found: Order | orders.Found | None) -> str | None:
    """The answer of the first request, if it has one. Raises Problem."""
    if isinstance(found, Opened):
        return found.answer
    if isinstance(found, Unknown):
        raise Problem("outcome_unknown")
    if isinstance(found, Reused):
        raise Problem("idempotency_key_reused")
    return None


def refused(refusal: AccessRefusal) -> Problem:
    """Why a key, a rate or a budget refuses a request."""
    if refusal.reason == "rate":
        return Problem("rate_limited", str(refusal), retry_after_s=refusal.retry_after_s)
    return Problem("budget_used_up" if refusal.reason == "budget" else "unauthorized", str(refusal))


def _shares(partner: Partner) -> Shares:
    affiliates = () if partner.affiliate is None else ((partner.affiliate, partner.affiliate_bps),)
    return Shares(partner.commission_bps, tuple(each for each in affiliates if each[1]))


def _kept(partner: Partner, terms: SwapTerms, channel: OpenedChannel, expected: int) -> Kept:
    answer = msgspec.json.encode(_channel(partner, terms, channel, expected)).decode()
    opened = service_channel(terms, _shares(partner), channel, expected)
    return Kept(opened, channel.opening_fee, answer)


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
