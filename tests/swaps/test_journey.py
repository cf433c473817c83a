"""The states of a swap: each is reached, and the official document's state stands for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.swaps.journey import (
    PAYOUT_STEPS,
    STEPS,
    V2_STATES,
    Journey,
    JourneyState,
    JourneyStep,
    PayoutKind,
    PayoutStep,
    payout_state,
)

OUTPUT, REFUND = PayoutKind.OUTPUT, PayoutKind.REFUND
SENT_STEPS = [PayoutStep.SCHEDULED, PayoutStep.BATCHED, PayoutStep.SENT]


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ([], "waiting"),
        ([JourneyStep.CLOSED], "never_paid"),
        ([JourneyStep.ANNOUNCED], "receiving"),
        ([JourneyStep.CLOSED, JourneyStep.ANNOUNCED, JourneyStep.REQUESTED], "swapping"),
        ([JourneyStep.REJECTED], "rejected"),
        ([JourneyStep.CREDITED], "liquidity"),
        ([JourneyStep.RETURNED], "done"),
        ([JourneyStep.REQUESTED, JourneyStep.BOOSTED], "boosted"),
        ([JourneyStep.ANNOUNCED, JourneyStep.BOOSTED], "boosted"),
        ([JourneyStep.REQUESTED, JourneyStep.BOOSTED, JourneyStep.EXECUTED], "swapping"),
        ([JourneyStep.REQUESTED, JourneyStep.EXECUTED, JourneyStep.ENDED], "done"),
    ],
)
def test_a_swap_before_its_payouts(steps: list[JourneyStep], state: str) -> None:
    """Reach each state that precedes the payouts by its steps; a boost goes on as any swap."""
    journey = Journey()
    for step in steps:
        journey.receive(step)
    assert journey.state == state


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        (SENT_STEPS[:1], "scheduled"),
        (SENT_STEPS[:2], "signing"),
        (SENT_STEPS, "sent"),
        ([*SENT_STEPS, PayoutStep.SUCCEEDED], "paid"),
        ([*SENT_STEPS, PayoutStep.ABORTED], "aborted"),
        ([*SENT_STEPS, PayoutStep.ABORTED, PayoutStep.SUCCEEDED], "paid"),
        ([*SENT_STEPS, PayoutStep.ABORTED, PayoutStep.CALL_EXPIRED], "expired"),
        ([*SENT_STEPS, PayoutStep.SUCCEEDED, PayoutStep.TRANSFER_REJECTED], "failed"),
        (
            [*SENT_STEPS, PayoutStep.SUCCEEDED, PayoutStep.TRANSFER_REJECTED, PayoutStep.CALL_EXPIRED],
            "expired",
        ),
        ([PayoutStep.SCHEDULED, PayoutStep.INVALID], "invalid"),
        ([PayoutStep.IGNORED], "ignored"),
        ([PayoutStep.CREDITED], "credited"),
    ],
)
def test_a_payout(steps: list[PayoutStep], state: str) -> None:
    """Reach each state of a payout by its steps; a success after an abort counts."""
    assert payout_state(steps) == state


@pytest.mark.parametrize(
    ("payouts", "state"),
    [
        ([(OUTPUT, JourneyState.PAID)], "paid"),
        ([(OUTPUT, JourneyState.CREDITED)], "credited"),
        ([(REFUND, JourneyState.PAID)], "refunded"),
        ([(OUTPUT, JourneyState.PAID), (REFUND, JourneyState.PAID)], "partly_refunded"),
        ([(OUTPUT, JourneyState.PAID), (REFUND, JourneyState.SENT)], "sent"),
        ([(OUTPUT, JourneyState.FAILED), (REFUND, JourneyState.PAID)], "failed"),
        ([(OUTPUT, JourneyState.SCHEDULED), (OUTPUT, JourneyState.INVALID)], "invalid"),
    ],
)
def test_payouts_tell_an_output_from_a_refund(
    payouts: list[tuple[PayoutKind, JourneyState]], state: str
) -> None:
    """Take the state of the payout furthest from its end; where all arrived, tell outputs from refunds."""
    journey = Journey(JourneyState.SWAPPING)
    for kind, payout in payouts:
        journey.receive_payout(kind, payout)
    assert journey.state == state


def test_each_state_has_one_of_the_official_document() -> None:
    """Map each state to one of the seven of version 2, each of which stands for some state."""
    assert set(V2_STATES) == set(JourneyState)
    assert set(V2_STATES.values()) == {
        *("WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED", "FAILED")
    }


def test_each_state_is_reached() -> None:
    """Reach each state by some step, so that none is dead."""
    by_steps = {JourneyState.WAITING, *STEPS.values(), *PAYOUT_STEPS.values()}
    assert by_steps | {JourneyState.REFUNDED, JourneyState.PARTLY_REFUNDED} == set(JourneyState)


@given(st.lists(st.sampled_from(list(JourneyStep)), max_size=12))
def test_a_fact_that_comes_twice_changes_nothing(steps: list[JourneyStep]) -> None:
    """Leave the state as it is when a fact is received twice, as it is after a restart."""
    once, twice = Journey(), Journey()
    for step in steps:
        once.receive(step)
        twice.receive(step)
        twice.receive(step)
        assert twice.state == once.state
