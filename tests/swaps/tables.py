"""The tables of the states of a swap, as the documentation prints them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from cfnode.swaps.journey import PAYOUT_STEPS, STEPS, V2_STATES, JourneyState

__all__ = ["payout_table", "state_table", "step_table"]


def state_table() -> str:
    """Return each state, its meaning, and the state of the official document."""
    meanings = dict(re.findall(r'([A-Z_]+) = "\w+"\n    """(.+?)"""', inspect.getsource(JourneyState)))
    rows = ((state.value, meanings[state.name], V2_STATES[state]) for state in JourneyState)
    return _table(("state", "meaning", "version 2"), rows)


def step_table() -> str:
    """Return the steps of a swap."""
    return _transitions(STEPS)


def payout_table() -> str:
    """Return the steps of a payout."""
    return _transitions(PAYOUT_STEPS)


def _transitions(steps: Mapping[Any, JourneyState]) -> str:
    """Step and state after it, with all states before it."""
    before: dict[tuple[str, str], list[str]] = {}
    for (state, step), after in steps.items():
        before.setdefault((step.value, after.value), []).append("none" if state is None else state.value)
    rows = ((step, ", ".join(sources), after) for (step, after), sources in before.items())
    return _table(("step", "from", "to"), rows)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(heads)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace(
        "| --- | --- | --- |", "|---|---|---|"
    )
