"""Check of the answers about requested deposit channels against the chain."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from scripts.redteam_suite.figures import Result
from scripts.redteam_suite.stage import Stage

SETTLE_S = 12.0
"""Seconds until a sent transaction is in a block, or has failed."""


@dataclass
class Opened:
    """Answer of one call, or why it has none."""

    answer: dict[str, Any] | None = None
    why: str = ""


def check_channels(
    result: Result, chain: Stage, opened: list[Opened], before: frozenset[str], name: str = ""
) -> None:
    """Compare answers with the chain: each names a channel, and each channel has an answer."""
    time.sleep(SETTLE_S)
    new_channels = chain.channels() - before
    addresses = [attempt.answer["address"].lower() for attempt in opened if attempt.answer is not None]
    result.add(f"{name}answered of {len(opened)}", len(addresses), len(opened), at_most=False)
    result.add(f"{name}answers that name a channel twice", len(addresses) - len(set(addresses)), 0)
    result.add(f"{name}answers without their channel", len(set(addresses) - new_channels), 0)
    result.add(f"{name}channels without their answer", len(new_channels - set(addresses)), 0)
    reasons = sorted({attempt.why[:160] for attempt in opened if attempt.why})
    result.facts[f"{name}refusals"] = reasons[:5]
