"""The files of a replay, its blocks in time, and wrong strategies: everything that needs no chain."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.aura import SLOT_MS
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.lp import LimitOrder, Market, OpenOrder
from cfnode.sdk.times import read_time, time_text
from cfnode.testing.replay import BadRecords, ReplayError, StrategyError, load_strategy, replay, timeline_of
from cfnode.testing.replay.records import Price, RecordedSwap, read_prices, read_swaps
from cfnode.testing.replay.report import Holding, dollars
from cfnode.testing.replay.strategies import orders_of
from cfnode.testing.replay.timeline import Timeline

NOON = 1_767_614_400_000  # 2026-01-05T12:00:00Z
PRICES = "time,asset,price\n2026-01-05T12:00:00Z,ETH,3000\n"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("2026-01-05T12:00:00Z", NOON),
        ("2026-01-05T13:00:00.250+01:00", NOON + 250),
        ("2026-01-05 12:00", NOON),
        ("2026-01-05", NOON - 43_200_000),
        ("1767614400", NOON),
        ("1767614400.5", NOON + 500),
        ("1767614400000", NOON),
        ("0", 0),
    ],
)
def test_a_time_is_iso_8601_or_unix_time(text: str, milliseconds: int) -> None:
    """Read a time in ISO 8601 or Unix time, and write it back."""
    assert read_time(text) == milliseconds
    assert read_time(time_text(milliseconds)) == milliseconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("yesterday", "is not a time: write 2026-01-01T00:00:00Z, or Unix seconds"),
        ("", "is not a time"),
        ("1e9", "is not a time"),
        ("nan", "is not a time"),
        ("2026-02-30", "is not a time"),
        ("٢٠٢٦", "is not a time"),
        ("9" * 4000, "is not a time"),
        ("-5", "outside the years 1970 to 9999"),
        ("1969-12-31T23:59:59Z", "outside the years 1970 to 9999"),
        ("9999999999999999", "outside the years 1970 to 9999"),
    ],
)
def test_what_is_no_time_is_refused(text: str, reason: str) -> None:
    """Refuse what is no time, or outside of the years that a replay can have."""
    with pytest.raises(ValueError, match=reason):
        read_time(text)


def test_records_are_read_by_time_in_any_order_of_columns(tmp_path: Path) -> None:
    """Read records by time in any order of columns, prices rounded half to even."""
    file = tmp_path / "prices.csv"
    file.write_bytes(
        b"\xef\xbb\xbfprice, time ,asset\r\n0.1234565,1767614406,flip\r\n\r\n"
        b"65000.120000,1767614400,Bitcoin/BTC\r\n"
    )
    assert read_prices(file) == (
        Price(NOON, "Btc", 65_000_120_000, 4),
        Price(NOON + 6_000, "Flip", 123_456, 2),  # half to even
    )
    file.write_text("time,from,to,amount\n2026-01-05T12:00:00Z,ETH,arbitrum.usdc,0.5\n")
    assert read_swaps(file) == (RecordedSwap(NOON, "Eth", "ArbUsdc", 5 * 10**17, 2),)


def test_every_bad_line_is_named(tmp_path: Path) -> None:
    """Name every bad line of a file with its reason."""
    file = tmp_path / "swaps.csv"
    lines = {
        "2026-01-05T12:00:00Z,ETH,USDC,1": None,
        "noon,ETH,USDC,1": "'noon' is not a time",
        "1767614400,ETX,USDC,1": "Unknown asset 'ETX'",
        "1767614400,ETH,USDC": "3 cells, and there are 4 columns",
        "1767614400,ETH,ETH,1": "expected two assets, not ETH twice",
        "1767614400,ETH,USDC,-1": "expected an amount above 0",
        "1767614400,USDC,ETH,0.0000001": "USDC has 6 decimals",
        "1767614400,ETH,USDC,many": "expected a decimal number, not 'many'",
        "1767614400,Polkadot/DOT,USDC,1": "DOT has no pool",
        "1767614400,ETH,USDC," + "1" * 2000: "longer than 1000 characters",
    }
    file.write_text("\n".join(["time,from,to,amount", *lines]))
    with pytest.raises(BadRecords) as refused:
        read_swaps(file)
    error_lines = str(refused.value).splitlines()
    expected = [(number, reason) for number, reason in enumerate(lines.values(), start=2) if reason]
    assert len(error_lines) == len(expected)
    for line, (number, reason) in zip(sorted(error_lines, key=_line_of), expected, strict=True):
        assert line.startswith(f"{file}: line {number}: ")
        assert reason in line


def _line_of(text: str) -> int:
    return int(text.partition(": line ")[2].partition(":")[0])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "line 1: expected the header time,asset,price"),
        (b"\n\ntime,asset\n", "line 3: expected the header time,asset,price"),
        (b"time,asset,price\n", "the file has no records"),
        (b"time,asset,price\n1,ETH,1\n2,ETH,\xff\n", "line 3: not UTF-8"),
        (b"time,asset,price\n1,ETH,0\n", "line 2: '0' is not a price in dollars above 0"),
        (b"time,asset,price\n1,ETH,0.0000001\n", "line 2: expected a price from 0.000001"),
        (b"time,asset,price\n1,ETH,1e15\n", "line 2: expected a price from 0.000001"),
        (b"time,asset,price\n1,ETH,NaN\n", "line 2: 'NaN' is not a price"),
    ],
)
def test_a_file_of_prices_that_is_none_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    """Refuse a malformed file of prices with its line."""
    file = tmp_path / "prices.csv"
    file.write_bytes(content)
    with pytest.raises(BadRecords, match=reason):
        read_prices(file)


def test_the_faults_of_both_files_are_listed_together(tmp_path: Path) -> None:
    """List the faults of both files together, at most fifty of a file."""
    prices, swaps = tmp_path / "prices.csv", tmp_path / "swaps.csv"
    prices.write_text("time,asset,price\nx,ETH,1\n" + "y,ETH,1\n" * 60)
    with pytest.raises(BadRecords) as refused:
        timeline_of(prices, swaps, None, None)
    lines = str(refused.value).splitlines()
    assert (lines[0].endswith("(1767225600)"), lines[50], len(lines)) == (True, "and 11 more", 52)
    assert lines[51] == f"{swaps}: No such file or directory"
    prices.write_text(PRICES)
    swaps.write_text("time,from,to,amount\n1767614406,ETH,BTC,1\n1767614399,ETH,USDC,1\n")
    with pytest.raises(
        BadRecords, match=r"line 2: the file of prices has no price of BTC at or before 2026-"
    ):
        timeline_of(prices, swaps, NOON - 1000, None)


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        (NOON, NOON - 1, "the end 2026-01-05T11:59:59.999Z lies before the start 2026-01-05T12:00:00Z"),
        (1_199_000, NOON, "takes .* blocks, and 1000000 are allowed"),
        (600_000, 700_000, "is too early: a replay begins at 1970-01-01T00:20:00Z or later"),
        pytest.param(
            None, time.time_ns() // 1_000_000 + 86_400_000 * 20, "lies in the future", id="in 20 days"
        ),
    ],
)
def test_bounds_of_a_replay(tmp_path: Path, start: int | None, end: int, reason: str) -> None:
    """Refuse a replay that ends before its start, is too long, too early or in the future."""
    prices = tmp_path / "prices.csv"
    recent = time_text(time.time_ns() // 1_000_000 - 86_400_000)
    prices.write_text(f"time,asset,price\n{recent},ETH,3000\n")
    with pytest.raises(ReplayError, match=reason):
        timeline_of(prices, None, start, end)


@pytest.mark.parametrize(
    ("funds", "reason"),
    [
        ({}, "the account needs funds"),
        ({"SOL": "1"}, "no price of SOL at or before the start, 2026-01-05T12:00:00Z"),
        ({"ETX": "1"}, "Unknown asset 'ETX'"),
        ({"ETH": "0"}, "expected an amount above 0"),
    ],
)
def test_funds_that_no_report_could_value_are_refused(
    tmp_path: Path, funds: dict[str, str], reason: str
) -> None:
    """Refuse funds that no report could value."""
    (tmp_path / "prices.csv").write_text(PRICES)
    with pytest.raises(ReplayError, match=reason):
        replay(lambda market: [], tmp_path / "prices.csv", funds=funds)


TIMES = st.lists(st.integers(NOON - 20_000, NOON + 60_000), max_size=20).map(sorted)


@given(TIMES, TIMES, st.integers(NOON, NOON + 10_000), st.integers(0, 40_000))
def test_each_record_takes_effect_once_and_never_early(
    priced: list[int], swapped: list[int], start: int, length: int
) -> None:
    """Apply each record once and never early."""
    prices = [Price(moment, f"A{line}", 1, line) for line, moment in enumerate(priced)]
    swaps = [RecordedSwap(moment, "Eth", "Usdc", 1, line) for line, moment in enumerate(swapped)]
    timeline = Timeline(prices, swaps, start, start + length)
    steps = list(timeline.steps())
    assert [step.slot for step in steps] == list(timeline.slots)
    sent = [swap for step in steps for swap in step.swaps]
    assert sent == [swap for swap in swaps if start <= swap.time <= start + length]
    known = [name for step in steps for name in step.prices]
    assert known == [price.asset for price in prices if price.time <= start + length]
    for step, before in zip(steps, [None, *steps], strict=False):
        assert all(swap.time <= step.slot * SLOT_MS for swap in step.swaps)
        if before is not None:
            assert all(swap.time > before.slot * SLOT_MS for swap in step.swaps)


def a_market(**prices: str) -> Market:
    """Return a market with one order and these prices."""
    standing = OpenOrder(LimitOrder("ETH", "sell", 1, "2", tick=0), None, {})
    known = {asset: Decimal(price) for asset, price in prices.items()}
    pools = (("Eth", "Usdc"), ("Btc", "Usdc"))
    return Market(7, "0x", NOON, known, {"Eth": 10**18, "Usdc": 5}, (standing,), (), pools)


def test_what_the_account_owns_includes_its_limit_orders() -> None:
    """Count what is in limit orders as the account's, and name the prices that there are."""
    market = a_market(Eth="3000")
    assert (market.owned("eth"), market.owned("USDC"), market.owned("Btc")) == (3, Decimal("0.000005"), 0)
    assert market.price("Ethereum/ETH") == 3000
    with pytest.raises(ValidationError, match="the feed has no price of BTC yet; it has: ETH"):
        market.price("BTC")


async def a_coroutine(market: Market) -> list[LimitOrder]:
    """Return no orders, as a coroutine."""
    return []


def a_generator(market: Market) -> Any:
    """Yield an order, then fail."""
    yield LimitOrder("ETH", "sell", 1, "1", price=market.price("ETH"))
    raise RuntimeError("half way")


SELL = LimitOrder("ETH", "sell", 1, "1", tick=0)


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (lambda market: 1 // 0, r"the strategy failed: ZeroDivisionError: .* \(test_replay_records.py, line"),
        (lambda market: exit(3), "the strategy failed: SystemExit: 3"),
        (lambda market: None, "TypeError: expected a list of orders, not NoneType"),
        (lambda market: "sell", "TypeError: expected a list of orders, not str"),
        (lambda market: ["sell"], "TypeError: expected orders, not str: 'sell'"),
        (lambda market: [SELL] * 1001, "expected at most 1000 orders"),
        (lambda market: [SELL, SELL], "wrong orders: .*1 is given twice for ETH, sell"),
        (lambda market: [LimitOrder("SOL", "sell", 1, "1", tick=0)], "there is no pool of SOL and USDC"),
        (lambda market: [LimitOrder("BTC", "sell", 1, "1", tick=0)], "has no price of BTC yet"),
        (lambda market: [market.price("BTC")], "the feed has no price of BTC yet"),
        (lambda market: time.sleep(60), "the strategy did not return within 0.2 s"),  # it is ended
        (a_coroutine, "expected a list of orders, not coroutine"),
        (a_generator, "RuntimeError: half way"),
    ],
)
def test_a_wrong_strategy_ends_in_words(strategy: Callable[[Market], Any], reason: str) -> None:
    """Explain a wrong strategy with block and reason: a failure, a bad result or no end."""
    with pytest.raises(StrategyError, match=r"block 7 \(2026-01-05T12:00:00Z\): .*" + reason):
        orders_of(strategy, a_market(Eth="3000"), 0.2 if "0.2" in reason else 10)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("maker", "expected MODULE:FUNCTION, such as maker:quotes, not 'maker'"),
        ("absent_module:quotes", "cannot import 'absent_module' from"),
        ("broken_maker:quotes", r"broken_maker cannot be imported: SyntaxError"),
        ("good_maker:absent", "good_maker has no function absent"),
    ],
)
def test_a_strategy_that_cannot_be_found(tmp_path: Path, name: str, reason: str) -> None:
    """Name what is missing of a strategy: module, function or syntax."""
    (tmp_path / "broken_maker.py").write_text("def quotes(market)\n")
    (tmp_path / "good_maker.py").write_text("def quotes(market):\n    return []\n")
    assert load_strategy("good_maker:quotes", tmp_path)(a_market()) == []
    with pytest.raises(StrategyError, match=reason):
        load_strategy(name, tmp_path)


def test_values_are_rounded_down_to_the_microdollar() -> None:
    """Round values down to the micro-dollar."""
    held = Holding("Eth", 10**18, 10**18 - 1, 3_000_000_000, 3_000_000_001)
    assert (held.start_value, held.end_value, held.profit) == (3_000_000_000, 3_000_000_000, -1)
    assert [dollars(amount) for amount in (-1, 0, 1_500_000)] == ["-0.000001", "0.000000", "1.500000"]
