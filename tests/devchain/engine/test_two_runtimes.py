"""The development runtime and the genesis runtime judge each other: the same scenarios on both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.devchain.engine import engine_spec
from tests.support.devchain.two_runtimes import SCENARIOS, Booked, Chain, both

pytestmark = pytest.mark.world

COMMISSION = "a broker's commission"
Pairs = dict[str, tuple[Booked, Booked]]
PAGE = ROOT / "docs" / "design" / "engine.md"
ROW = re.compile(
    r"^\| (?P<scenario>[^|]+) \| (?P<where>development|genesis) \| (?P<events>[^|]+) \| [^|]+ \|$", re.M
)


@pytest.fixture(scope="module")
def chains(berghain_spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[Chain]]:
    """Yield a chain in each runtime, with equal pools."""
    folder = tmp_path_factory.mktemp("both")
    engine_spec(berghain_spec, folder / "mine.json")
    with both(folder / "mine.json", folder) as chains:
        yield chains


@pytest.fixture(scope="module")
def booked(chains: Sequence[Chain]) -> Pairs:
    """Return what the books of both chains say of each scenario.

    The genesis runtime gets what the development runtime swapped: the deposit after its fee.
    """
    dev, real = chains
    pairs = {}
    for name, (scenario, amount) in SCENARIOS.items():
        by_dev = dev.booked(scenario, amount)
        pairs[name] = by_dev, real.booked(scenario, by_dev.amounts["input"])
    return pairs


def documented() -> dict[tuple[str, str], Counter[str]]:
    """Return the page's differences: by scenario and runtime, the events that it alone has."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for row in ROW.finditer(PAGE.read_text()):
        events = Counter[str]()
        for text in row["events"].split(", "):
            name, _, count = text.partition(" ×")
            events[name.strip("`")] += int(count or 1)
        for scenario in SCENARIOS if row["scenario"] == "each" else (row["scenario"],):
            rows.setdefault((scenario, row["where"]), Counter()).update(events)
    return rows


def test_each_difference_of_the_events_is_documented(booked: Pairs) -> None:
    """Compare the events of the books, by scenario: what one chain alone has is in the page's table."""
    differences: dict[tuple[str, str], Counter[str]] = {}
    for name, (dev, real) in booked.items():
        by_dev, by_real = Counter(dev.events), Counter(real.events)
        differences |= {(name, "development"): by_dev - by_real, (name, "genesis"): by_real - by_dev}
    assert {key: events for key, events in differences.items() if events} == documented()


def test_both_swap_alike_to_the_unit(booked: Pairs) -> None:
    """Compare amounts: equal pools pay equal amounts for what is swapped, and take equal network fees."""
    for name, (dev, real) in booked.items():
        if name == COMMISSION:
            continue
        assert real.amounts["ingress fee"] == real.amounts["egress fee"] == 0, name
        for amount in ("input", "network fee", "intermediate", "output"):
            assert (name, amount, real.amounts[amount]) == (name, amount, dev.amounts[amount])
        assert real.amounts["payout"] == dev.amounts["payout"] + dev.amounts["egress fee"], name


def test_a_commission_is_taken_of_the_deposit_or_of_the_dollars(booked: Pairs) -> None:
    """Compare a quarter of a percent: the genesis release takes it before the swap, later ones within it."""
    dev, real = booked[COMMISSION]
    deposit = dev.amounts["input"]
    assert real.amounts["commission"] == deposit * 25 // 10_000
    assert real.amounts["input"] == deposit - real.amounts["commission"]
    dollars = dev.amounts["intermediate"] + dev.amounts["commission"]
    assert abs(dev.amounts["commission"] - dollars * 25 // 10_000) <= 1
    assert dev.amounts["commission"] == dev.amounts["broker fee"]
