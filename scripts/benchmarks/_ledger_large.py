"""Books with a million swaps: copies of the rows of a development chain's day, with shifted numbers.

`multiply` makes them. Every copy has all rows of the day in all tables that statuses and statements read,
with numbers, addresses and transactions of its own. Some copies share blocks, as swaps do. Two things are
less than in real books, to save space: blocks in which nothing happens are left out, and only one copy in
`EVENTS_EACH` has the events as the chain stated them, of which statuses are made. Indexes are made behind the
rows, as a restored dump's are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Index, Table, func, insert, select

from cfnode.ledger import schema
from cfnode.ledger.database import Database

__all__ = ["EVENTS_EACH", "Large", "multiply"]

EVENTS_EACH: Final = 8
TOGETHER: Final = 32
"""Number of copies in the same blocks."""
YEAR_MS: Final = 365 * 86_400_000
GROUPS_EACH: Final = 64
"""Number of groups of copies that one statement makes."""
MAX_IDS: Final = 10
"""Maximum numbers in the fields of one event of the day."""
FACTS: Final = (
    *("channels", "deposits", "boosts", "requests", "shares", "swaps", "completions", "fees"),
    *("commissions", "payouts", "broadcasts", "outcomes", "failures"),
)
_NUMBERS: Final = ("request", "swap", "channel", "egress", "broadcast", "prewitnessed")
"""Columns with a number that the chain assigned."""
_TEXTS: Final = ("address", "destination", "refund_address", "transaction")
"""Columns whose last eight characters become the copy's."""
_IDS: Final = frozenset(
    (
        *("swap_request_id", "swap_id", "channel_id", "broadcast_id", "prewitnessed_deposit_id"),
        "network_fee_swap_request_id",
    )
)


@dataclass(frozen=True, slots=True)
class Large:
    """Figures of the multiplied books.

    `stride` is from one copy's numbers to the next, `regular` the numbers of users' swaps in the day; `start`
    and `end` are the times of the first and last block, Unix ms.
    """

    copies: int
    stride: int
    regular: tuple[int, ...]
    requests: int
    start: int
    end: int

    def swaps(self, count: int) -> Iterator[int]:
        """Yield numbers of users' swaps that have events, spread over the books."""
        with_events = self.copies // EVENTS_EACH
        for place in range(count):
            copy = (1 + place * (with_events - 1) // count) * EVENTS_EACH
            yield self.regular[place % len(self.regular)] + copy * self.stride


def multiply(database: Database, swaps: int) -> Large:
    """Copy a day's rows until the books have so many swap requests."""
    with database.writing(durable=False) as connection:
        large = _shape(connection, swaps)
        _copies(connection, large)
        _templates(connection)
        indexes = _without_indexes(connection)
    groups = -(-large.copies // TOGETHER)
    for first in range(1, groups + 1, GROUPS_EACH):
        with database.writing(durable=False) as connection:
            for statement in _statements(connection, large, groups, first):
                connection.exec_driver_sql(statement)
    for index in indexes:
        with database.writing(durable=False) as connection:
            index.create(connection)
    with database.writing(durable=False) as connection:
        for name in ("blocks", "events", *FACTS, "copies"):
            connection.exec_driver_sql(f"DROP TABLE day_{name}")
        if not database.is_sqlite:  # PostgreSQL does this by itself, some minutes later
            connection.exec_driver_sql("ANALYZE")
    return large


def _shape(connection: Connection, swaps: int) -> Large:
    requests, blocks = schema.requests.c, schema.blocks.c
    rows = connection.execute(select(requests.request, requests.kind)).all()
    stride = 1 + max(_highest(connection, name) for name in FACTS)
    times = select(func.min(blocks.time), func.max(blocks.time)).where(blocks.number > 0)
    start, last = connection.execute(times).one()
    copies = swaps // len(rows)
    regular = tuple(row.request for row in rows if row.kind == "Regular")
    return Large(copies, stride, regular, (copies + 1) * len(rows), start, last + YEAR_MS)


def _highest(connection: Connection, name: str) -> int:
    table = schema.metadata.tables[name]
    columns = [func.max(table.c[column]) for column in _NUMBERS if column in table.c]
    maxima = connection.execute(select(*columns)).one() if columns else ()
    return max((maximum for maximum in maxima if maximum is not None), default=0)


def _copies(connection: Connection, large: Large) -> None:
    """Create a table of the copies, and copies of the tables of the day.

    Its columns: number, group, place in the group, and the copy's eight characters, also in hex.
    """
    connection.exec_driver_sql(
        "CREATE TABLE day_copies "
        "(k BIGINT, g BIGINT, place BIGINT, has_events INTEGER, tail TEXT, tail_hex TEXT)"
    )
    rows = [
        {"k": k, "g": (k - 1) // TOGETHER + 1, "place": (k - 1) % TOGETHER,
         "has_events": int(k % EVENTS_EACH == 0), "tail": f"{k:08x}",
         "tail_hex": f"{k:08x}".encode().hex()}
        for k in range(1, large.copies + 1)
    ]  # fmt: skip
    from sqlalchemy import column, table

    copies = table("day_copies", *(column(name) for name in rows[0]))
    connection.execute(insert(copies), rows)
    connection.exec_driver_sql("CREATE INDEX day_copies_by_g ON day_copies (g)")
    for name in ("blocks", *FACTS):
        connection.exec_driver_sql(f"CREATE TABLE day_{name} AS SELECT * FROM {name}")


def _templates(connection: Connection) -> None:
    """Create a table of the day's events, with places for what differs in a copy."""
    from sqlalchemy import column, table

    ids = [f"id{place}" for place in range(MAX_IDS)]
    columns = ", ".join(f"{name} BIGINT" for name in ids)
    connection.exec_driver_sql(
        "CREATE TABLE day_events "
        f"(block BIGINT, event BIGINT, pallet TEXT, name TEXT, fields TEXT, {columns})"
    )
    addresses, rows = _addresses(connection), []
    for row in connection.execute(select(schema.events)).mappings():
        text, numbers = _template(row["fields"], addresses)
        rows.append(dict(row) | {"fields": text} | {
            name: numbers[place] if place < len(numbers) else None for place, name in enumerate(ids)
        })  # fmt: skip
    connection.execute(insert(table("day_events", *(column(name) for name in rows[0]))), rows)


def _addresses(connection: Connection) -> frozenset[str]:
    """Return the addresses of the day as they stand in the fields of events."""
    table = schema.channels.c
    addresses = set[str]()
    for row in connection.execute(select(table.address, table.destination, table.refund_address)):
        for text in filter(None, row):
            addresses.add(text.lower() if text.startswith("0x") else f"0x{text.encode().hex()}")
    return frozenset(addresses)


def _template(fields: str, known: frozenset[str]) -> tuple[str, list[int]]:
    """Return the text for `format`, and the numbers in it."""
    marked = json.dumps(_marked(json.loads(fields), known), separators=(",", ":"))
    ids = [int(number) for number in re.findall(r'"#(\d+)#"', marked)]
    assert len(ids) <= MAX_IDS
    return re.sub(r'"#\d+#"', "%s", marked.replace("%", "%%")), ids


def _marked(value: Any, known: frozenset[str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _marked(member, known, key) for key, member in value.items()}
    if isinstance(value, list):
        if name in ("egress_id", "egress_ids") and len(value) == 2 and isinstance(value[1], int):
            return [value[0], f"#{value[1]}#"]
        return [_marked(item, known, name if name == "egress_ids" else "") for item in value]
    if name in _IDS and isinstance(value, int):
        return f"#{value}#"
    if isinstance(value, str) and value in known:
        return value[:-8] + "{tail}" if len(value) == 42 else value[:-16] + "{tail_hex}"
    return value


def _without_indexes(connection: Connection) -> list[Index]:
    indexes = [
        index
        for name in ("events", *FACTS)
        for index in sorted(schema.metadata.tables[name].indexes, key=lambda known: str(known.name))
    ]
    for index in indexes:
        index.drop(connection)
    return indexes


def _statements(connection: Connection, large: Large, groups: int, first: int) -> Iterator[str]:
    """Yield the statements that make the rows of some groups."""
    head = connection.exec_driver_sql("SELECT max(number) FROM day_blocks").scalar_one() + 1
    width = connection.exec_driver_sql("SELECT max(event) FROM day_events").scalar_one() + 1
    condition = f"c.g >= {first} AND c.g < {first + GROUPS_EACH}"
    step = YEAR_MS // groups
    yield (
        "INSERT INTO blocks (number, hash, parent, time, spec_version, events) "
        f"SELECT b.number + c.g * {head}, substr(b.hash, 1, 58) || c.tail, substr(b.parent, 1, 58) || c.tail,"
        f" b.time + c.g * {step} + CASE WHEN b.number = 0 THEN "
        "(SELECT min(time) FROM day_blocks WHERE number > 0) ELSE 0 END, b.spec_version, b.events "
        f"FROM day_blocks b, day_copies c WHERE c.place = 0 AND {condition} "
        "ORDER BY 1"
    )
    for name in FACTS:
        yield _copy_of(schema.metadata.tables[name], large.stride, head, width, condition)
    yield _copy_of(schema.events, large.stride, head, width, f"{condition} AND c.has_events = 1",
                   _fields(connection.dialect.name, large.stride))  # fmt: skip


def _copy_of(table: Table, stride: int, head: int, width: int, where: str, fields: str = "b.fields") -> str:
    expressions = {
        "block": f"b.block + c.g * {head}",
        "execute_at": f"b.execute_at + c.g * {head}",
        "event": f"b.event + c.place * {width}",
        "fields": fields,
        **{name: f"b.{name} + c.k * {stride}" for name in _NUMBERS},
        **{name: f'substr(b."{name}", 1, length(b."{name}") - 8) || c.tail' for name in _TEXTS},
    }
    names = [column.name for column in table.columns]
    selected = ", ".join(expressions.get(name, f'b."{name}"') for name in names)
    quoted = ", ".join(f'"{name}"' for name in names)
    return (
        f"INSERT INTO {table.name} ({quoted}) SELECT {selected} FROM day_{table.name} b, day_copies c "
        f"WHERE {where} ORDER BY 1, 2"
    )


def _fields(dialect: str, stride: int) -> str:
    numbers = [f"b.id{place} + c.k * {stride}" for place in range(MAX_IDS)]
    if dialect == "sqlite":
        filled = f"printf(b.fields, {', '.join(numbers)})"
    else:
        filled = f"format(b.fields, {', '.join(f'({number})::text' for number in numbers)})"
    return f"replace(replace({filled}, '{{tail}}', c.tail), '{{tail_hex}}', c.tail_hex)"
