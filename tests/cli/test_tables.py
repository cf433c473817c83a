"""Nothing that is copied is shortened, folded or broken: tables and records at every width."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cfnode.cli.tables import print_command, print_record, print_side_by_side, print_table
from tests.conftest import ROOT
from tests.support.cli.terminals import PLACES, plain

ADDRESS = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
ACCOUNT = "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"
COLUMNS = ("time", "account", "address", "note")
ROWS = [("2026-11-25", ACCOUNT, ADDRESS, ""), ("2026-11-26", ACCOUNT, ADDRESS, "two\nlines")]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a terminal's width and colour, or a pipe, which the environment now says."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, value in PLACES[request.param].items():
        monkeypatch.setenv(name, value)
    return str(request.param)


def test_each_value_of_a_table_is_whole_and_on_one_line(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Print each value on one line, in columns where they fit and as records where not."""
    print_table(COLUMNS, ROWS, "nothing")
    lines = plain(capsys.readouterr().out)
    for value in (ADDRESS, ACCOUNT):
        assert sum(value in line for line in lines) == len(ROWS), lines
    is_wide = place in ("pipe", "140 columns")
    assert (lines[0].split() == list(COLUMNS)) == is_wide
    if is_wide:
        assert lines[2] == f"2026-11-26  {ACCOUNT}  {ADDRESS}  two"
        assert lines[3].split() == ["lines"]
    else:
        assert lines[1] == f"account  {ACCOUNT}"
        assert lines[2] == f"address  {ADDRESS}"
        assert lines[3] == ""


@pytest.mark.usefixtures("place")
def test_each_value_of_a_record_is_whole_and_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Print a record's values unbroken next to their labels, and leave out the empty ones."""
    print_record([("deposit address", ADDRESS), ("empty", ""), ("fees", "1\n2")], "A swap")
    gap = " " * len("deposit address")
    assert plain(capsys.readouterr().out) == [
        "A swap",
        f"deposit address  {ADDRESS}",
        f"fees{gap[4:]}  1",
        f"{gap}  2",
    ]


@pytest.mark.usefixtures("place")
def test_a_command_to_paste_has_a_line_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Print a command on one line of its own, however narrow the terminal is."""
    command = f"cfnode dev deposit {ADDRESS} BTC 0.1 --node http://127.0.0.1:9944"
    print_command("Pay into it", command)
    assert plain(capsys.readouterr().out) == ["Pay into it:", command]


def test_records_stand_side_by_side_or_below(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Print two quotes in columns where they fit and below each other where not."""
    amount = f"0.{'1' * 28} ETH"
    quotes = [(name, [("receive", amount), ("note", "")]) for name in ("A", "B")]
    print_side_by_side(quotes, "BTC → ETH")
    lines = plain(capsys.readouterr().out)
    if place.startswith("60"):
        assert lines[0] == "BTC → ETH, A"
    else:
        assert (lines[0], lines[1].split()) == ("BTC → ETH", ["A", "B"])
    assert "note" not in "".join(lines)
    assert sum(line.count(amount) for line in lines) == 2


def test_a_foreign_value_forges_no_column(capsys: pytest.CaptureFixture[str]) -> None:
    """Keep a value with a line break and an escape sequence within its own column."""
    print_table(("name", "state"), [("a\nb  paid\x1b[2J", "failed")], "nothing")
    lines = capsys.readouterr().out.splitlines()
    assert (lines[1].split(), lines[2].split()) == (
        ["a", "failed"],
        ["b", "paid\N{REPLACEMENT CHARACTER}[2J"],
    )


def sources() -> Iterator[tuple[str, str]]:
    """Yield path and text of each module of the program."""
    for path in sorted((ROOT / "cfnode").rglob("*.py")):
        yield str(path.relative_to(ROOT)), path.read_text()


def test_no_command_draws_a_table_of_its_own() -> None:
    """Rich's tables shorten what does not fit."""
    assert [name for name, text in sources() if "rich.table" in text] == []
