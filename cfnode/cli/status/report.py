"""Report of a node's status as one object, and the warnings that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from cfnode import __version__
from cfnode.cli.client import NodeUnreachable
from cfnode.cli.exits import CommandFailure
from cfnode.cli.status.asking import MAX_TEXT_CHARACTERS, Asking, Malformed
from cfnode.cli.status.parts import PARTS, Report, read_account, read_broker, read_channels, read_time
from cfnode.core.chain_time import DEVELOPMENT
from cfnode.core.safe_text import printable

if TYPE_CHECKING:
    from cfnode.sdk.errors import ErrorCode

__all__ = ["MIN_FLIP", "State", "reported_status"]

MIN_FLIP: Final = Decimal(5)
"""Balance below which a broker should be funded: opening a channel costs FLIP."""
MAX_HEAD_AGE_S: Final = 60.0
"""Age of the best block beyond which the node has no new blocks: ten block times."""
MAX_FINALITY_AGE_S: Final = 120.0
"""Age of the finalized block beyond which finality has stalled: it normally lags a few blocks."""

_WITHOUT_STATE: Final = ("State already discarded", "UnknownBlock", "Unknown block", "still syncing")
"""Parts of answers about a state that the node does not have."""

State = Literal["syncing", "noPeers", "noBlocks", "noFinality", "inStep", "unknown"]
"""Whether a node's answers are about the chain's present. `unknown`: the age of its head is unknown."""


def reported_status(asking: Asking, origin: str, account: str | None, now: float) -> Report:
    """Return the status of a node; `now` is the Unix time, for the age of blocks.

    Raises NodeUnreachable if the node answers no call in time.
    """
    report: Report = {"node": origin}
    gathered = _Gathered(report)
    for name, read in PARTS:
        gathered.add(name, lambda read=read: read(asking))  # type: ignore[misc]
    if gathered.is_empty:
        raise NodeUnreachable(next(iter(gathered.unavailable.values())), gathered.codes[0])
    gathered.add("age", lambda: _ages(asking, report, now))
    _add_broker(gathered, asking, account)
    report["commandVersion"] = __version__
    if "syncing" in report:
        report["state"] = _state(report)
    report["warnings"] = list(_warnings(report))
    report["unavailable"] = gathered.unavailable
    return report


class _Gathered:
    """The available parts of a report, and why the others are unavailable."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.unavailable: dict[str, str] = {}
        self.codes: list[ErrorCode] = []
        self.is_empty = True

    def add(self, name: str, read: Callable[[], Report], into: str | None = None) -> None:
        """Read a part into the report, or into its member `into`."""
        try:
            part = read()
        except (CommandFailure, Malformed) as error:
            reason = error.message if isinstance(error, CommandFailure) else str(error)
            self.codes.append(error.code if isinstance(error, NodeUnreachable) else "BAD_ANSWER")
            is_empty = self.report.get("syncing") and not self.report.get("best", {}).get("number")
            is_of_state = any(text in reason for text in _WITHOUT_STATE)
            self.unavailable[name] = printable(
                "nothing synced yet" if is_empty and is_of_state else reason, MAX_TEXT_CHARACTERS
            )
            return
        self.is_empty = False
        (self.report if into is None else self.report.setdefault(into, {})).update(part)


def _ages(asking: Asking, report: Report, now: float) -> Report:
    """Add to best and finalized, in place, their times and ages, and their distance.

    The blocks of a development chain have no age, since it may have its own clock. Returns its time and the
    distance of that clock from the real one.
    """
    best, final = report.get("best"), report.get("finalized")
    if best is None or final is None:
        raise Malformed("the head or the final block is unknown")
    final["blocksBehind"] = max(best["number"] - final["number"], 0)
    at_best, at_final = read_time(asking, best), read_time(asking, final)
    if at_best is not None and at_final is not None:
        final["secondsBehind"] = max(at_best - at_final, 0) / 1000
    is_development = report.get("chainType") == DEVELOPMENT
    for block, time in ((best, at_best), (final, at_final)):
        if time is None:
            continue
        block["time"] = _utc(time)
        if not is_development:
            block["ageSeconds"] = round(max(now - time / 1000, 0.0), 1)
    if at_best is None or not is_development:
        return {}
    return {"chainTime": _utc(at_best), "secondsBehindClock": round(max(now - at_best / 1000, 0.0), 1)}


def _utc(milliseconds: int) -> str:
    """Return a Unix time as ISO 8601, in whole seconds."""
    try:
        return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        raise Malformed("the node's answer is malformed: a block's time is out of range") from None


def _add_broker(gathered: _Gathered, asking: Asking, account: str | None) -> None:
    """Add the given account, or the node's own broker account, and its parts."""
    gathered.add("broker", lambda: {"account": account or read_broker(asking)}, "broker")
    broker_account = gathered.report.get("broker", {}).get("account")
    if broker_account is not None:
        gathered.add("account", lambda: read_account(asking, broker_account), "broker")
        gathered.add("channels", lambda: read_channels(asking, broker_account), "broker")


def _block_ages(report: Report) -> tuple[float, float]:
    """Return the seconds since the best and the finalized block; 0 where unknown."""
    best, final = report.get("best", {}), report.get("finalized", {})
    return best.get("ageSeconds", 0), final.get("ageSeconds", final.get("secondsBehind", 0))


def _state(report: Report) -> State:
    """Return the state of a node.

    A node that is not syncing may still have an old head: it cannot know of blocks that do not arrive.
    """
    head, finality = _block_ages(report)
    if report["needsPeers"] and not report["peers"]:
        return "noPeers"  # without peers it cannot sync, either
    if report["syncing"]:
        return "syncing"
    if head > MAX_HEAD_AGE_S:
        return "noBlocks"
    if finality > MAX_FINALITY_AGE_S:
        return "noFinality"
    has_age = "ageSeconds" in report.get("best", {}) or report.get("chainType") == DEVELOPMENT
    return "inStep" if has_age else "unknown"


def _warnings(report: Report) -> list[str]:
    """Return the warnings, the most important first."""
    head, finality = _block_ages(report)
    rules: tuple[tuple[Any, str], ...] = (
        (
            report.get("needsPeers") and not report.get("peers"),
            "The node has no peers: its log names the nodes that it could not reach.",
        ),
        (report.get("syncing"), "The node is syncing: its answers are about an older block."),
        (head > MAX_HEAD_AGE_S, f"No block for {head:.0f} s."),
        (finality > MAX_FINALITY_AGE_S, f"No block became final for {finality:.0f} s."),
        *_broker_rules(report.get("broker", {})),
    )
    return [text for applies, text in rules if applies]


def _broker_rules(broker: Report) -> tuple[tuple[Any, str], ...]:
    role, flip = broker.get("role"), broker.get("flip")
    return (
        (
            flip is not None and Decimal(flip) < MIN_FLIP,
            f"The account has {flip} FLIP, less than {MIN_FLIP}: fund it, or it cannot pay for channels.",
        ),
        (
            role == "unregistered",
            "The account is not a broker yet: call broker_register_account.",
        ),
    )
