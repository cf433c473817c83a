"""Delivery of webhooks by one worker for each receiver, so that one that hangs delays no other.

A delivery counts when the answer has a status of 200 to 299. Redirects are not followed, an attempt ends
after 10 seconds, and of an answer that does not accept the first kilobyte is kept. A failed delivery is tried
again after 5, 10, 20 … 3,600 seconds, for a day; later changes of the same channel wait for it.
"""

from __future__ import annotations

import logging
import time
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from cfnode.clients.http import AsyncHttpClient, HttpCall, HttpError, TooSlow
from cfnode.core.safe_text import printable
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.webhooks.queue import Attempt, Claim, claimed, due_webhooks, mark
from cfnode.ledger.webhooks.signing import signed_headers

__all__ = ["Deliverer", "Pace"]

log = logging.getLogger("cfnode.ledger")
MAX_PARALLEL_DELIVERIES: Final = 4
"""Most deliveries that one receiver gets at the same time, of different channels."""
MAX_KEPT_ANSWER_BYTES: Final = 1_024
"""Bytes that are kept of an answer that does not accept."""
AGENT: Final = "cfnode"
DATABASE_RETRY_S: Final = 5.0
"""Seconds to wait after a fault of the database."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds: between polls for work, of an attempt, of a claim, and of pauses after failures."""

    poll_s: float = 0.5
    limit_s: float = 10.0
    lease_s: float = 30.0
    first_pause_s: float = 5.0
    max_pause_s: float = 3_600.0

    def pause_s(self, attempts: int) -> float:
        """Return the pause in seconds after the given number of failed attempts."""
        return min(self.first_pause_s * 2.0 ** min(attempts - 1, 30), self.max_pause_s)


class Deliverer:
    """Sender of the outbox's deliveries."""

    def __init__(self, database: Database, pace: Pace = Pace()) -> None:  # it is immutable
        self._database, self._pace = database, pace
        self._working: set[str] = set()
        self._failing: set[str] = set()

    async def run(self, *, once: bool = False) -> None:
        """Send deliveries until cancelled; with `once` until nothing can be sent now."""
        async with aclosing(AsyncHttpClient(AGENT, is_direct=True)) as client, trio.open_nursery() as nursery:
            while True:
                for webhook in await self._due():
                    if webhook not in self._working:
                        self._working.add(webhook)
                        nursery.start_soon(self._work, client, webhook)
                if once:
                    return
                await trio.sleep(self._pace.poll_s)

    async def _due(self) -> list[str]:
        try:
            return await trio.to_thread.run_sync(due_webhooks, self._database, _now())
        except LedgerError as error:
            log.warning("Webhooks wait for the database: %s", error)
            await trio.sleep(DATABASE_RETRY_S)
            return []

    async def _work(self, client: AsyncHttpClient, webhook: str) -> None:
        """Send one receiver's deliveries until none is due."""
        try:
            while claims := await self._claims(webhook):
                async with trio.open_nursery() as nursery:
                    for claim in claims:
                        nursery.start_soon(self._deliver, client, claim)
        except* LedgerError as group:
            log.warning("Webhook %s waits for the database: %s", webhook, group.exceptions[0])
            await trio.sleep(DATABASE_RETRY_S)
        finally:
            self._working.discard(webhook)

    async def _claims(self, webhook: str) -> list[Claim]:
        lease = int(self._pace.lease_s * 1000)
        return await trio.to_thread.run_sync(
            claimed, self._database, webhook, _now(), lease, MAX_PARALLEL_DELIVERIES
        )

    async def _deliver(self, client: AsyncHttpClient, claim: Claim) -> None:
        attempt = await self._send(client, claim)
        error, pause = attempt.error, self._pace.pause_s(claim.attempts)
        marking = partial(mark, self._database, claim, attempt, _now(), int(pause * 1000))
        with trio.CancelScope(shield=True):
            marked = await trio.to_thread.run_sync(marking)
        if marked.is_disabled:
            log.error("Webhook %s accepted nothing for three days and is switched off (%s); `cfnode ledger "
                      "webhook enable` switches it on again", claim.webhook, error)  # fmt: skip
        if marked.state == "expired":
            log.error("Webhook %s: delivery %s failed for a day (%s); `cfnode ledger webhook replay` sends "
                      "it again", claim.webhook, claim.delivery, error)  # fmt: skip
        elif error is None:
            self._failing.discard(claim.webhook)
        else:
            level = logging.DEBUG if claim.webhook in self._failing else logging.WARNING
            self._failing.add(claim.webhook)
            log.log(level, "Webhook %s: %s; trying again in %g s", claim.webhook, error, pause)

    async def _send(self, client: AsyncHttpClient, claim: Claim) -> Attempt:
        """Send a delivery, and return how the receiver answered."""
        headers = signed_headers(claim.secrets, claim.delivery, int(time.time()), claim.body)
        call = HttpCall("POST", claim.url, self._pace.limit_s, (), tuple(headers.items()), claim.body)
        began = trio.current_time()
        try:
            answer = await client.glimpse(call, MAX_KEPT_ANSWER_BYTES)
        except TooSlow:
            return Attempt(None, f"no answer within {self._pace.limit_s:g} s", took_ms=_since(began))
        except HttpError as error:
            return Attempt(None, f"no answer ({error})", took_ms=_since(began))
        if 200 <= answer.status < 300:
            return Attempt(answer.status, took_ms=_since(began))
        text = printable(answer.body.decode(errors="replace"), MAX_KEPT_ANSWER_BYTES)
        return Attempt(answer.status, f"answered {answer.status}", text, _since(began))


def _since(began: float) -> int:
    """Return the milliseconds since a time of trio's clock."""
    return int((trio.current_time() - began) * 1000)


def _now() -> int:
    return time.time_ns() // 1_000_000
