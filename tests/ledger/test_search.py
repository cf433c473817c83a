"""A swap or a channel is found by each of its names, in any spelling, by an index, and by nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import base58
import pytest
from alembic import command
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, insert, text

from cfnode.ledger import schema
from cfnode.ledger import search as search_module
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, _alembic, sqlite_url
from cfnode.ledger.reports import Period, report
from cfnode.ledger.search import MAX_TERM_CHARACTERS, SearchResult, search_books
from cfnode.ledger.service_tables import partner_channels, partner_requests
from cfnode.swaps.addresses import stored_texts
from cfnode.swaps.checksums import checksum_address
from cfnode.swaps.events import transaction_text, transaction_texts
from cfnode.swaps.identity import ChannelId
from tests.documentation import block
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS, Day
from tests.support.cli.commands import run
from tests.support.ledger.blocks import GENESIS
from tests.support.ledger.blocks import block as made
from tests.support.ledger.reused import BLOCKS, ETHER


def search(database: Database, term: str) -> SearchResult:
    """Return the matches of a term."""
    with database.reading() as connection:
        return search_books(connection, term)


def swaps(database: Database, term: str) -> set[int]:
    """Return the numbers of the swaps that a term finds."""
    return {swap.request for swap in search(database, term).swaps}


async def test_every_name_of_every_swap_finds_it(day: Day, make_database: MakeDatabase) -> None:
    """Find a swap by its number, addresses, deposit and payout, in each spelling."""
    database = await books_of_day(day, make_database)
    for row in rows(database, "requests"):
        assert [swap.request for swap in search(database, str(row["request"])).swaps] == [row["request"]]
        for address in {row["destination"], row["refund_address"]} - {None}:
            for spelling in (address, address.upper().replace("0X", "0x"), f" {address}\n"):
                assert row["request"] in swaps(database, spelling), spelling
    for row in rows(database, "deposits"):
        if row["request"] is not None:
            digits = row["transaction"].removeprefix("0x")
            for spelling in (digits, digits.upper(), f"0x{digits}", f"0X{digits}"):
                assert row["request"] in swaps(database, spelling), spelling
    own = {row["request"] for row in rows(database, "requests")}
    for row in report(database, "payouts", Period()):
        if row["transaction"] is not None and row["request"] in own:
            assert row["request"] in swaps(database, row["transaction"])
    chunk = rows(database, "swaps")[-1]
    assert chunk["swap"] not in own
    assert swaps(database, str(chunk["swap"])) == {chunk["request"]}


async def test_every_name_of_every_channel_finds_it(day: Day, make_database: MakeDatabase) -> None:
    """Find a channel by id and address in each spelling, and not by another block's id."""
    database = await books_of_day(day, make_database)
    for row in rows(database, "channels"):
        channel = ChannelId(row["chain"], row["channel"], row["block"])
        spellings = [str(channel), str(channel).lower(), row["address"]]
        if row["chain"] == "Ethereum":
            account = bytes.fromhex(row["address"][2:])
            spellings += [checksum_address(account), account.hex(), row["address"].upper()]
        else:
            spellings.append(row["address"].upper())
        for spelling in spellings:
            assert [channel.id for channel in search(database, spelling).channels] == [channel], spelling
            assert search(database, spelling).count == 1
        wrong = ChannelId(row["chain"], row["channel"], row["block"] + 1)
        assert search(database, str(wrong)).count == 0


async def test_an_account_and_what_is_not_there(day: Day, make_database: MakeDatabase) -> None:
    """Find an account; find nothing, without a fault, for absent names, and name malformed ones."""
    database = await books_of_day(day, make_database)
    assert search(database, day.broker).account == day.broker
    for term in ("0", "999999999999999999", "9" * 40, "0x" + "12" * 32, "x", "' OR 1=1 --", "%", "_" * 42):
        assert search(database, term) == SearchResult(), term
    for term in ("", "   ", "a\0b", "a\nb", "x" * (MAX_TERM_CHARACTERS + 1), "1-Moon-1"):
        assert search(database, term).fault, term
        assert search(database, term).count == 0
    assert "Unknown chain 'Moon'" in search(database, "1-Moon-1").fault
    assert search(database, "9999999999-Ethereum-99999999999999999999").count == 0


def test_a_deposit_without_a_swap_is_found_by_its_transaction(make_database: MakeDatabase) -> None:
    """Find a rejected deposit by its transaction, with the reason."""
    database = make_database()
    database.migrate()
    block = {"number": 1, "hash": "0x1", "parent": "0x0", "time": 7, "spec_version": 1, "events": 9}
    row = {"block": 1, "event": 2, "state": "failed", "chain": "Ethereum", "asset": "Eth", "amount": 5,
           "ingress_fee": 0, "boost_fee": 0, "action": "None", "reason": "BelowMinimumDeposit",
           "origin": "Vault", "transaction": "0x" + "ab" * 32}  # fmt: skip
    with database.writing() as connection:
        connection.execute(insert(schema.blocks), block)
        connection.execute(insert(schema.deposits), row)
    (deposit,) = search(database, "AB" * 32).deposits
    assert (deposit.time, deposit.amount, deposit.reason) == (7, 5, "BelowMinimumDeposit")
    assert search(database, "AB" * 32).count == 1


async def test_a_key_that_two_partners_share_finds_both_channels(make_database: MakeDatabase) -> None:
    """Find the channels and requests of all partners that used one key, with regard to case."""
    database = make_database()
    database.migrate()
    _write_requests(database)
    both = search(database, "order-7")
    assert [(channel.id, channel.partner) for channel in both.channels] == [
        (ChannelId("Ethereum", 2, 1), "two"),
        (ChannelId("Ethereum", 1, 1), "one"),
    ]
    assert [(request.partner, request.state) for request in both.requests] == [("three", "sending")]
    assert search(database, "Order-7").count == 0


async def test_a_reference_finds_the_channel_when_its_request_is_forgotten(
    make_database: MakeDatabase,
) -> None:
    """Requests are deleted after a week, and the references of their channels stay."""
    database = make_database()
    database.migrate()
    _write_requests(database)
    with database.writing() as connection:
        connection.execute(delete(partner_requests))
    found = search(database, "order-7")
    assert ([channel.partner for channel in found.channels], found.requests) == (["two", "one"], [])


def test_the_command_prints_what_a_term_finds(tmp_path: Path) -> None:
    """As tables and as JSON; its exit code says whether there is a match."""
    url = sqlite_url(tmp_path / "books.sqlite")
    database = Database(url)
    database.migrate()
    _write_requests(database)
    (line,) = block("docs/guide/ledger.md", "cfnode ledger find").splitlines()
    words = (*line.replace("order-4711", "order-7").split()[1:], "--database", url)
    code, text, err = run(*words)
    assert (code, err) == (0, "")
    assert "1-Ethereum-2" in text
    assert "request of three: sending" in text
    document = json.loads(run(*words, "--json")[1])
    assert [channel["channel"] for channel in document["channels"]] == ["1-Ethereum-2", "1-Ethereum-1"]
    code, text, err = run("ledger", "find", "unheard-of", "--database", url)
    assert (code, text, "the books have no match for 'unheard-of'" in err) == (1, "", True)
    code, _, err = run("ledger", "find", "x" * 10_000, "--database", url)
    assert (code, "at most 200 characters" in err) == (2, True)


def test_the_command_prints_swaps_in_whole_units(tmp_path: Path) -> None:
    """JSON has the smallest ones."""
    url = sqlite_url(tmp_path / "books.sqlite")
    database = Database(url)
    database.migrate()
    Books(database).begin(GENESIS, "Development", "all", made(0, []), {})
    Books(database).write([made(number, events) for number, events in enumerate(BLOCKS, 1)], {})
    code, text, _ = run("ledger", "find", "4", "--database", url)
    header, line = text.splitlines()
    assert (code, header.split()[:3]) == (0, ["request", "time", "state"])
    assert line.split()[0] == "4"
    assert "swapping" in line
    assert " 4 " in line
    (swap,) = json.loads(run("ledger", "find", "4", "--database", url, "--json")[1])["swaps"]
    assert (swap["input"], swap["source"], swap["state"]) == (str(4 * ETHER), "Eth", "swapping")


def test_channels_of_older_books_get_their_references(make_database: MakeDatabase) -> None:
    """They are those of the requests that are not deleted yet."""
    database, config = make_database(), _alembic()
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0013_strangers_swaps")
        for name in ("kept", "old"):
            values = {"id": name, "partner": "one", "month": "2026-11", "state": "opened", "cost": 1, "at": 1}
            connection.execute(insert(partner_channels), values)
        request = {"partner": "one", "key": "order-7", "digest": "", "state": "opened", "owner": "x"}
        connection.execute(insert(partner_requests), request | {"beats": 0, "reservation": "kept", "at": 1})
    database.migrate()
    references = {row["id"]: row["reference"] for row in rows(database, "partner_channels")}
    assert references == {"kept": "order-7", "old": None}


def _write_requests(database: Database) -> None:
    block = {"number": 1, "hash": "0x1", "parent": "0x0", "time": 1, "spec_version": 1, "events": 9}
    with database.writing() as connection:
        connection.execute(insert(schema.blocks), block)
        for number, (partner, state) in enumerate(
            [("one", "opened"), ("two", "opened"), ("three", "sending")], 1
        ):
            is_open = state == "opened"
            channel = {"chain": "Ethereum", "channel": number, "opened": 1} if is_open else {}
            shared = {"id": partner, "partner": partner, "month": "2026-11", "cost": 1, "at": 1,
                      "reference": "order-7"}  # fmt: skip
            connection.execute(
                insert(partner_channels), {**shared, **channel, "state": state if is_open else "reserved"}
            )
            request = {"partner": partner, "key": "order-7", "digest": "", "state": state, "owner": "x"}
            connection.execute(
                insert(partner_requests), request | {"beats": 0, "reservation": partner, "at": 1}
            )
            opened = {"block": 1, "event": number, "kind": "swap", "chain": "Ethereum", "channel": number}
            connection.execute(insert(schema.channels), opened | {"account": "a", "has_message": False})


async def test_matches_are_bounded_and_the_newest(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Return the two newest of many matches, and say that there are more."""
    database = await books_of_day(day, make_database)
    every = [swap.request for swap in search(database, BTC_ADDRESS).swaps]
    assert len(every) > 3
    monkeypatch.setattr(search_module, "MAX_MATCHES", 2)
    few = search(database, BTC_ADDRESS)
    assert ([swap.request for swap in few.swaps], few.is_cut) == (every[:2], True)


@pytest.mark.parametrize(
    ("table", "column"),
    [("channels", "address"), ("channels", "destination"), ("requests", "destination"),
     ("requests", "refund_address"), ("deposits", "transaction"), ("outcomes", "transaction"),
     ("requests", "request"), ("swaps", "swap"), ("partner_requests", "key"),
     ("partner_channels", "reference")],
)  # fmt: skip
def test_each_search_has_its_index(make_database: MakeDatabase, table: str, column: str) -> None:
    """Read each searched column by its index, in the order of its page."""
    database = make_database()
    database.migrate()
    is_ordered = column in ("destination", "refund_address")
    order = "ORDER BY block DESC, event DESC LIMIT 51" if is_ordered else ""
    query = f"""SELECT * FROM {table} WHERE "{column}" = '1' {order}"""
    with database.reading() as connection:
        if database.is_sqlite:
            plan = str(connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all())
            assert "TEMP B-TREE" not in plan
        else:
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            plan = str(connection.execute(text(f"EXPLAIN {query}")).all())
    assert f"{table}_by_{column}" in plan


def test_an_address_is_known_by_all_its_spellings() -> None:
    """Derive the stored text of an address from each of its spellings, for each kind of chain."""
    account = bytes(range(20))
    known = f"0x{account.hex()}"
    for spelling in (known, account.hex(), known.upper(), checksum_address(account)):
        assert known in stored_texts(spelling)
    assert stored_texts(BTC_ADDRESS.upper()) >= {BTC_ADDRESS}
    solana = base58.b58encode(bytes(range(32))).decode()
    assert solana in stored_texts(solana)
    assert solana in stored_texts(bytes(range(32)).hex())
    tron = base58.b58encode_check(b"\x41" + account).decode()
    assert tron in stored_texts(tron)
    assert tron in stored_texts("41" + account.hex())
    assert EVM_ADDRESS in stored_texts(EVM_ADDRESS[:-2] + "66")


@given(data=st.binary(min_size=32, max_size=32))
def test_a_transaction_is_known_by_all_its_spellings(data: bytes) -> None:
    """Derive the stored text of a transaction from each of its spellings."""
    for chain in ("Ethereum", "Bitcoin", "Tron"):
        stored = transaction_text(chain, data)
        for spelling in (data.hex(), f"0x{data.hex()}", data.hex().upper(), stored or ""):
            assert stored in transaction_texts(spelling)
    assert transaction_text("Solana", data) in transaction_texts(transaction_text("Solana", data) or "")


@given(term=st.text(max_size=300))
def test_no_text_is_a_fault_of_the_program(term: str) -> None:
    """Derive a bounded number of characters from any text, without an error."""
    assert all(
        len(stored_text) <= 2 * len(term) + 60 for stored_text in stored_texts(term) | transaction_texts(term)
    )
