"""The page has words for each state of a swap in the books, and no refund looks like a paid swap."""

from __future__ import annotations

from cfnode.dashboard.views import STATES
from cfnode.swaps.journey import JourneyState

OF_CHANNELS = {
    JourneyState.WAITING,
    JourneyState.NEVER_PAID,
    JourneyState.RECEIVING,
    JourneyState.REJECTED,
    JourneyState.LIQUIDITY,
}
"""States without a swap request."""


def test_each_state_has_words() -> None:
    assert set(STATES) == {state.value for state in JourneyState} - OF_CHANNELS


def test_only_a_paid_swap_is_green() -> None:
    assert {state for state, (_, kind, _) in STATES.items() if kind == "good"} == {"paid", "credited", "done"}
