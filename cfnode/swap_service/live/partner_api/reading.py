"""What may a partner read? The statuses of the swaps of its own channels, and its statements."""

from __future__ import annotations

import io
import re
import tempfile
from typing import IO, Final

import msgspec

from cfnode.ledger.database import Database
from cfnode.ledger.partners.channels import answer_of
from cfnode.ledger.statement_text import write_csv, write_json
from cfnode.ledger.statements import Month, Statement
from cfnode.swap_service.fields import Refusal
from cfnode.swap_service.live.partner_api.documents import swap_of
from cfnode.swap_service.live.partner_api.problems import Problem
from cfnode.swap_service.live.partner_api.schema import Channel, ChannelState, StatementQuery, Swap
from cfnode.swap_service.source import SwapRecord
from cfnode.swap_service.statuses import status

__all__ = ["own_swap", "statement_file"]

IN_MEMORY: Final = 1 << 20
"""Bytes of a statement before it goes to a temporary file."""
_CHANNEL: Final = re.compile(r"([0-9]{1,10})-([A-Za-z]{1,12})-([0-9]{1,18})")


def own_swap(record: SwapRecord, database: Database, partner: str, reference: str) -> Swap:
    """The status of a swap of the partner's channels. Raises Problem; blocks.

    Until the block of a new channel is in the books, the answer of its opening is what is known.
    """
    try:
        found = status(record, reference)
    except Refusal:
        return _just_opened(database, partner, reference)
    channel = found.get("depositChannel")
    if channel is None or _opened(database, partner, channel["id"]) is None:
        raise Problem("not_found")
    return swap_of(found)


def _opened(database: Database, partner: str, channel_id: str) -> Channel | None:
    """The partner's channel of that id."""
    match = _CHANNEL.fullmatch(channel_id)
    found = match and answer_of(database, partner, match[2], int(match[3]))
    if not found:
        return None
    channel = msgspec.json.decode(found, type=Channel)
    return channel if channel.id.lower() == channel_id.lower() else None


def _just_opened(database: Database, partner: str, reference: str) -> Swap:
    channel = _opened(database, partner, reference)
    if channel is None:
        raise Problem("not_found")
    state = ChannelState(
        channel.id,
        channel.deposit_address,
        channel.src_chain_expiry_block,
        is_expired=False,
        expected_amount=channel.expected_amount,
    )
    return Swap("WAITING", channel.src_asset, channel.dest_asset, channel.dest_address, state, [], [])


def statement_file(database: Database, partner: str, query: StatementQuery) -> IO[bytes]:
    """A statement, as a file that is at its beginning. Raises Problem, LedgerError; blocks."""
    try:
        month = Month.parse(query.month)
    except ValueError as error:
        raise Problem("invalid_request", f"month: {error}") from None
    found = Statement(database, month, partner=partner)
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # its sender closes it
    try:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        (write_csv if query.format == "csv" else write_json)(found, text)
        text.detach()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
