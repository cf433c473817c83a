"""`cfnode lp replay` where it refuses, before any chain is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.testing import replay as replays

PRICES = "time,asset,price\n2026-01-05T12:00:00Z,ETH,3000\n2026-01-05T12:00:30Z,ETH,3001\n"
MAKER = "def quotes(market):\n    return []\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with prices and a strategy; starting a chain fails the test."""

    def no_node(*_: object) -> None:
        raise AssertionError("a chain was started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(replays, "running_node", no_node)
    (tmp_path / "prices.csv").write_text(PRICES)
    (tmp_path / "refused_maker.py").write_text(MAKER)
    return tmp_path


def run(*flags: str) -> Result:
    """Run `lp replay` in the folder."""
    arguments = ["--prices=prices.csv", "--strategy=refused_maker:quotes", *flags]
    return CliRunner().invoke(cli, ["lp", "replay", *arguments], catch_exceptions=False)


@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        ((), 2, "Missing option '--fund'"),
        (("--fund=ETH",), 2, "--fund ETH: write ASSET=AMOUNT, such as ETH=10"),
        (("--fund=ETH=1", "--fund=Ethereum/ETH=2"), 2, "ETH is funded twice"),
        (("--fund=ETH=1", "--from=noon"), 2, "'noon' is not a time: write 2026-01-01T00:00:00Z"),
        (("--fund=ETH=1", "--to=2026-01-04"), 1, "the end 2026-01-04T00:00:00Z lies before the start"),
        (("--fund=ETH=1", "--to=2999-01-01"), 1, "blocks, and 1000000 are allowed"),
        (("--fund=ETH=one",), 1, "expected a decimal number"),
        (("--fund=BTC=1",), 1, "the file of prices has no price of BTC at or before the start"),
        (("--fund=ETH=1", "--depth=0"), 1, "expected an amount above 0"),
        (("--fund=ETH=1", "--strategy=refused_maker:none"), 1, "refused_maker has no function none"),
        (("--fund=ETH=1", "--swaps=absent.csv"), 2, "'absent.csv' does not exist"),
    ],
)
def test_a_replay_that_cannot_begin(folder: Path, flags: tuple[str, ...], code: int, text: str) -> None:
    """Refuse missing funds, odd times and absent files by one sentence, before a chain is started."""
    done = run(*flags)
    assert (done.exit_code, "Traceback" in done.output) == (code, False), done.output
    assert text in " ".join(done.output.split())


def test_each_bad_line_is_printed_with_its_number(folder: Path) -> None:
    """Print each malformed line of a file with its number, in one error."""
    (folder / "swaps.csv").write_text("time,from,to,amount\n1767614400,ETH,USDC,x\n1767614400,ETH,ETH,1\n")
    done = run("--fund=ETH=1", "--swaps=swaps.csv")
    assert done.exit_code == 2
    assert "swaps.csv: line 2: amount: expected a decimal number, not 'x'\n" in done.stderr
    assert done.stderr.endswith("swaps.csv: line 3: expected two assets, not ETH twice\n")
    error = json.loads(run("--fund=ETH=1", "--swaps=swaps.csv", "--json").output)["error"]
    assert (error["code"], error["message"].count("line")) == ("USAGE", 2)
