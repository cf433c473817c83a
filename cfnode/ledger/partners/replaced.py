"""Channels of the swap service whose block a fork has replaced before finality. Functions block.

The broker's node answers when a channel is in a block of its best chain. If another fork wins, the chain
opens the channel again in a block of that fork, and its id is another one. The books have final blocks only.
So where they have no opening at the block of the answer, a channel nearby with the number and the terms is
the one of the answer: its expected amount and its partner become those of the new id, and so does the answer
to a repeated request.
"""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import Connection, and_, exists, select, update

from cfnode.core.foreign import read_json
from cfnode.ledger import schema
from cfnode.ledger.decoding import fields_of
from cfnode.ledger.partners.lost import FORK_BLOCKS
from cfnode.ledger.service_tables import partner_channels
from cfnode.swaps.identity import ChannelId

__all__ = ["follow_replaced", "replaced_by"]

_TERMS: Final = (
    *("deposit_address", "destination_address", "source_asset", "destination_asset", "channel_metadata"),
    *("broker_commission_rate", "affiliate_fees", "boost_fee", "refund_parameters", "dca_parameters"),
)
"""What a request decides of its channel's event."""


def replaced_by(connection: Connection, channel: ChannelId) -> list[tuple[int, dict[str, Any]]]:
    """Return the blocks of the service's answers near a channel that have its number, and the fields there.

    These are the answers that may have named it by a block that a fork has replaced.
    """
    table = schema.expectations.c
    query = select(table.block, table.opening).where(
        table.chain == channel.chain,
        table.channel == channel.number,
        table.block.between(channel.block - FORK_BLOCKS, channel.block + FORK_BLOCKS),
        table.opening.is_not(None),
    )
    rows = connection.execute(query).all()
    if any(row.block == channel.block for row in rows):
        return []
    return [(row.block, fields_of(row.opening)) for row in rows]


def follow_replaced(
    connection: Connection, channel: ChannelId, opening: str, answers: list[tuple[int, dict[str, Any]]]
) -> None:
    """Give a channel what was stored for it under the id of an answer; `opening` are its event's fields."""
    fields = fields_of(opening)
    for block, answered in answers:
        is_same = all(answered.get(name) == fields.get(name) for name in _TERMS)
        if is_same and not _is_in_books(connection, ChannelId(channel.chain, channel.number, block)):
            _move(connection, block, channel)
            return


def _is_in_books(connection: Connection, channel: ChannelId) -> bool:
    opened = schema.channels.c
    conditions = (opened.chain == channel.chain, opened.channel == channel.number)
    query = select(exists().where(*conditions, opened.block == channel.block))
    return bool(connection.execute(query).scalar())


def _move(connection: Connection, block: int, channel: ChannelId) -> None:
    expected, opened = schema.expectations.c, partner_channels.c
    is_expected = and_(expected.chain == channel.chain, expected.channel == channel.number)
    moved = update(schema.expectations).where(is_expected, expected.block == block)
    connection.execute(moved.values(block=channel.block))
    is_partners = and_(
        opened.chain == channel.chain, opened.channel == channel.number, opened.opened == block
    )
    query = select(opened.id, opened.answer).where(is_partners, opened.state == "opened")
    for row in connection.execute(query).all():
        answer = None if row.answer is None else _with_id(row.answer, channel)
        values = {"opened": channel.block, "answer": answer}
        connection.execute(update(partner_channels).where(opened.id == row.id).values(**values))


def _with_id(answer: str, channel: ChannelId) -> str:
    document = read_json(answer) | {"id": str(channel), "issued_block": channel.block}
    return json.dumps(document, separators=(",", ":"))
