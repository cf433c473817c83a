"""Reads of a partner: the statuses of the swaps of its own channels, and its statements."""

from __future__ import annotations

import tempfile
import time
from typing import IO, BinaryIO, Final, cast

from cfnode.ledger.database import Database
from cfnode.ledger.partners.channels import has_channel
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from cfnode.ledger.statements.formats import FORMATS
from cfnode.swap_service.live_network.partner_api.documents import swap_of
from cfnode.swap_service.live_network.partner_api.problems import Problem
from cfnode.swap_service.live_network.partner_api.schema import StatementQuery, Swap
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.source import SwapRecord
from cfnode.swap_service.statuses import status
from cfnode.swaps.identity import ChannelId

__all__ = ["own_swap", "statement_file"]

IN_MEMORY: Final = 1 << 20
"""Bytes of a statement that stay in memory; a larger one goes to a temporary file."""


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


def statement_file(database: Database, partner: str, query: StatementQuery) -> IO[bytes]:
    """Return a statement as a file that is at its beginning. Raises Problem, LedgerError; blocks."""
    try:
        month = CalendarPeriod.month(query.month)
        month.require_begun(int(time.time() * 1000))
    except ValueError as error:
        raise Problem("invalid_request", f"month: {error}") from None
    statement = LedgerStatement(database, month, partner=partner)
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # its sender closes it
    try:
        FORMATS[query.format].write(statement, cast(BinaryIO, file))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
