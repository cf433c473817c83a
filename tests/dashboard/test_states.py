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
    """Have words for each state that a swap can have once it was requested."""
    assert set(STATES) == {state.value for state in JourneyState} - OF_CHANNELS


def test_only_a_paid_swap_is_green() -> None:
    """Mark paid, credited and done as good, and no other state: a refund is not what was ordered."""
    assert {state for state, (_, kind, _) in STATES.items() if kind == "good"} == {"paid", "credited", "done"}
