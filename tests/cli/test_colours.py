"""Colours by meaning, which NO_COLOR and pipes leave out, and which change no text."""

from __future__ import annotations

import pytest

from cfnode.cli.colours import style_of
from cfnode.cli.tables import print_record, print_table
from tests.support.cli.terminals import PLACES, plain


@pytest.mark.parametrize(
    ("value", "style"),
    [
        ("COMPLETED: done", "green"),
        ("FAILED: the output could not be paid out", "red"),
        ("in sync with the chain", "green"),
        ("cut off: no peers", "red"),
        ("partly_refunded", "yellow"),
        ("syncing, block 1 of 2", "yellow"),
        ("0.1 BTC on Bitcoin", "cyan"),
        ("1,000.5 USDC", "cyan"),
        ("2.5 ETH", "cyan"),
        ("2.5 Arbitrum/ETH", "cyan"),
        ("2.5 Eth", ""),
        ("12 s old", ""),
        ("sentinel", ""),
        ("waitings", ""),
        ("", ""),
    ],
)
def test_a_value_has_the_style_of_its_meaning(value: str, style: str) -> None:
    """Style states by their outcome and amounts by their asset; look at whole words only."""
    assert style_of(value) == style


@pytest.mark.parametrize("place", PLACES)
def test_colours_change_no_text(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Print colours on terminals only, and the same letters with and without them."""
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in PLACES[place].items():
        monkeypatch.setenv(name, value)
    print_record([("state", "FAILED"), ("sent", "0.1 BTC")], "FAILED: it ended")
    print_table(("state", "amount"), [("paid", "1 ETH")], "nothing")
    out = capsys.readouterr().out
    assert ("\x1b[" in out) == (place != "pipe")
    assert any(colour in out for colour in ("\x1b[31m", "\x1b[32m")) == (
        place != "pipe" and "without" not in place
    )
    assert [line for line in plain(out) if line] == [
        "FAILED: it ended",
        "state  FAILED",
        "sent   0.1 BTC",
        "state  amount",
        "paid   1 ETH",
    ]
