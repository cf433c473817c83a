"""Reads of a partner: the statuses of the swaps of its own channels, and its statements."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

from cfnode.ledger.database import Database
from cfnode.ledger.partners.channels import has_channel
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from cfnode.ledger.statements.formats import FORMATS
from cfnode.swap_service.live_network.partner_api.documents import swap_of
from cfnode.swap_service.live_network.partner_api.problems import Problem
from cfnode.swap_service.live_network.partner_api.schema import StatementQuery, Swap
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.statuses import status
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.record import SwapRecord

__all__ = ["own_swap", "statement_writer"]


def own_swap(record: SwapRecord, database: Database, partner: str, reference: str) -> Swap:
    """Return the status of a swap of the partner's channels. Raises Problem; blocks."""
    try:
        document = status(record, reference)
    except RequestRefusal:
        raise Problem("not_found") from None
    channel = ChannelId.parse(document["depositChannel"]["id"]) if "depositChannel" in document else None
    if channel is None or not has_channel(database, partner, channel):
        raise Problem("not_found")
    return swap_of(document)


def statement_writer(database: Database, partner: str, query: StatementQuery) -> Callable[[BinaryIO], None]:
    """Return a function that writes a statement and raises LedgerError. Raises Problem."""
    try:
        month = CalendarPeriod.month(query.month)
        month.require_begun(time.time_ns() // 1_000_000)
    except ValueError as error:
        raise Problem("invalid_request", f"month: {error}") from None
    return partial(FORMATS[query.format].write, LedgerStatement(database, month, partner=partner))
