"""The screens of the guide as they were printed at an earlier commit, and what has changed since.

`tests/cli/screens_before/` has the earlier ones as text. That commit's own command line printed them on its
own development chain, with the environment of a terminal of 80 columns; a block was made before each question
of `swap watch`, as for the present ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.conftest import ROOT

__all__ = ["SCREENS", "Change", "Screen", "what_changed"]

BEFORE = ROOT / "tests" / "cli" / "screens_before"
INTRODUCTION = """## Before and after

The same four as the commit `519dc40e` of November 26th, 2026, printed them at 80 columns. Below each stands
what has changed since: a part of the earlier screen → a part of the screen above.
"""
_ADDRESS = "bcrt1pgq5f3h3zwcnyhwyqzy7a3hhqa39dp7k8jrdw08jyt0n774u4mwfqffv8sc"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a screen: a part of the earlier one ("" for something new), a part of the present one."""

    subject: str
    before: str
    after: str

    def line(self, earlier: str, present: str) -> str:
        """Return the change as a line of a list. Each part is in its screen, the new one in both."""
        assert self.before in earlier, self
        assert self.after in present, self
        assert self.after not in earlier, self
        left = f"`{self.before}` → " if self.before else ""
        return f"- {self.subject}: {left}`{self.after.strip()}`"


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen of the guide: its title, the file of the earlier one, and the changes."""

    title: str
    file: str
    changes: tuple[Change, ...]


SCREENS = (
    Screen(
        "A first swap",
        "first-swap.txt",
        (
            Change("An address is whole", f"{_ADDRESS[:-4]}…", f"to            {_ADDRESS}\n"),
            Change("A time names its clock", "00:00 UTC (block", "00:00 UTC, chain time (block"),
            Change("A command stands alone on its line", "Follow it: cfnode", "\ncfnode swap watch "),
            Change(
                "A step has its time and its amount", "SWAPPING   in the pools", "SWAPPING   0.1 BTC in the"
            ),
            Change(
                "The end is a receipt", "COMPLETED  done", "received             3.080479171293774591 ETH"
            ),
            Change("with the quote", "", "against the quote    as quoted"),
            Change("the fees of each kind", "", "fees                 0.0000039 BTC ingress"),
            Change("and the transactions", "", "payout transaction   0x"),
        ),
    ),
    Screen(
        "A refund: the price was not reached",
        "refund.txt",
        (
            Change("A step says what is on its way", "SENDING    to the receiver", "0.0999815 BTC back"),
            Change("The receipt has what came back", "done, refunded", "refunded             0.0999815 BTC"),
            Change("what it cost", "", "0.0000058 BTC refund"),
            Change("and where it went", "", "refund transaction   "),
        ),
    ),
    Screen(
        "A failed payout",
        "failed-payout.txt",
        (
            Change("The failure is said", "FAILED     failed", "FAILED     the output could not be paid out"),
            Change("The progress stays", "○○○○○○  FAILED", "●●●●●○  FAILED"),
            Change(
                "The receipt names the lost amount",
                "not sent   │ 3.0",
                "not received         3.069862673334409683",
            ),
            Change(
                "The way out says when it opens",
                "",
                "waits for a signature, for some minutes, or until the next",
            ),
            Change("and stands alone on its line", "Recover it: cfnode", "\ncfnode recover ethereum --for "),
        ),
    ),
    Screen(
        "A node, watched",
        "status-watch.txt",
        (
            Change(
                "The chain's clock is compared with yours", "by the chain's own clock", "behind the clock"
            ),
            Change("A refresh has its time, and the next one", "", "12:00:00, again every 6 s until Ctrl-C"),
            Change("Ctrl-C ends it without an error", "Error: stopped watching", "until Ctrl-C\n"),
        ),
    ),
)


def what_changed(blocks: Sequence[str]) -> str:
    """Return the section of the page on the earlier screens."""
    parts = [INTRODUCTION]
    for screen, block in zip(SCREENS, blocks, strict=True):
        earlier = (BEFORE / screen.file).read_text()
        parts.append(f"### Before: {screen.title}\n\n```text\n{earlier.rstrip()}\n```\n")
        parts.append("\n".join([*(change.line(earlier, block) for change in screen.changes), ""]))
    return "\n".join(parts)
