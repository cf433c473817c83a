"""States of a swap and of a payout, and the steps between them.

A machine receives steps, which events of the chain or the clock state, and has a state; it does no I/O. There
are two machines: a payout (an output or a refund), and the journey of a swap, from its channel's opening to
the end of its payouts. Their transitions are tables. A step that a state does not know changes nothing: a
fact may come twice, and witnesses report in any order.

The states of the official documents are coarser: `V2_STATES` has the official state of each state here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

__all__ = [
    "PAYOUT_STEPS",
    "REQUEST_STATES",
    "STEPS",
    "V2_STATES",
    "Journey",
    "JourneyStep",
    "PayoutKind",
    "PayoutStep",
    "State",
]
__all__ += ["payout_state", "state_of_payouts"]


class State(StrEnum):
    """State of a swap; those from `scheduled` to `credited` are a payout's, too."""

    WAITING = "waiting"
    """Nothing has been paid to the channel yet."""
    NEVER_PAID = "never_paid"
    """The channel has expired, and nothing was paid to it."""
    RECEIVING = "receiving"
    """A deposit has been seen, and is not confirmed."""
    REJECTED = "rejected"
    """The deposit was too small, or its transaction is marked: there is no swap."""
    LIQUIDITY = "liquidity"
    """The deposit was credited to an account of the chain: there is no swap."""
    BOOSTED = "boosted"
    """Lenders have advanced the deposit, and nothing of it is swapped yet."""
    SWAPPING = "swapping"
    """The deposit is being swapped."""
    SCHEDULED = "scheduled"
    """The payout waits for its transaction."""
    SIGNING = "signing"
    """The payout's transaction is being signed."""
    SENT = "sent"
    """The payout's transaction is signed, and was passed to an authority for sending."""
    PAID = "paid"
    """The output has arrived."""
    CREDITED = "credited"
    """The output was credited to an account of the chain."""
    REFUNDED = "refunded"
    """The whole deposit was paid back."""
    PARTLY_REFUNDED = "partly_refunded"
    """A part was swapped and paid out, the rest was paid back."""
    IGNORED = "ignored"
    """A payout was too small for its fee, and is not made."""
    INVALID = "invalid"
    """A payout has a message that cannot be sent."""
    ABORTED = "aborted"
    """A payout's transaction failed on its chain; it may be sent again."""
    FAILED = "failed"
    """The receiver rejected a transfer; a call that pays it again is on offer."""
    EXPIRED = "expired"
    """A transfer was rejected, or a message not sent, and the call that makes it again has expired."""
    DONE = "done"
    """The swap has ended, and had nothing to pay out."""


class PayoutKind(StrEnum):
    """Kind of a swap's payout."""

    OUTPUT = "swap"
    REFUND = "refund"


# Payouts


class PayoutStep(StrEnum):
    """Step of a payout, as the chain states it."""

    SCHEDULED = "scheduled"
    IGNORED = "ignored"
    CREDITED = "credited"
    INVALID = "invalid"
    BATCHED = "batched"
    """The payout is part of a transaction."""
    SENT = "sent"
    SUCCEEDED = "success"
    ABORTED = "aborted"
    TRANSFER_REJECTED = "transfer rejected"
    """The receiver rejected the transfer."""
    CALL_EXPIRED = "call expired"


_ON_ITS_WAY: Final = (State.SCHEDULED, State.SIGNING, State.SENT, State.ABORTED)
PAYOUT_STEPS: Final[Mapping[tuple[State | None, PayoutStep], State]] = {
    (None, PayoutStep.SCHEDULED): State.SCHEDULED,
    (None, PayoutStep.IGNORED): State.IGNORED,
    (None, PayoutStep.CREDITED): State.CREDITED,
    (None, PayoutStep.INVALID): State.INVALID,
    (State.SCHEDULED, PayoutStep.INVALID): State.INVALID,
    (State.SCHEDULED, PayoutStep.BATCHED): State.SIGNING,
    (State.SCHEDULED, PayoutStep.SENT): State.SENT,
    (State.SIGNING, PayoutStep.SENT): State.SENT,
    (State.ABORTED, PayoutStep.SENT): State.SENT,  # governance has had it signed and sent again
    (State.SIGNING, PayoutStep.ABORTED): State.ABORTED,
    (State.SENT, PayoutStep.ABORTED): State.ABORTED,
    **{(state, PayoutStep.SUCCEEDED): State.PAID for state in _ON_ITS_WAY},
    **{(state, PayoutStep.TRANSFER_REJECTED): State.FAILED for state in (*_ON_ITS_WAY, State.PAID)},
    **{(state, PayoutStep.CALL_EXPIRED): State.EXPIRED for state in (State.FAILED, State.ABORTED)},
}
"""The state after a step, by the state before it; None is the state of a payout that is not known yet."""


def payout_state(steps: Iterable[PayoutStep], state: State | None = None) -> State:
    """Return the state of a payout after steps, in the chain's order. Raises ValueError if none begins it."""
    for step in steps:
        state = PAYOUT_STEPS.get((state, step), state)
    if state is None:
        raise ValueError("no step begins the payout")
    return state


_FURTHEST_FIRST: Final = (
    *(State.FAILED, State.EXPIRED, State.ABORTED, State.INVALID, State.IGNORED),
    *(State.SCHEDULED, State.SIGNING, State.SENT),
)


def state_of_payouts(payouts: Iterable[tuple[PayoutKind, State]]) -> State | None:
    """Return the state of a swap by its payouts: that of the payout furthest from its end; None without any.

    When all have arrived, the state is that of an output, of a refund, or of both.
    """
    payout_list = list(payouts)
    if not payout_list:
        return None
    states = {state for _, state in payout_list}
    for state in _FURTHEST_FIRST:
        if state in states:
            return state
    kinds = {kind for kind, _ in payout_list}
    if kinds == {PayoutKind.REFUND}:
        return State.REFUNDED
    if PayoutKind.REFUND in kinds:
        return State.PARTLY_REFUNDED
    return State.PAID if State.PAID in states else State.CREDITED


# Swaps


class JourneyStep(StrEnum):
    """Step of a swap before its payouts, as the chain or its clock states it."""

    CLOSED = "channel expired"
    ANNOUNCED = "deposit announced"
    REJECTED = "deposit rejected"
    CREDITED = "deposit credited to an account"
    RETURNED = "deposit sent back"
    BOOSTED = "deposit boosted"
    REQUESTED = "swap requested"
    EXECUTED = "chunk executed"
    ENDED = "request completed"


STEPS: Final[Mapping[tuple[State, JourneyStep], State]] = {
    (State.WAITING, JourneyStep.CLOSED): State.NEVER_PAID,
    (State.WAITING, JourneyStep.ANNOUNCED): State.RECEIVING,
    (State.NEVER_PAID, JourneyStep.ANNOUNCED): State.RECEIVING,
    **{
        (state, step): after
        for state in (State.WAITING, State.NEVER_PAID, State.RECEIVING)
        for step, after in (
            (JourneyStep.REJECTED, State.REJECTED),
            (JourneyStep.CREDITED, State.LIQUIDITY),
            (JourneyStep.RETURNED, State.DONE),
            (JourneyStep.BOOSTED, State.BOOSTED),
            (JourneyStep.REQUESTED, State.SWAPPING),
        )
    },
    (State.SWAPPING, JourneyStep.BOOSTED): State.BOOSTED,
    (State.BOOSTED, JourneyStep.EXECUTED): State.SWAPPING,
    (State.SWAPPING, JourneyStep.ENDED): State.DONE,
    (State.BOOSTED, JourneyStep.ENDED): State.DONE,
}
"""The state after a step, by the state before it. A payout's state takes its place once there is one."""


class Journey:
    """Journey of a swap; `state` follows from the steps and payouts received so far."""

    def __init__(self, state: State = State.WAITING) -> None:
        self._state = state
        self._payouts: list[tuple[PayoutKind, State]] = []

    def receive(self, step: JourneyStep) -> None:
        """Receive a step of the swap."""
        self._state = STEPS.get((self._state, step), self._state)

    def receive_payout(self, kind: PayoutKind, state: State) -> None:
        """Receive a payout with its state."""
        self._payouts.append((kind, state))

    @property
    def state(self) -> State:
        """The state of the swap now."""
        return state_of_payouts(self._payouts) or self._state


REQUEST_STATES: Final = (
    *(State.SWAPPING, State.SCHEDULED, State.SIGNING, State.SENT),
    *(State.PAID, State.CREDITED, State.PARTLY_REFUNDED, State.REFUNDED, State.DONE),
    *(State.FAILED, State.EXPIRED, State.ABORTED, State.INVALID, State.IGNORED),
)
"""States of a swap by its request and payouts alone, without its channel and deposits."""

V2_STATES: Final[Mapping[State, str]] = {
    State.WAITING: "WAITING",
    State.NEVER_PAID: "WAITING",
    State.RECEIVING: "RECEIVING",
    State.REJECTED: "FAILED",
    State.LIQUIDITY: "COMPLETED",
    State.BOOSTED: "SWAPPING",
    State.SWAPPING: "SWAPPING",
    State.SCHEDULED: "SENDING",
    State.SIGNING: "SENDING",
    State.SENT: "SENT",
    State.PAID: "COMPLETED",
    State.CREDITED: "COMPLETED",
    State.REFUNDED: "COMPLETED",
    State.PARTLY_REFUNDED: "COMPLETED",
    State.IGNORED: "FAILED",
    State.INVALID: "FAILED",
    State.ABORTED: "FAILED",
    State.FAILED: "FAILED",
    State.EXPIRED: "FAILED",
    State.DONE: "COMPLETED",
}
"""The state in the official status documents, version 2. In these NEVER_PAID also has `isExpired`, and a
refund `refundEgress`."""
