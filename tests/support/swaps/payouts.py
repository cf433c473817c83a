"""Random lives of a payout, and a vault that takes signed calls: a model with keys and nonces as numbers.

The model follows the contracts and the chain, not the code: a vault takes a call whose signature is of the
key that it has and whose nonce it has not seen; a batch leaves out a transfer that its receiver does not
take, a call of its own then reverts. The chain lists failed calls by epoch, signs those of the last epoch
again after a rotation, loses one that was not signed until then, and gives up those of the epoch before.
Governance may have a batch that was aborted signed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from cfnode.swaps.fate import Evidence, Signed
from cfnode.swaps.journey import JourneyState, PayoutStep, payout_state

__all__ = ["Call", "PayoutLife"]


@dataclass(frozen=True)
class Call:
    """A signed call: the epoch of its key, its nonce, and whether it is a batch."""

    key: int
    nonce: int
    is_batch: bool


@dataclass
class PayoutLife:
    """A payout from its scheduling on; `step` lets something happen by chance.

    `signed` are all calls that the chain ever signed for it, `paid` how often the receiver has got it.
    `waits`: the chain is having a call signed that it will not send.
    """

    random: Random
    is_message: bool
    epoch: int = 5
    steps: list[PayoutStep] = field(default_factory=lambda: [PayoutStep.SCHEDULED])
    signed: list[Call] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    paid: int = 0
    is_taken: bool = True
    is_reported: bool = False
    failed_in: int | None = None
    is_listed: bool = False
    waits: bool = False

    @property
    def state(self) -> JourneyState:
        """The state by the events so far."""
        return payout_state(self.steps)

    @property
    def call(self) -> Call | None:
        """The newest call of the transaction that is to make the payout now."""
        wanted = 2 if self.is_reported else 1
        return next(
            (transaction for transaction in reversed(self.signed) if transaction.nonce == wanted), None
        )

    @property
    def is_left_out(self) -> bool:
        """Whether a batch has left the transfer out, and the chain does not know it yet."""
        return self.state is JourneyState.PAID and self.paid == 0

    # The vault

    def takes(self, call: Call) -> bool:
        """Return whether the vault takes a call's signature."""
        return call.key == self.epoch and call.nonce not in self.used

    def send(self, call: Call) -> bool:
        """Send a call to the vault; whether it is executed."""
        if not self.takes(call) or not (call.is_batch or self.is_taken):
            return False
        self.used.add(call.nonce)
        self.paid += self.is_taken
        return True

    # What happens

    def step(self) -> None:
        """Let something happen that may happen now."""
        self.random.choice(self._possible())()

    def _possible(self) -> list[Callable[[], None]]:
        steps: list[Callable[[], None]] = [self.rotate, self._change_mood]
        state, call = self.state, self.call
        if state is JourneyState.SCHEDULED:
            steps += [self._batch] * 3
        if (
            state is JourneyState.SIGNING
            or self.waits
            or (state is JourneyState.SENT and call and call.key != self.epoch)
        ):
            steps += [self.sign] * 3
        if state in (JourneyState.SENT, JourneyState.ABORTED) and call is not None:
            steps += [self._arrive] * 2
        if state is JourneyState.SENT and call is not None and call.nonce not in self.used:
            steps.append(self._abort)
        if state is JourneyState.ABORTED and not self.is_message:
            steps.append(self._re_sign)
        if self.is_left_out:
            steps += [self._report] * 3
        if self.signed:
            steps.append(self._stranger)
        return steps

    def _stranger(self) -> None:
        self.send(self.random.choice(self.signed))

    def _batch(self) -> None:
        self.steps.append(PayoutStep.BATCHED)

    def sign(self) -> None:
        """Sign what is to be sent, or what waits for its signature."""
        nonce = 2 if self.is_reported else 1
        self.signed.append(Call(self.epoch, nonce, is_batch=nonce == 1 and not self.is_message))
        if not self.waits:
            self.steps.append(PayoutStep.SENT)
        self.waits = False

    def _arrive(self) -> None:
        """Put the transaction in a block, sent by an authority or by any other account."""
        call = self.call
        if call is not None and (call.nonce in self.used or self.send(call)):
            self.steps.append(PayoutStep.SUCCEEDED)

    def _abort(self) -> None:
        self.steps.append(PayoutStep.ABORTED)
        if self.is_message:
            self.failed_in, self.is_listed = self.epoch, True

    def _re_sign(self) -> None:
        """Have a batch signed again by governance, and sent or not."""
        self.signed.append(Call(self.epoch, 1, is_batch=True))
        if self.random.random() < 0.5:
            self.steps.append(PayoutStep.SENT)

    def _report(self) -> None:
        self.steps.append(PayoutStep.TRANSFER_REJECTED)
        self.failed_in, self.is_listed, self.waits, self.is_reported = self.epoch, True, True, True

    def _change_mood(self) -> None:
        self.is_taken = not self.is_taken

    def rotate(self) -> None:
        """Begin the next epoch, in which the vault has its key."""
        self.epoch += 1
        if not self.is_listed or self.failed_in is None:
            return
        if self.epoch - self.failed_in > 1:
            self.steps.append(PayoutStep.CALL_EXPIRED)
        is_over = self.state is JourneyState.PAID or self.epoch - self.failed_in > 1
        self.is_listed = not (is_over or self.waits)
        self.waits = self.is_listed

    # Evidence

    def evidence(self) -> Evidence:
        """Return all that can be known, with a node of each chain."""
        call = self.call
        signed = Signed.NOT if call is None else Signed.NOW if call.key == self.epoch else Signed.EARLIER
        return Evidence(
            "Ethereum",
            self.state,
            is_batch=not (self.is_message or self.is_reported),
            signed=signed,
            is_listed=self.is_listed,
            is_used=call is not None and call.nonce in self.used,
            is_settled=not self.is_left_out,
        )

    def document(self) -> Evidence:
        """Return a status: the events, and a call with a signature that was not checked."""
        call = None if self.waits else self.call
        return Evidence(
            "Ethereum",
            self.state,
            is_batch=call is not None and call.is_batch,
            signed=Signed.NOT if call is None else Signed.UNCHECKED,
            is_settled=not self.is_left_out,
        )
