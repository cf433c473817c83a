"""The books: blocks are written once, after their parent, with all their rows in one transaction.

Every method blocks and runs in a thread. Another process may write to the same books: a block that is already
there is left as it is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from cfnode.core import ss58
from cfnode.core.addresses import NETWORKS
from cfnode.ledger import schema
from cfnode.ledger.block_rows import BLOCK_HASH, block_row, parts, tip_of, write_blocks
from cfnode.ledger.chain import Head
from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import forget_totals
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.errors import BrokenBooks, WrongNodeChain
from cfnode.ledger.prices import Price
from cfnode.ledger.rows import Known
from cfnode.ledger.rows.context import FLIP
from cfnode.ledger.updates import announce

__all__ = ["ALL_ACCOUNTS", "Balances", "Books", "Gap", "account_set", "known_of"]

log = logging.getLogger("cfnode.ledger")
ALL_ACCOUNTS = "all"
Balances = Mapping[tuple[str, str], int]
"""Free balances by account (SS58) and asset."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Blocks that are missing, from first to last."""

    first: int
    last: int

    def __str__(self) -> str:
        """Return the range as text, as in `blocks 3 to 7`."""
        return f"blocks {self.first} to {self.last}"


def account_set(accounts: Iterable[str]) -> str:
    """Return the accounts of books as one text: SS58, sorted; "all" if no account is named."""
    return ",".join(sorted(set(accounts))) or ALL_ACCOUNTS


class Books:
    """The books of one chain in a database.

    `has_all_credits`: the blocks to write have the credits of all accounts, as a node's have.
    """

    def __init__(self, database: Database, *, has_all_credits: bool = True) -> None:
        self.database = database
        self._has_all_credits = has_all_credits
        self._known: Known | None = None
        self._warned: set[str] = set()

    # Beginning

    def value(self, name: str) -> str | None:
        """Return an entry of the table `ledger`; None if it is missing."""
        with self.database.reading() as connection:
            return _value(connection, name)

    def set_value(self, name: str, value: str) -> None:
        """Write an entry of the table `ledger`."""
        with self.database.writing() as connection:
            _set(connection, name, value)

    def belong_to(self, genesis: str, accounts: str) -> None:
        """Check that the books are of this chain and these accounts; empty books fit any.

        Raises WrongChain, or BrokenBooks if the books are of other accounts.
        """
        with self.database.reading() as connection:
            books_genesis, books_accounts = _value(connection, "genesis"), _value(connection, "accounts")
        if books_genesis is not None and books_genesis != genesis:
            raise WrongNodeChain(
                f"the node's chain has the genesis {genesis}, the books in {self.database.name} have "
                f"{books_genesis}: name another node, or another --database"
            )
        if books_accounts is not None and books_accounts != accounts:
            raise BrokenBooks(
                f"the books in {self.database.name} are of the accounts {books_accounts}, not {accounts}: "
                "name the same accounts, or another --database"
            )

    def begin(
        self, genesis: str, network: str, accounts: str, anchor: DecodedBlock, balances: Balances
    ) -> None:
        """Begin books after a block, with the balances at it.

        Without effect on books that another process has begun.
        """
        with self.database.writing() as connection:
            if _value(connection, "genesis") is None:
                _set(connection, "genesis", genesis)
                _set(connection, "network", network)
                _set(connection, "accounts", accounts)
                _set(connection, "flip_from", str(anchor.number))
                _anchor(connection, anchor, balances)
                announce(connection, anchor.number)

    def begin_flip(self, block: Head, balances: Balances) -> None:
        """Store the FLIP balances at the newest block, in books of an earlier version, which lack them.

        FLIP is compared with the chain from that block on.
        """
        rows = [
            {"block": block.number, "account": account, "asset": asset, "amount": amount}
            for (account, asset), amount in balances.items()
            if asset == FLIP
        ]
        with self.database.writing() as connection:
            if _value(connection, "flip_from") is None and tip_of(connection) == block:
                _set(connection, "flip_from", str(block.number))
                if rows:
                    connection.execute(insert(schema.openings), rows)

    # Reading

    def tip(self) -> Head | None:
        """Return the newest block of the books; None for empty books."""
        with self.database.reading() as connection:
            return tip_of(connection)

    def hash_of(self, number: int) -> str | None:
        """Return the hash of a block (0x-hex); None if the books lack it."""
        with self.database.reading() as connection:
            block_hash: str | None = connection.execute(BLOCK_HASH, {"block": number}).scalar()
            return block_hash

    def gaps(self) -> list[Gap]:
        """Return the gaps, oldest first."""
        table = schema.gaps.c
        with self.database.reading() as connection:
            rows = connection.execute(select(table.first, table.last).order_by(table.first))
            return [Gap(*row) for row in rows]

    # Writing

    def write(self, blocks: Sequence[DecodedBlock], prices: Mapping[int, Sequence[Price]]) -> Head:
        """Write blocks one after the other, some in one transaction, and return the last.

        If a transaction of several blocks fails, each of them is written in one of its own, so that all
        before the block that cannot be written are in the books. Raises WrongNodeChain.
        """
        assert blocks
        for part in parts(blocks):
            try:
                self._write(part, prices)
            except Exception:
                if len(part) == 1:
                    raise
                for block in part:
                    self._write([block], prices)
        return Head(blocks[-1].number, blocks[-1].hash)

    def _write(self, blocks: Sequence[DecodedBlock], prices: Mapping[int, Sequence[Price]]) -> None:
        """Write blocks in one transaction."""
        try:
            with self.database.writing(durable=False) as connection:
                unread = write_blocks(connection, self._known_at(connection), blocks, prices)
        except BaseException:
            self._known = None  # it may contain facts that were not written
            raise
        self._warn(unread)

    def _warn(self, unread: Sequence[Mapping[str, Any]]) -> None:
        """Log the first unread event of each kind as an error, and later ones for debugging."""
        for row in unread:
            kind = f"{row['pallet']}.{row['name']}"
            level = logging.DEBUG if kind in self._warned else logging.ERROR
            log.log(level, "event %d of block %d, %s, has an unknown shape (%s); it is kept in the table "
                    "`unread`, and the books lack its facts until a version of cfnode can read it",
                    row["event"], row["block"], kind, row["reason"])  # fmt: skip
            self._warned.add(kind)

    def skip(self, gap: Gap, anchor: DecodedBlock, balances: Balances) -> None:
        """Store a gap, and continue after its last block."""
        assert anchor.number == gap.last
        with self.database.writing() as connection:
            tip = tip_of(connection)
            if tip is None or tip.number + 1 != gap.first:
                return  # another process was faster
            row = {"first": gap.first, "last": gap.last, "found_at": time.time_ns() // 1_000_000}
            connection.execute(insert(schema.gaps), row)
            _anchor(connection, anchor, balances)
            announce(connection, anchor.number)
        self._known = None

    def go_back(self, number: int) -> None:
        """Delete all rows of a block and of the blocks after it."""
        with self.database.writing() as connection:
            forget_totals(connection, number)
            for table in schema.BY_BLOCK:
                connection.execute(delete(table).where(table.c.block >= number))
            connection.execute(delete(schema.blocks).where(schema.blocks.c.number >= number))
            connection.execute(delete(schema.gaps).where(schema.gaps.c.first >= number))
            if int(_value(connection, "flip_from") or -1) >= number:
                connection.execute(delete(schema.ledger).where(schema.ledger.c.name == "flip_from"))
        self._known = None

    def _known_at(self, connection: Connection) -> Known:
        if self._known is None:
            self._known = known_of(connection, has_all_credits=self._has_all_credits)
        return self._known.at(connection)

    def forget(self) -> None:
        """Discard what is cached of the rows: rows of older blocks have changed."""
        self._known = None

    def tracked(self) -> list[bytes] | None:
        """Return the accounts of the books and their affiliates; None for all accounts."""
        with self.database.reading() as connection:
            accounts = known_of(connection).accounts
        return None if accounts is None else sorted(accounts)


def known_of(connection: Connection, *, has_all_credits: bool = True) -> Known:
    """Return the Known of the books for the rows of blocks; nothing of it is looked up yet."""
    network, tracked = _value(connection, "network") or "", _value(connection, "accounts") or ALL_ACCOUNTS
    accounts = (
        None if tracked == ALL_ACCOUNTS else frozenset(_bytes(account) for account in tracked.split(","))
    )
    if accounts is not None:
        table = schema.affiliates.c
        accounts |= {_bytes(row.account) for row in connection.execute(select(table.account))}
    return Known(NETWORKS[network], accounts, has_all_credits=has_all_credits).at(connection)


def _bytes(account: str) -> bytes:
    return ss58.decode(account)[1]


def _value(connection: Connection, name: str) -> str | None:
    table = schema.ledger.c
    value: str | None = connection.execute(select(table.value).where(table.name == name)).scalar()
    return value


def _set(connection: Connection, name: str, value: str) -> None:
    table = schema.ledger
    changed = connection.execute(update(table).where(table.c.name == name).values(value=value))
    if not changed.rowcount:
        connection.execute(insert(table), {"name": name, "value": value})


def _anchor(connection: Connection, block: DecodedBlock, balances: Balances) -> None:
    connection.execute(insert(schema.blocks), block_row(block))
    rows = [
        {"block": block.number, "account": account, "asset": asset, "amount": amount}
        for (account, asset), amount in balances.items()
    ]
    if rows:
        connection.execute(insert(schema.openings), rows)
