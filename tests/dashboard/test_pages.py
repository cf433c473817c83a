"""What is on the pages: the figures of the books, what others wrote escaped, and faults in clear words."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from sqlalchemy import insert, select, update

from cfnode.core.chain_time import duration_text
from cfnode.dashboard.charts import MAX_SERIES, stacked
from cfnode.dashboard.figures import figures
from cfnode.dashboard.formats import about, asset_name, change, coins, dollars, exact, percent, place, short
from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import DayTotal, totals_of
from cfnode.ledger.open_channels import open_channels
from cfnode.ledger.partners.registry import Partner, add
from cfnode.swaps.checksums import checksum_text
from tests.dashboard.visiting import GONE, OfficialNode, visitor
from tests.ledger.day import EVM_ADDRESS, Day
from tests.support.dashboard.pages import HOSTILE, plain, text_of


async def test_the_first_page_has_the_swaps_and_todays_figures(books: Database, day: Day) -> None:
    """Put the day's volume, failed payouts, refunds and the newest block of the books on the front page."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/")
        assert "Swapped today $2" in text
        assert "Failed payouts 1 to recover" in text
        assert "Payout failed" in text
        assert "Refunded" in text
        assert f"Books {day.head}" in text


async def test_each_page_of_a_development_chain_says_what_time_it_is_there(books: Database) -> None:
    """Print the chain's time and how far it is behind on a development chain, and only there."""
    year_back = (1_700_000_000_000).to_bytes(8, "little").hex()
    node = OfficialNode(system_chainType="Development", state_getStorage=f"0x{year_back}")
    with visitor(books, node) as (page, guest):
        await page._context.watch.ask()
        await guest.log_in()
        assert re.search(
            r"chain time 2023-11-14 22:13:20 UTC, \d+ d( \d+ h)? behind", await text_of(guest, "/")
        )
    with visitor(books) as (page, guest):
        await page._context.watch.ask()
        await guest.log_in()
        assert "behind the clock" not in await text_of(guest, "/")


async def test_the_figures_are_those_of_the_totals(books: Database) -> None:
    """Print count, amount and dollars of each volume as the totals have them, and refuse odd periods."""
    with books.reading() as connection:
        volumes = [total for total in totals_of(connection, 0, 2**31 - 1) if total.measure == "volume"]
    with visitor(books) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/figures?days=7")
        for volume in volumes:
            assert f"{asset_name(volume.asset)} {volume.count} {coins(volume.amount, volume.asset)}" in text
            assert dollars(volume.value) in text
        page = (await guest.get("/figures?days=90")).text
        assert page.count("<svg") == 4
        for path in ("/figures?days=0", "/figures?days=1000000", "/figures?days=x", "/figures?days="):
            assert (await guest.get(path)).status_code == 404


def test_figures_are_compared_with_the_period_before_and_have_each_day() -> None:
    """Days without a swap are rows, too; a figure that was zero before has no change in percent."""
    totals = [
        DayTotal(10, "volume", "", "Eth", 2, 5, 300),
        DayTotal(12, "volume", "", "ArbEth", 1, 5, 900),
        DayTotal(12, "volume", "", "Usdc", 1, 5, 100),
    ]
    view = figures(totals, range(10, 13), [DayTotal(9, "volume", "", "Btc", 1, 1, 1_000)])
    assert [(row.name, row.count) for row in view.by_day] == [
        ("1970-01-13", 2), ("1970-01-12", 0), ("1970-01-11", 2),
    ]  # fmt: skip
    assert (view.total.value, view.before.value, view.before.earned) == (1_300, 1_000, 0)
    assert [(row.name, row.count, row.value) for row in view.by_chain] == [
        ("Arbitrum", 1, 900), ("Ethereum", 3, 400),
    ]  # fmt: skip
    assert [change(*pair) for pair in ((1_300, 1_000), (0, 10), (5, 0), (10**9, 1))] == [
        "+30 %", "-100 %", "", "+99,999,999,900 %",
    ]  # fmt: skip


async def test_a_period_says_what_it_is_compared_with(books: Database) -> None:
    """And nothing of blocks that are being counted, while only a few are."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/figures?days=7")
        assert "nothing in the 7 days before" in text
        assert "not counted yet" not in text


async def test_an_open_channel_has_its_time_left_and_its_code(books: Database) -> None:
    """Print an open channel's address and time left; its short path leads to its page, with a QR code."""
    with books.reading() as connection:
        first = open_channels(connection)[0]
    with visitor(books) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/channels")
        assert first.address in text
        assert f"{duration_text(first.left_ms)} left" in text
        answer = await guest.get(f"/channels/{first.chain}/{first.channel}")
        own = f"/channels/{first.block}-{first.chain}-{first.channel}"
        assert (answer.status_code, answer.headers["location"]) == (303, f"/web{own}")
        assert first.address in await text_of(guest, own)
        code = await guest.get(f"/channels/{first.chain}/{first.channel}/code.svg")
        assert code.headers["content-type"] == "image/svg+xml"
        assert ElementTree.fromstring(code.text).tag.endswith("svg")


@pytest.mark.parametrize(
    "path",
    ["Ethereum/0", "Ethereum/99999", "Ethereum/" + "9" * 18, "Ethereum/" + "9" * 30, "Ethereum/-1", "Moon/1",
     "Ethereum/%00", "Ethereum/1%27"],
)  # fmt: skip
async def test_a_channel_that_is_not_open_is_not_found(books: Database, path: str) -> None:
    """Answer 404 for a channel that is not open, and say that it may have expired."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        for end in ("", "/code.svg"):
            answer = await guest.get(f"/channels/{path}{end}")
            assert answer.status_code == 404
            assert "it may have expired" in answer.text


async def test_a_failed_payout_has_the_command_that_recovers_it(books: Database) -> None:
    """Print the recovery command and its receiver with a failed payout; answer 404 to odd page marks."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/payouts")
        assert re.search(r"cfnode recover --node https://node.example ethereum \d+", text)
        assert checksum_text(EVM_ADDRESS) in text
        assert "Call is ready" in text
        for before in ("1", "1-", "x-1", "9" * 40 + "-1", "1-1-1"):
            assert (await guest.get(f"/payouts?before={before}")).status_code == 404
        assert "No payout has failed." in await text_of(guest, "/payouts?before=1-0")


async def test_on_a_test_net_the_command_names_it(books: Database) -> None:
    """Name the test net in the recovery command, which would look on the main net without it."""
    with visitor(books, OfficialNode(system_chain="Chainflip-Perseverance")) as (page, guest):
        await page._context.watch.ask()
        await guest.log_in()
        text = await text_of(guest, "/payouts")
        assert "cfnode recover --network perseverance --node https://node.example ethereum" in text


async def test_partners_have_their_budget(empty: Database) -> None:
    """Print fee, assets, rate, channels and used budget of a partner in one row."""
    add(empty, Partner("wallet", 25, budget=50 * 10**18, assets=frozenset({"Eth", "Btc"})))
    with visitor(empty) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/partners")
        assert "wallet 0.25 % BTC, ETH on Ethereum 60 0 0 FLIP of 50 FLIP" in text


async def test_health_has_node_and_books(books: Database, day: Day) -> None:
    """Put the node's progress and network, the newest block and the comparison on the health page."""
    with visitor(books) as (page, guest):
        await page._context.watch.ask()
        await guest.log_in()
        text = await text_of(guest, "/health")
        assert "In step" in text
        assert "Chainflip-Berghain" in text
        assert re.search(r"All \d+ figures are equal", text)
        assert f"Newest block {day.head}" in text


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"system_health": GONE}, "no connection to https://node.example yet"),
        ({"system_health": None}, "https://node.example sent a malformed answer"),
        ({"chain_getHeader": {"number": "x"}}, "https://node.example sent a malformed answer"),
        ({"state_getRuntimeVersion": {}}, "https://node.example sent a malformed answer"),
        ({"system_health": {"isSyncing": True}}, "Syncing"),
        ({"system_version": HOSTILE}, HOSTILE),
    ],
)
async def test_a_node_that_is_away_or_says_nonsense_is_named(
    books: Database, answers: dict[str, object], words: str
) -> None:
    """Name a node that is away or malformed on the health page, escape what it says, and serve the rest."""
    with visitor(books, OfficialNode(**answers)) as (page, guest):
        await page._context.watch.ask()
        await guest.log_in()
        answer = await guest.get("/health")
        assert answer.status_code == 200
        assert words in plain(answer.text.replace("&lt;", "‹").replace("&gt;", "›")).replace(
            "‹", "<"
        ).replace("›", ">")
        assert "<script>" not in answer.text
        assert (await guest.get("/")).status_code == 200


async def test_empty_books_have_every_page(empty: Database) -> None:
    """Serve each page over empty books, and say that they are empty."""
    with visitor(empty) as (_, guest):
        await guest.log_in()
        for path in ("/", "/figures", "/channels", "/payouts", "/partners", "/webhooks", "/health"):
            assert (await guest.get(path)).status_code == 200, path
        assert "The books are empty" in await text_of(guest, "/health")


async def test_what_others_wrote_is_escaped(empty: Database) -> None:
    """Addresses, accounts and reasons come from events and the node: anyone may put anything there."""
    _write_hostile_books(empty)
    with visitor(empty) as (_, guest):
        await guest.log_in()
        for path in (
            "/",
            "/figures",
            "/channels",
            "/channels/1-Ethereum-1",
            "/swaps",
            "/swaps/1",
            "/find?term=1",
            "/payouts",
            "/partners",
            "/health",
        ):
            page = (await guest.get(path)).text
            assert "<script>alert" not in page, path
            assert "<img src=x" not in page, path
        assert HOSTILE in unescape((await guest.get("/payouts")).text)
        assert HOSTILE in unescape((await guest.get("/channels")).text)
        assert HOSTILE in unescape((await guest.get("/health")).text)


def _write_hostile_books(database: Database) -> None:
    place = {"block": 1, "event": 0}
    rows = {
        "blocks": {"number": 1, "hash": "0x1", "parent": "0x0", "time": 1_764_000_000_000, "spec_version": 1,
                   "events": 9},
        "channels": place | {"kind": HOSTILE[:12], "chain": "Ethereum", "channel": 1, "account": HOSTILE,
                             "address": HOSTILE, "source": "<b>", "target": "Eth", "destination": HOSTILE,
                             "expiry_block": 10, "has_message": False},
        "requests": place | {"request": 1, "kind": "Regular", "account": HOSTILE, "origin": "x",
                             "chain": "Ethereum", "channel": 1, "source": "<b>", "target": "Eth", "amount": 5,
                             "destination": HOSTILE},
        "swaps": place | {"state": "executed", "request": 1, "swap": 1, "source": "<b>", "target": "Eth",
                          "input": 5, "intermediate": 7, "output": 3},
        "fees": place | {"place": 0, "kind": "<b>", "asset": "<i>", "amount": 3, "account": HOSTILE},
        "failures": place | {"chain": "Ethereum", "asset": "<b>", "amount": 3, "destination": HOSTILE,
                             "broadcast": 4},
        "unread": place | {"pallet": "<b>", "name": HOSTILE, "fields": "{}", "reason": HOSTILE},
        "checks": place | {"place": 0, "account": HOSTILE, "asset": "<b>", "figure": "<i>", "books": 1,
                           "chain": 2, "negative": False},
    }  # fmt: skip
    rows["checks"].pop("event")
    entries = {"network": HOSTILE, "accounts": "all", "genesis": "0x0", "checked": "1 1 1 0",
               "heights": '{"Ethereum": 1}'}  # fmt: skip
    with database.writing() as connection:
        for name, row in rows.items():
            connection.execute(insert(schema.metadata.tables[name]), row)
        for name, value in entries.items():
            connection.execute(insert(schema.ledger), {"name": name, "value": value})


async def test_a_database_that_is_away_is_a_clear_fault() -> None:
    """Answer 503 with the driver's own message when the database cannot be reached."""
    nowhere = Database("postgresql://books@127.0.0.1:9/books")
    with visitor(nowhere) as (_, guest):
        answer = await guest.get("/")
        assert answer.status_code == 503
        assert "postgresql" in answer.text
    nowhere.close()


async def test_a_page_is_made_once_for_a_block_and_again_for_the_next(empty: Database) -> None:
    """Make a page once a block: a change within the block appears with the next one."""
    with visitor(empty) as (page, guest):
        await guest.log_in()
        await guest.get("/payouts")
        _write_hostile_books(empty)
        assert HOSTILE not in unescape((await guest.get("/payouts")).text)
        page._context.pulse.block = 2
        assert HOSTILE in unescape((await guest.get("/payouts")).text)


async def test_a_missing_gap_difference_and_unread_event_are_shown(empty: Database) -> None:
    """Name missing blocks, and a figure that the chain has as a debt, on the health page."""
    _write_hostile_books(empty)
    with empty.writing() as connection:
        connection.execute(insert(schema.gaps), {"first": 5, "last": 7, "found_at": 0})
        connection.execute(update(schema.checks).values(asset="Eth", books=10**18, negative=True))
        assert connection.execute(select(schema.checks.c.books)).scalar() == 10**18
    with visitor(empty) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/health")
        assert "Blocks are missing" in text
        assert "Blocks 5 to 7" in text
        assert "1 of 1 figures differ" in text
        assert "-1 ETH" in text


def test_amounts_times_and_names_are_written_for_people() -> None:
    """Write amounts in whole coins, cut rather than rounded, and times and shares in the largest units."""
    assert exact(123_456_789 * 10**16, "Eth") == "1,234,567.89 ETH"
    assert coins(1_234_567_891_234_567_890, "Eth") == "1.234567 ETH"
    assert coins(1, "Eth") == "< 0.000001 ETH"
    assert coins(0, "Eth") == "0 ETH"
    assert coins(None, "Eth") == ""
    assert coins(12_345_678_912, "Usdc") == "12,345.67 USDC"
    assert exact(5, "<b>") == "5"
    assert (asset_name("Btc"), asset_name("ArbUsdc"), asset_name(None)) == (
        "BTC",
        "USDC on Arbitrum",
        "unknown",
    )
    assert (place("Btc"), place("ArbUsdc")) == ("", "on Arbitrum")
    assert (dollars(1_234_560_000), about(123_456_780_000)) == ("$1,234.56", "$123,456")
    assert [duration_text(duration) for duration in (0, 59_999, 60_000, 3_600_000, 90_000_000, -5)] == [
        "0 s", "59 s", "1 min", "1 h", "1 d 1 h", "0 s",
    ]  # fmt: skip
    assert percent(25) == "0.25 %"
    assert short("0123456789", 5) == "01…89"
    assert short(None) == ""


def test_a_chart_sums_up_small_series_and_has_no_script_or_style() -> None:
    """Sum up the smallest series as "others", and write names into titles of an SVG without any script."""
    series = {f"series {number}": [float(number), 1.0] for number in range(12)} | {HOSTILE: [99.0, 1.0]}
    chart = stacked("Title", ["11-01", "11-02"], series, lambda value: f"${value:.0f}")
    assert len(chart.legend) == MAX_SERIES + 1
    assert chart.legend[0] == HOSTILE
    assert chart.legend[-1] == "others"
    root = ElementTree.fromstring(chart.svg)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "style", "defs", "foreignObject", "desc"}
    assert not any("style" in element.attrib or "onload" in element.attrib for element in root.iter())
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert f"11-01, {HOSTILE}: $99" in titles
    assert len(titles) == 2 * (MAX_SERIES + 1)
