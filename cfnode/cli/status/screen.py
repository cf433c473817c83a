"""A node's status as text: one record without unknown values, and warnings below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from cfnode.cli.status.parts import Report
from cfnode.cli.status.report import State
from cfnode.cli.tables import record_text
from cfnode.core.assets import text_of
from cfnode.core.chain_time import behind_text, duration_text

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["screen"]


_STATES: Final[dict[State, str]] = {
    "noPeers": "cut off: no peers",
    "noBlocks": "no new blocks: the network has stalled, or the node is cut off from it",
    "noFinality": "blocks arrive, but none becomes final",
    "inStep": "in sync with the chain",
    "unknown": "not syncing; the age of its best block is unknown",
}


def screen(report: Report) -> RenderableType:
    """Return the whole screen. Texts of the node are printed literally, never as markup."""
    from rich.console import Group
    from rich.text import Text

    table = record_text(list(_rows(report)), _title(report))
    warnings = [Text(f"Warning: {text}", style="yellow") for text in report["warnings"]]
    return Group(table, *warnings)


def _title(report: Report) -> str:
    return f"{report.get('chain', 'a State Chain node')} at {report['node']}"


def _rows(report: Report) -> Iterator[tuple[str, str]]:
    """Yield name and value of each line."""
    if "syncing" in report:
        yield "sync", _sync(report)
        yield "peers", str(report["peers"])
    for name in ("best", "finalized"):
        if name in report:
            yield name, _block(report[name])
    if (time := report.get("chainTime")) is not None:
        distance = behind_text(0, int(report["secondsBehindClock"] * 1000))
        yield "chain time", ", ".join(filter(None, (time, distance)))
    yield from _broker_rows(report.get("broker", {}))
    yield "versions", ", ".join(_versions(report))
    for name, reason in report["unavailable"].items():
        yield name, f"unavailable: {reason}"


def _sync(report: Report) -> str:
    if report["state"] != "syncing":
        return _STATES[report["state"]]
    target, best = report.get("target"), report.get("best", {}).get("number", 0)
    if not target:
        return "syncing"
    if not best:
        return f"syncing, nothing synced yet, up to block {target}"
    left_s = report.get("secondsLeft")
    time = "" if left_s is None else f", about {duration_text(int(left_s * 1000))} left"
    return f"syncing, block {best} of {target} ({100 * best // target} %){time}"


def _block(block: Report) -> str:
    parts = [f"#{block['number']}"]
    if (behind := block.get("blocksBehind")) is not None:
        seconds = f" ({block['secondsBehind']:.0f} s)" if "secondsBehind" in block else ""
        parts.append(f"{behind} block{'' if behind == 1 else 's'}{seconds} behind")
    if (age := block.get("ageSeconds")) is not None:
        parts.append(f"{age:.0f} s old")
    return ", ".join(parts)


def _broker_rows(broker: Report) -> Iterator[tuple[str, str]]:
    if "account" in broker:
        yield "account", broker["account"]
    if "role" in broker:
        yield "role", broker["role"]
        yield "balance", f"{broker['flip']} FLIP"
        fees = [f"{amount} {text_of(asset)}" for asset, amount in broker["earnedFees"].items()]
        yield "fees earned", "\n".join(fees) or "none"
    if "openChannels" in broker:
        counts = broker["openChannelsByAsset"].items()
        by_asset = ", ".join(f"{text_of(asset)} {count}" for asset, count in counts)
        count = f"{broker['openChannels']} of this account"
        yield "open channels", f"{count} ({by_asset})" if by_asset else count


def _versions(report: Report) -> Iterator[str]:
    if "version" in report:
        yield f"{report['name']} {report['version']}"
    if runtime := report.get("runtime"):
        yield f"runtime {runtime['specName']} {runtime['specVersion']}"
    yield f"this command {report['commandVersion']}"
