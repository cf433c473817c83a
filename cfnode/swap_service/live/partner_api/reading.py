"""Reads of a partner: the statuses of the swaps of its own channels, and its statements."""

from __future__ import annotations

import io
import tempfile
from typing import IO, Final

from cfnode.ledger.database import Database
from cfnode.ledger.partners.channels import has_channel
from cfnode.ledger.statement_text import write_csv, write_json
from cfnode.ledger.statements import Month, Statement
from cfnode.swap_service.fields import RequestRefusal
from cfnode.swap_service.live.partner_api.documents import swap_of
from cfnode.swap_service.live.partner_api.problems import Problem
from cfnode.swap_service.live.partner_api.schema import StatementQuery, Swap
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
        month = Month.parse(query.month)
    except ValueError as error:
        raise Problem("invalid_request", f"month: {error}") from None
    statement = Statement(database, month, partner=partner)
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # its sender closes it
    try:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        (write_csv if query.format == "csv" else write_json)(statement, text)
        text.detach()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
