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
    "JourneyState",
    "JourneyStep",
    "PayoutKind",
    "PayoutStep",
]
__all__ += ["payout_state", "rejected_state", "state_of_payouts"]


class JourneyState(StrEnum):
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


_ON_ITS_WAY: Final = (JourneyState.SCHEDULED, JourneyState.SIGNING, JourneyState.SENT, JourneyState.ABORTED)
PAYOUT_STEPS: Final[Mapping[tuple[JourneyState | None, PayoutStep], JourneyState]] = {
    (None, PayoutStep.SCHEDULED): JourneyState.SCHEDULED,
    (None, PayoutStep.IGNORED): JourneyState.IGNORED,
    (None, PayoutStep.CREDITED): JourneyState.CREDITED,
    (None, PayoutStep.INVALID): JourneyState.INVALID,
    (JourneyState.SCHEDULED, PayoutStep.INVALID): JourneyState.INVALID,
    (JourneyState.SCHEDULED, PayoutStep.BATCHED): JourneyState.SIGNING,
    (JourneyState.SCHEDULED, PayoutStep.SENT): JourneyState.SENT,
    (JourneyState.SIGNING, PayoutStep.SENT): JourneyState.SENT,
    (JourneyState.ABORTED, PayoutStep.SENT): JourneyState.SENT,  # governance has had it signed and sent again
    (JourneyState.SIGNING, PayoutStep.ABORTED): JourneyState.ABORTED,
    (JourneyState.SENT, PayoutStep.ABORTED): JourneyState.ABORTED,
    **{(state, PayoutStep.SUCCEEDED): JourneyState.PAID for state in _ON_ITS_WAY},
    **{
        (state, PayoutStep.TRANSFER_REJECTED): JourneyState.FAILED
        for state in (*_ON_ITS_WAY, JourneyState.PAID)
    },
    **{
        (state, PayoutStep.CALL_EXPIRED): JourneyState.EXPIRED
        for state in (JourneyState.FAILED, JourneyState.ABORTED)
    },
}
"""The state after a step, by the state before it; None is the state of a payout that is not known yet."""


def payout_state(steps: Iterable[PayoutStep], state: JourneyState | None = None) -> JourneyState:
    """Return the state of a payout after steps, in the chain's order. Raises ValueError if none begins it."""
    for step in steps:
        state = PAYOUT_STEPS.get((state, step), state)
    if state is None:
        raise ValueError("no step begins the payout")
    return state


def rejected_state(*, is_call_expired: bool) -> JourneyState:
    """Return the state of a transfer that its receiver rejected, by the call that makes it again."""
    steps = [PayoutStep.SCHEDULED, PayoutStep.TRANSFER_REJECTED]
    return payout_state([*steps, PayoutStep.CALL_EXPIRED] if is_call_expired else steps)


_FURTHEST_FIRST: Final = (
    *(
        JourneyState.FAILED,
        JourneyState.EXPIRED,
        JourneyState.ABORTED,
        JourneyState.INVALID,
        JourneyState.IGNORED,
    ),
    *(JourneyState.SCHEDULED, JourneyState.SIGNING, JourneyState.SENT),
)


def state_of_payouts(payouts: Iterable[tuple[PayoutKind, JourneyState]]) -> JourneyState | None:
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
        return JourneyState.REFUNDED
    if PayoutKind.REFUND in kinds:
        return JourneyState.PARTLY_REFUNDED
    return JourneyState.PAID if JourneyState.PAID in states else JourneyState.CREDITED


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


STEPS: Final[Mapping[tuple[JourneyState, JourneyStep], JourneyState]] = {
    (JourneyState.WAITING, JourneyStep.CLOSED): JourneyState.NEVER_PAID,
    (JourneyState.WAITING, JourneyStep.ANNOUNCED): JourneyState.RECEIVING,
    (JourneyState.NEVER_PAID, JourneyStep.ANNOUNCED): JourneyState.RECEIVING,
    **{
        (state, step): after
        for state in (JourneyState.WAITING, JourneyState.NEVER_PAID, JourneyState.RECEIVING)
        for step, after in (
            (JourneyStep.REJECTED, JourneyState.REJECTED),
            (JourneyStep.CREDITED, JourneyState.LIQUIDITY),
            (JourneyStep.RETURNED, JourneyState.DONE),
            (JourneyStep.BOOSTED, JourneyState.BOOSTED),
            (JourneyStep.REQUESTED, JourneyState.SWAPPING),
        )
    },
    (JourneyState.SWAPPING, JourneyStep.BOOSTED): JourneyState.BOOSTED,
    (JourneyState.BOOSTED, JourneyStep.EXECUTED): JourneyState.SWAPPING,
    (JourneyState.SWAPPING, JourneyStep.ENDED): JourneyState.DONE,
    (JourneyState.BOOSTED, JourneyStep.ENDED): JourneyState.DONE,
}
"""The state after a step, by the state before it. A payout's state takes its place once there is one."""


class Journey:
    """Journey of a swap; `state` follows from the steps and payouts received so far."""

    def __init__(self, state: JourneyState = JourneyState.WAITING) -> None:
        self._state = state
        self._payouts: list[tuple[PayoutKind, JourneyState]] = []

    def receive(self, step: JourneyStep) -> None:
        """Receive a step of the swap."""
        self._state = STEPS.get((self._state, step), self._state)

    def receive_payout(self, kind: PayoutKind, state: JourneyState) -> None:
        """Receive a payout with its state."""
        self._payouts.append((kind, state))

    @property
    def state(self) -> JourneyState:
        """The state of the swap now."""
        return state_of_payouts(self._payouts) or self._state


REQUEST_STATES: Final = (
    *(JourneyState.SWAPPING, JourneyState.SCHEDULED, JourneyState.SIGNING, JourneyState.SENT),
    *(
        JourneyState.PAID,
        JourneyState.CREDITED,
        JourneyState.PARTLY_REFUNDED,
        JourneyState.REFUNDED,
        JourneyState.DONE,
    ),
    *(
        JourneyState.FAILED,
        JourneyState.EXPIRED,
        JourneyState.ABORTED,
        JourneyState.INVALID,
        JourneyState.IGNORED,
    ),
)
"""States of a swap by its request and payouts alone, without its channel and deposits."""

V2_STATES: Final[Mapping[JourneyState, str]] = {
    JourneyState.WAITING: "WAITING",
    JourneyState.NEVER_PAID: "WAITING",
    JourneyState.RECEIVING: "RECEIVING",
    JourneyState.REJECTED: "FAILED",
    JourneyState.LIQUIDITY: "COMPLETED",
    JourneyState.BOOSTED: "SWAPPING",
    JourneyState.SWAPPING: "SWAPPING",
    JourneyState.SCHEDULED: "SENDING",
    JourneyState.SIGNING: "SENDING",
    JourneyState.SENT: "SENT",
    JourneyState.PAID: "COMPLETED",
    JourneyState.CREDITED: "COMPLETED",
    JourneyState.REFUNDED: "COMPLETED",
    JourneyState.PARTLY_REFUNDED: "COMPLETED",
    JourneyState.IGNORED: "FAILED",
    JourneyState.INVALID: "FAILED",
    JourneyState.ABORTED: "FAILED",
    JourneyState.FAILED: "FAILED",
    JourneyState.EXPIRED: "FAILED",
    JourneyState.DONE: "COMPLETED",
}
"""The state in the official status documents, version 2. In these NEVER_PAID also has `isExpired`, and a
refund `refundEgress`."""
