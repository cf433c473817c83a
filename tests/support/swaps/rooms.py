"""Each room's view of a random life, held against the model: services, partners, webhooks, statements, page.

`Rooms` writes books of all accounts and books of one account from the blocks of a life, and gives a
development node's index the same events. `agree` raises AssertionError at the first difference.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import trio
from sqlalchemy import select

from cfnode.core import ss58
from cfnode.core.addresses import address_to_text
from cfnode.core.block import BlockRef
from cfnode.core.scale.metadata import Metadata
from cfnode.devchain.swaps.index import SwapIndex
from cfnode.devchain.swaps.source import _IndexedSwaps
from cfnode.ledger.balances import chain_balances, compare
from cfnode.ledger.books import ALL_ACCOUNTS, Books
from cfnode.ledger.chain import ChainReader, Head
from cfnode.ledger.client import MethodCall
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.day_totals import add_totals, totals_of
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.errors import CallError
from cfnode.ledger.open_channels import open_channels
from cfnode.ledger.partners import access, registry
from cfnode.ledger.partners.access import Reservation
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.recent_swaps import failed_payouts, recent_swaps
from cfnode.ledger.recompute import recomputed
from cfnode.ledger.reports import Period, report
from cfnode.ledger.service_tables import changes
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from cfnode.ledger.swap_events import SwapEvents
from cfnode.ledger.swap_list import SwapFilter, swap_page
from cfnode.ledger.webhooks.registry import add
from cfnode.swap_service.live_network.partner_api.problems import Problem
from cfnode.swap_service.live_network.partner_api.reading import own_swap
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.statuses import status
from cfnode.swaps.addresses import address_text
from cfnode.swaps.documents.status_v1 import flat_status
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.journey import REQUEST_STATES, JourneyState
from cfnode.swaps.record import Entry, SwapRecord
from tests.devchain.runtime.world import World
from tests.ledger.contents import rows
from tests.runtime.memory_state import MemoryState
from tests.support.swaps.lives import BROKER, OTHER, PARTNERS, PROVIDERS, Beginning, Life
from tests.support.swaps.model import Channel, Deposit, Facts, Swap

__all__ = ["Rooms", "development_record", "entries_of"]

LONG: Final = CalendarPeriod("ever", 0, 2**52)
"""A period with all blocks."""
V2: Final = {
    "swapping": ("SWAPPING",),
    "scheduled": ("SENDING",),
    "signing": ("SENDING",),
    "sent": ("SENT",),
    **dict.fromkeys(("paid", "credited", "refunded", "partly_refunded", "done"), ("COMPLETED",)),
    **dict.fromkeys(("failed", "expired", "aborted", "invalid", "ignored"), ("FAILED",)),
}
"""The state of the official documents for the model's states."""
V1: Final = {
    "WAITING": {"AWAITING_DEPOSIT"},
    "SWAPPING": {"DEPOSIT_RECEIVED", "SWAP_EXECUTED"},
    "SENDING": {"EGRESS_SCHEDULED"},
    "SENT": {"BROADCASTED"},
    "COMPLETED": {"COMPLETE"},
    "FAILED": {"FAILED", "BROADCAST_ABORTED"},
}


class Rooms:
    """The rooms that read a life."""

    def __init__(self, life: Life, folder: Path) -> None:
        self.life = life
        self.chosen = Random(life.seed).choice([BROKER, OTHER, *PROVIDERS]).account
        self.index = SwapIndex(None)  # type: ignore[arg-type]  # it is given its blocks
        self.database = _copied(folder / "all.sqlite", new_books(life.began))
        self.private = _copied(folder / "chosen.sqlite", new_books(life.began, self.chosen))
        self._books, self._own = Books(self.database), Books(self.private)
        self._channels, self._read, self._news, self._looks = 0, len(life.history), 0, 0
        self._changes_seen = 0
        """How often the model had changed when the rooms were looked at last."""

    def close(self) -> None:
        """Close the databases."""
        self.database.close()
        self.private.close()

    # Following

    def follow(self) -> None:
        """Read the blocks since the last time; what partners open is theirs before its block is read."""
        life, model = self.life, self.life.model
        for channel in model.channels[self._channels :]:
            if channel.owner in PARTNERS:
                self._opened(channel)
        self._channels = len(model.channels)
        new = life.history[self._read :]
        self._read = len(life.history)
        for books in (self._books, self._own):
            if new:
                books.write(new, {})
        for block in new:
            self.index.receive(*entries_of(block))

    def _opened(self, channel: Channel) -> None:
        partner = Partner(channel.owner, 10)
        reserved = access.reserve(self.database, partner, 0)
        assert isinstance(reserved, Reservation)
        access.settle(self.database, reserved, ChannelId(channel.chain, channel.number, channel.block), 0)

    # Comparing

    def agree_on_changes(self, *, in_all_rooms: bool) -> None:
        """Check that each room says what the model says, of all that may have changed since the last time.

        Reports, statements, day totals, page, books of one account and balances are read whole: all of them,
        or one each second time. What follows from channels, deposits and swaps is read if one has changed.
        """
        self.follow()
        self._statuses(self.life.model.touched())
        self._changes_of_states()
        rooms = self._whole_rooms()
        self._looks += 1
        turn, parity = divmod(self._looks + self.life.seed, 2)
        has_changed = self.life.model.changes != self._changes_seen
        self._changes_seen = self.life.model.changes
        if not in_all_rooms:
            rooms = [rooms[turn % len(rooms)]] * parity
        elif not has_changed:
            rooms = [self._check_balances]
        for room in rooms:
            room()

    def agree(self) -> None:
        """Check that each room says what the model says; the books have the chain's balances to the unit."""
        self.follow()
        self._statuses(self.life.model.everything())
        with self._records() as records:
            for reference in ("999999", "1-Ethereum-1", "999999-Ethereum-1", "0x" + "ab" * 32):
                assert [_status(record, reference) for record in records] == [None, None]
        self._changes_of_states()
        self._webhooks()
        for room in self._whole_rooms():
            room()
        self._list_by_state()

    def _whole_rooms(self) -> list[Callable[[], None]]:
        return [self._reports, self._statements, self._totals, self._page, self._own_books,
                self._check_balances]  # fmt: skip

    def _check_balances(self) -> None:
        trio.run(self._balances)

    async def _balances(self) -> None:
        for books in (self._books, self._own):
            assert rows(books.database, "unread") == []
            outcome = await compare(_Reader(self.life.world), books)
            assert outcome is not None
            assert outcome.differences == (), outcome.differences

    def recompute(self) -> None:
        """Check that the books follow from their events."""
        for books in (self._books, self._own):
            assert recomputed(books.database) == []

    @contextmanager
    def _records(self) -> Iterator[list[SwapRecord]]:
        """Return the records of a development node and of a service over the books."""
        dev = development_record(self.life.world, self.index)
        with self.database.reading() as connection:
            records: list[Any] = [_Looked(dev), _Looked(SwapEvents(connection))]
            yield records

    def _statuses(self, facts: Facts) -> None:
        """Check statuses by channel, swap and transaction, and what partners see of them."""
        with self._records() as (dev, books):
            for channel in facts.channels:
                self._channel_status(channel, [dev, books])
            for swap in facts.swaps:
                self._swap_status(swap, [dev, books])
            for deposit in facts.deposits:
                self._transaction_status(deposit, [dev, books])

    def _channel_status(self, channel: Channel, records: list[SwapRecord]) -> None:
        answers = [_status(record, channel.text) for record in records]
        assert answers[0] == answers[1], (channel.text, answers)
        document = answers[1]
        if not channel.is_for_swaps:
            assert document is None, (channel, document)
            return
        assert document is not None, channel
        assert document["depositChannel"]["id"] == channel.text
        assert document["depositChannel"]["depositAddress"] == address_to_text(channel.address)
        is_expired = self.life.model.heights.get(channel.chain, 0) > channel.expires_at
        assert document["depositChannel"]["isExpired"] == is_expired, (channel, document)
        deposit = channel.latest
        if deposit is None:
            assert document["state"] == "WAITING", (channel, document)
            assert "deposit" not in document, document
            assert "swapId" not in document, document
        else:
            self._deposit_document(deposit, document)
        self._partners(records, channel.text, channel, document)

    def _swap_status(self, swap: Swap, records: list[SwapRecord]) -> None:
        answers = [_status(record, str(swap.number)) for record in records]
        assert answers[0] == answers[1], (swap.number, answers)
        if swap.deposit is None:
            assert answers[1] is None, (swap, answers)
        else:
            assert answers[1] is not None, swap
            self._deposit_document(swap.deposit, answers[1])
        self._partners(records, str(swap.number), swap.channel, answers[1])

    def _transaction_status(self, deposit: Deposit, records: list[SwapRecord]) -> None:
        chain = _chain_of(deposit)
        if chain in ("Solana", "Assethub"):
            return  # its deposits have no hash of a transaction
        hashed = deposit.transaction[::-1] if chain == "Bitcoin" else deposit.transaction
        reference = hashed.hex() if chain == "Bitcoin" else f"0x{hashed.hex()}"
        answers = [_status(record, reference) for record in records]
        assert answers[0] == answers[1], (reference, answers)
        if deposit.place is None or deposit.fate == "liquidity" or _is_no_swap(deposit):
            assert answers[1] is None, (deposit, answers[1])
        else:
            assert answers[1] is not None, deposit
            self._deposit_document(deposit, answers[1])
        self._partners(records, reference, deposit.channel, answers[1])

    def _deposit_document(self, deposit: Deposit, document: dict[str, Any]) -> None:
        """Check that a document is of this deposit, and says how far its swap is."""
        about = (deposit, document)
        if deposit.channel is None:
            assert "depositChannel" not in document, about
        else:
            assert document["depositChannel"]["id"] == deposit.channel.text, about
        if deposit.channel is not None:
            assert document["deposit"]["amount"] == str(deposit.amount), about
        if deposit.fate == "rejected":
            assert document["state"] == "FAILED", about
            assert "swapId" not in document, about
            return
        swap = deposit.swap
        assert swap is not None, about
        assert document["swapId"] == str(swap.number), about
        assert document["state"] in V2[swap.state], (swap, document)
        assert flat_status(document)["state"] in V1[document["state"]], about
        for member, side in (("swapEgress", "output"), ("refundEgress", "refund")):
            wanted = sum(payout.amount for payout in swap.payouts if payout.side == side)
            assert int(document.get(member, {}).get("amount", 0)) == wanted, (side, swap, document)

    def _partners(
        self,
        records: list[SwapRecord],
        reference: str,
        channel: Channel | None,
        document: dict[str, Any] | None,
    ) -> None:
        """Check that a partner reads what is its own, and nothing else."""
        for name in PARTNERS:
            try:
                answer = own_swap(records[1], self.database, name, reference)
            except Problem:
                answer = None
            is_own = document is not None and channel is not None and channel.owner == name
            assert (answer is not None) == is_own, (reference, name, channel, document)
            if answer is not None and document is not None:
                assert (answer.state, answer.deposit_channel.id) == (
                    document["state"],
                    document["depositChannel"]["id"],
                )

    def _changes_of_states(self) -> None:
        """Check that each change of a swap's state is noted with its block, once, and nothing else is."""
        table = changes.c
        with self.database.reading() as connection:
            new = connection.execute(select(changes).where(table.id > self._news).order_by(table.id)).all()
        self._news = max([self._news, *(change.id for change in new)])
        bodies = [(change, json.loads(change.body)) for change in new]
        noted = [(change.block, change.request, body["previous"], change.state)
                 for change, body in bodies
                 if change.type == "swap.state" and body["swap"]["kind"].startswith("Regular")]  # fmt: skip
        wanted, self.life.model.news = self.life.model.news, []
        assert noted == wanted, (noted, wanted)

    def _webhooks(self) -> None:
        """Check that each swap's last message has its state; those of an account are its own."""
        last, about = {}, {}
        for row in rows(self.database, "changes"):
            body = json.loads(row["body"])
            if row["type"] == "swap.state" and body["swap"]["kind"].startswith("Regular"):
                last[body["request"]], about[body["request"]] = body, row["id"]
        swaps = self.life.model.swaps
        assert {number: body["state"] for number, body in last.items()} == {
            number: swap.state for number, swap in swaps.items()
        }
        for number, body in last.items():
            channel = swaps[number].channel
            assert body["swap"]["channel_id"] == (None if channel is None else channel.text), body
            assert body["status"] in V2[body["state"]]
        hooks = {row["id"]: row["account"] for row in rows(self.database, "webhooks")}
        requests = {
            row["id"]: row["request"] for row in rows(self.database, "changes") if row["type"] == "swap.state"
        }
        sent: dict[str | None, set[int]] = {account: set() for account in hooks.values()}
        for row in rows(self.database, "deliveries"):
            if row["change"] in requests:
                sent[hooks[row["webhook"]]].add(requests[row["change"]])
        others = {swap.number for swap in swaps.values() if swap.account == OTHER.account}
        assert sent[ss58.encode(OTHER.account)] == others
        assert set(swaps) <= sent[None]

    def _reports(self) -> None:
        swaps = self.life.model.swaps
        reported = {row["request"]: row for row in report(self.database, "swaps", Period())}
        reported = {number: row for number, row in reported.items() if row["kind"].startswith("Regular")}
        assert set(reported) == set(swaps)
        for number, swap in swaps.items():
            record, channel = reported[number], swap.channel
            facts = {
                "state": swap.state,
                "input": swap.amount,
                "output": sum(output for _, _, output in swap.chunks),
                "paid": swap.paid("output"),
                "refunded": swap.paid("refund"),
                "channel_id": None if channel is None else channel.text,
                "account": None if swap.account is None else ss58.encode(swap.account),
                "broker_fee": swap.earned,
            }
            assert {name: record[name] for name in facts} == facts, swap
        payouts = [row for row in report(self.database, "payouts", Period()) if row["request"] in swaps]
        assert sorted(
            (payout["request"], payout["kind"], payout["amount"], payout["state"]) for payout in payouts
        ) == (
            sorted(
                (swap.number, "swap" if payout.side == "output" else "refund", payout.amount, payout.state)
                for swap in swaps.values()
                for payout in swap.payouts
            )
        )
        channels = {row["channel_id"]: row for row in report(self.database, "channels", Period())}
        assert set(channels) == {channel.text for channel in self.life.model.channels}
        for channel in self.life.model.channels:
            record = channels[channel.text]
            assert record["account"] == ss58.encode(channel.account), record
            counted = [deposit for deposit in channel.deposits if deposit.fate in ("swap", "liquidity")]
            assert record["deposits"] == len(counted), (record, channel)

    def _statements(self) -> None:
        """Check that partners' lines are those of their own swaps, and that each line has an owner."""
        for partner in (*PARTNERS, None):
            own = [
                swap
                for swap in self.life.model.swaps.values()
                if partner is None or (swap.channel is not None and swap.channel.owner == partner)
            ]
            numbers = {swap.number for swap in own}
            lines = list(LedgerStatement(self.database, LONG, partner=partner).lines())
            users = set(self.life.model.swaps)
            chunks = Counter(
                (line.swap, line.amount, line.to_amount)
                for line in lines
                if line.line == "swap" and (line.request in users or partner is not None)
            )
            assert chunks == Counter(chunk for swap in own for chunk in swap.chunks), partner
            payouts = Counter(
                (line.request, line.amount)
                for line in lines
                if line.line == "payout" and line.request is not None
            )
            assert payouts == Counter((swap.number, part.amount) for swap in own for part in swap.payouts)
            earned = sum(line.amount or 0 for line in lines if line.line == "commission")
            assert earned == sum(swap.earned for swap in own), partner
            if partner is not None:
                ingress = {line.request for line in lines if line.kind == "ingress"}
                assert ingress - {None} <= numbers, partner

    def _totals(self) -> None:
        while add_totals(self.database):
            pass
        with self.database.reading() as connection:
            totals = totals_of(connection, 0, 2**31 - 1)
        swaps = self.life.model.swaps.values()
        earned, counts = Counter[str](), Counter[tuple[str, str]]()
        for swap in swaps:
            owner = None if swap.channel is None else swap.channel.owner
            account = "" if swap.account is None else ss58.encode(swap.account)
            if owner in PARTNERS:
                earned[owner or ""] += swap.earned
                counts["partner", owner or ""] += len(swap.chunks)
            else:
                counts["broker", account] += len(swap.chunks)
        amounts, seen_counts = Counter[str](), Counter[tuple[str, str]]()
        for total in totals:
            if total.measure == "earned_with":
                amounts[total.name] += total.amount
            elif total.measure in ("partner", "broker"):
                seen_counts[total.measure, total.name] += total.count
        assert +amounts == +earned
        assert +seen_counts == +counts

    def _page(self) -> None:
        swaps = self.life.model.swaps
        with self.database.reading() as connection:
            recent = recent_swaps(connection, 200)
            channels = open_channels(connection, 200)
            failed = failed_payouts(connection, 200)
        for now in recent:
            swap = swaps[now.request]
            owner = swap.channel.owner if swap.channel is not None else None
            assert now.state == swap.state, (now, swap)
            assert now.partner == (owner if owner in PARTNERS else None), now
            assert now.executed == len(swap.chunks), now
        assert {row.request for row in recent} == set(swaps)
        known = {channel.text: channel for channel in self.life.model.channels}
        for row in channels:
            channel = known[f"{row.block}-{row.chain}-{row.channel}"]
            assert row.account == ss58.encode(channel.account)
            assert row.partner == (channel.owner if channel.owner in PARTNERS else None), channel
            assert row.deposits == sum(
                deposit.fate in ("swap", "liquidity") for deposit in channel.deposits
            ), channel
        payouts = [(swap, payout) for swap in swaps.values() for payout in swap.payouts]
        calls = {
            (payout.asset, payout.amount, payout.call or payout.broadcast, swap.number)
            for swap, payout in payouts
            if (
                swap.channel is not None
                if payout.call is not None
                else payout.state in ("aborted", "expired")
            )
        }
        of_swaps = [failure for failure in failed if failure.request is not None]
        assert {(payout.asset, payout.amount, payout.call, payout.request) for payout in of_swaps} == calls
        sent_back = {
            address_text(channel.refund)
            for channel in self.life.model.channels
            if channel.refund is not None and any(deposit.fate == "rejected" for deposit in channel.deposits)
        }
        sent_back |= {address_text(address) for address in self.life.model.withdrawn_to}
        assert {failure.destination for failure in failed if failure.request is None} <= sent_back

    def _list_by_state(self) -> None:
        """Check the page's list of the swaps in each state that occurs, and in another one."""
        swaps = self.life.model.swaps
        wanted: dict[str, set[int]] = {REQUEST_STATES[self.life.seed % len(REQUEST_STATES)]: set()}
        for number, swap in swaps.items():
            wanted.setdefault(swap.state, set()).add(number)
        with self.database.reading() as connection:
            for state, numbers in wanted.items():
                page = swap_page(connection, SwapFilter(state=JourneyState(state)), limit=200)
                assert {swap.request for swap in page.swaps} & set(swaps) == numbers, state

    def _own_books(self) -> None:
        """Check that books of one account have its facts, and no one else's."""
        own = ss58.encode(self.chosen)
        for table in ("movements", "holdings"):
            assert _of(self.private, table, own) == _of(self.database, table, own), table
            assert {row["account"] for row in rows(self.private, table)} <= {own}, table
        for table in ("deposits", "payouts", "requests", "channels"):
            wanted, actual = _of(self.database, table, own), rows(self.private, table)
            actual = [row for row in actual if row.get("kind") != "other"]
            assert actual == wanted, (table, [row for row in actual if row not in wanted])


class _Reader(ChainReader):
    """Reads the newest block of a world in this process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.client: Any = self
        self.origin = "the world"

    async def metadata_at(self, number: int, block: str) -> Metadata:
        return self._world.metadata

    async def storage(self, number: int, block: str, keys: Sequence[bytes]) -> list[bytes | None]:
        assert number == self._world.header.number
        return [self._world.state.get(key) for key in keys]

    async def keys(self, number: int, block: str, prefix: bytes, most: int) -> list[bytes]:
        assert number == self._world.header.number
        state = self._world.state
        keys = [] if state.get(prefix) is None else [prefix]
        key = state.next_key(prefix)
        while key is not None and key.startswith(prefix):
            keys.append(key)
            key = state.next_key(key)
        return keys

    async def batch(self, calls: Sequence[MethodCall]) -> list[Any]:
        """Answer without `cf_account_info`: what brokers have earned is compared as their balance."""
        return [CallError(method, -32601, "Method not found") for method, _ in calls]


@dataclass(frozen=True, slots=True)
class _Best:
    """Values that a development node's record reads of its node and its chain."""

    world: World
    swaps: SwapIndex
    announced: Mapping[Any, Any]

    @property
    def chain(self) -> _Best:
        return self

    @contextmanager
    def state(self, block: bytes) -> Iterator[MemoryState]:
        assert block == self.world.header.hash
        yield self.world.state


class _Looked:
    """A record in which each key is looked up once: it does not change meanwhile."""

    def __init__(self, record: SwapRecord) -> None:
        self._record = record
        self._found: dict[Any, list[Entry]] = {}

    def find(self, *key: Any) -> list[Entry]:
        """Return the events with a key."""
        if key not in self._found:
            self._found[key] = self._record.find(*key)
        return self._found[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._record, name)


def _is_no_swap(deposit: Deposit) -> bool:
    """Return whether it is a rejected deposit of a provider's channel or of a vault: it has no status."""
    return deposit.fate == "rejected" and (deposit.channel is None or not deposit.channel.is_for_swaps)


def _chain_of(deposit: Deposit) -> str:
    return "Ethereum" if deposit.channel is None else deposit.channel.chain


def _of(database: Database, table: str, account: str) -> list[dict[str, Any]]:
    return [row for row in rows(database, table) if row["account"] == account]


def _status(record: SwapRecord, reference: str) -> dict[str, Any] | None:
    try:
        return status(record, reference)
    except RequestRefusal as refusal:
        assert refusal.status == 404, refusal
        return None


def development_record(world: World, index: SwapIndex) -> SwapRecord:
    """Return the record of a development node's swap service, at the best block of a world."""
    best: Any = _Best(world, index, {})
    record: SwapRecord = _IndexedSwaps(best, world.header.hash, world.metadata, best, {})
    return record


def entries_of(block: DecodedBlock) -> tuple[BlockRef, list[Entry]]:
    """Return a block and its events, as the index of a development node receives them."""
    ref = BlockRef(bytes.fromhex(block.hash[2:]), block.number)
    return ref, [
        Entry(ref, block.time, event.index, event.pallet, event.name, event.fields)
        for event in block.events
        if isinstance(event.fields, dict)  # of an event without fields it is empty
    ]


@cache
def new_books(beginning: Beginning, account: bytes | None = None) -> bytes:
    """Return books of all accounts or of one, begun with the newest block; with partners and webhooks."""
    world, anchor = beginning.world, beginning.history[-1]
    head, genesis = Head(anchor.number, anchor.hash), f"0x{world.genesis_hash.hex()}"
    tracked = None if account is None else [account]
    balances = trio.run(chain_balances, _Reader(world), head, tracked)
    with TemporaryDirectory(prefix="cfnode-books-") as folder:
        database = Database(sqlite_url(Path(folder) / "books.sqlite"))
        database.migrate()
        accounts = ALL_ACCOUNTS if account is None else ss58.encode(account)
        Books(database).begin(genesis, "Development", accounts, anchor, balances)
        if account is None:
            for name in PARTNERS:
                registry.add(database, Partner(name, 10))
            for owner in (None, ss58.encode(OTHER.account)):
                add(database, "http://127.0.0.1:9/", owner)
        database.close()
        return database.path.read_bytes()


def _copied(path: Path, content: bytes) -> Database:
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return Database(sqlite_url(path))
