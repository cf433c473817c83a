"""Broadcasts to one foreign chain: nominees, timeouts, retries, success and abort.

‹Chain›Broadcaster (pallet_cf_broadcast). A broadcast is pending until its chain has the transaction, or all
authorities have failed to send it. One authority at a time is asked to send it: if it reports that it could
not, or if the transaction is not on its chain when the time is over, another one is asked, until all have
failed. Then the broadcast is aborted; its data is kept, so that governance can have it signed and sent once
more.

A hash of broadcast and block draws the nominee; the main net draws in another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from cfnode.core.hashing import blake2_256, twox_128
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    ErrorSet,
    EventSet,
    Map,
    OptionalValue,
    Origin,
    Value,
    call,
    enum,
    event,
)
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.chain_pallet import ChainPallet
from cfnode.devchain.runtime.pallets.chain_tracking import CHAIN_TRACKING, ChainTracking
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage

from .barriers import barriers_left, barriers_of_rotation, last_allowed

if TYPE_CHECKING:
    from cfnode.devchain.runtime.config import DevGenesis

__all__ = ["Broadcaster"]

AggKey: TypeAlias = values.EvmAggKey | bytes | values.BtcAggKey
OutId: TypeAlias = values.SchnorrVerificationComponents | bytes
Reference: TypeAlias = bytes | values.PolkadotTransactionId
SAFE_MODE_BLOCKS = 10
"""Blocks by which safe mode puts off attempts."""


enum("pallet_cf_broadcast::PalletConfigUpdate", "BroadcastTimeout{blocks: u32}", name="BroadcastConfigUpdate")


class Broadcaster(ChainPallet):
    """Transactions on their way to one chain."""

    crate = "pallet_cf_broadcast"

    BroadcastIdCounter = Value[int]("u32")
    FailedBroadcasters = Map[int, Sequence[bytes]]("Twox64Concat", "u32", "BTreeSet<AccountId32>")
    DelayedBroadcastRetryQueue = Map[int, Sequence[int]]("Twox64Concat", "u32", "BTreeSet<u32>")
    Timeouts = Value[Sequence[tuple[int, int, bytes]]]("Vec<(Height, u32, AccountId32)>")
    PendingBroadcasts = Value[Sequence[int]]("BTreeSet<u32>")
    AbortedBroadcasts = Value[Sequence[int]]("BTreeSet<u32>")
    BroadcastBarriers = Value[Sequence[int]]("BTreeSet<u32>")
    IncomingKeyAndBroadcastId = OptionalValue[tuple[values.EvmAggKey | bytes | values.BtcAggKey, int]](
        "(AggKey, u32)"
    )
    CurrentOnChainKey = OptionalValue[values.EvmAggKey | bytes | values.BtcAggKey]("AggKey")
    BroadcastTimeout = Value[int]("Height", default=100)

    class Event(EventSet):
        """Events of broadcasts on every chain."""

        BroadcastRetryScheduled = event(1, broadcast_id="u32", retry_block="u32")
        BroadcastTimeout = event(2, broadcast_id="u32")
        BroadcastAborted = event(3, broadcast_id="u32")
        BroadcastSuccess = event(
            4,
            broadcast_id="u32",
            transaction_out_id="TransactionOutId",
            transaction_ref="TransactionRef",
        )
        PalletConfigUpdated = event(9, update="BroadcastConfigUpdate")

    class Error(ErrorSet):
        """Errors of broadcasts and their signatures."""

        InvalidPayload = "The provided payload is invalid."
        InvalidBroadcastId = "The provided broadcast id is invalid."
        ThresholdSignatureUnavailable = "A threshold signature was expected but not available."
        BroadcastStillPending = "Pending broadcasts cannot be re-signed."
        ApiCallUnavailable = "The broadcast's api call is no longer available."

    def genesis(self, config: DevGenesis) -> None:
        """Store the chain's broadcast timeout."""
        self.BroadcastTimeout.put(self.chain.broadcast_timeout)

    # Calls

    @call(4, broadcast_id="u32")
    def transaction_failed(self, origin: Origin, broadcast_id: int) -> None:
        """Report that this validator could not send a transaction."""
        self.fail_attempt(broadcast_id, self.other(AccountRoles).ensure_role(origin, "Validator"))

    @call(
        5,
        broadcast_ids="Vec<u32>",
        request_broadcast="bool",
        refresh_replay_protection="bool",
    )
    def re_sign_aborted_broadcasts(
        self,
        origin: Origin,
        broadcast_ids: Sequence[int],
        request_broadcast: bool,
        refresh_replay_protection: bool,
    ) -> None:
        """Have aborted transactions signed once more, and sent if that is wanted. Governance."""
        origin.ensure_governance()
        for broadcast_id in broadcast_ids:
            self.re_sign(
                broadcast_id, request_broadcast=request_broadcast, new_nonce=refresh_replay_protection
            )

    @call(6, update="BroadcastConfigUpdate")
    def update_pallet_config(self, origin: Origin, update: values.BroadcastConfigUpdate) -> None:
        """Set how many blocks of its chain a transaction has. Governance."""
        origin.ensure_governance()
        self.BroadcastTimeout.put(update.blocks)
        self.deposit(self.Event.PalletConfigUpdated, update=update)

    # Attempts

    def start(self, api_call: values.EvmApi | None) -> int:
        """Start a broadcast, and return its id. `api_call` is None where no transaction is built."""
        broadcast_id = self._next_id()
        self._add_pending(broadcast_id)
        self.begin(broadcast_id)
        return broadcast_id

    def start_rotation(self, api_call: values.EvmApi | None, new_key: AggKey) -> list[int]:
        """Start the broadcast that sets a new key. Return the ids of the requests for its signature.

        It waits for those before it, and those after it wait for it, where the chain needs that.
        """
        broadcast_id = self._next_id()
        self._add_pending(broadcast_id)
        requests = self._sign_rotation(broadcast_id, api_call)
        new_barriers = barriers_of_rotation(
            self.chain.family.crypto, broadcast_id, self.PendingBroadcasts.get()[0]
        )
        self.BroadcastBarriers.mutate(lambda known: sorted({*known, *new_barriers}))
        self.IncomingKeyAndBroadcastId.put((new_key, broadcast_id))
        if not requests:
            self.begin(broadcast_id)
        return requests

    def _sign_rotation(self, broadcast_id: int, api_call: values.EvmApi | None) -> list[int]:
        """Have a rotation's transaction signed, where it is built. Return the ids of the requests."""
        return []

    def begin(self, broadcast_id: int) -> None:
        """Attempt a broadcast; later, if a barrier holds it back."""
        if broadcast_id > last_allowed(self.BroadcastBarriers.get()):
            failed = len(self.FailedBroadcasters.get(broadcast_id))
            return self._retry_in(broadcast_id, self.chain.retries.without_nominee(failed))
        return self.attempt(broadcast_id)

    def retry(self, broadcast_id: int) -> None:
        """Attempt a broadcast once more; have it signed anew first if its signature is of a retired key."""
        self.attempt(broadcast_id)

    def attempt(self, broadcast_id: int) -> None:
        """Ask an authority that has not failed yet to send a transaction; later, if there is none."""
        failed = self.FailedBroadcasters.get(broadcast_id)
        nominee = self._drawn(broadcast_id, failed)
        if nominee is None:
            return self._retry_in(broadcast_id, self.chain.retries.without_nominee(len(failed)))
        expiry = min(self.tracking.height() + self.BroadcastTimeout.get(), self.chain.last_height)
        self.Timeouts.mutate(lambda waiting: [*waiting, (expiry, broadcast_id, nominee)])
        return self.ask(broadcast_id, nominee)

    def ask(self, broadcast_id: int, nominee: bytes) -> None:
        """Give a nominee the transaction to send, on a chain whose transactions are built here."""

    def fail_attempt(self, broadcast_id: int, who: bytes) -> None:
        """Note that an authority could not send a transaction; schedule a retry, or abort.

        Fails with InvalidBroadcastId if the broadcast is not pending.
        """
        self.ensure(broadcast_id in self.PendingBroadcasts.get(), self.Error.InvalidBroadcastId)
        failed = self.FailedBroadcasters.get(broadcast_id)
        if who in failed:
            return
        failed = sorted([*failed, who])
        self.FailedBroadcasters.put(broadcast_id, failed)
        if len(failed) >= len(self.other(ValidatorStorage).CurrentAuthorities.get()):
            self.abort(broadcast_id)
        else:
            self._retry_in(broadcast_id, self.chain.retries.after_failure(len(failed)))

    def abort(self, broadcast_id: int) -> None:
        """Give up a broadcast that no authority could send. Its data is kept."""
        self.FailedBroadcasters.remove(broadcast_id)
        for pallet in self.runtime.pallets:
            pallet.on_broadcast_aborted(self.chain.name, broadcast_id)
        self.deposit(self.Event.BroadcastAborted, broadcast_id=broadcast_id)
        self._is_over(broadcast_id)
        self.AbortedBroadcasts.mutate(lambda ids: sorted({*ids, broadcast_id}))

    def on_initialize(self, number: int) -> None:
        """Fail the attempts whose time is over, and make the attempts that are due."""
        if not self.chain.tracked:
            return None
        height, timeouts = self.tracking.height(), self.Timeouts.get()
        timed_out = sorted(
            {(broadcast_id, who) for expiry, broadcast_id, who in timeouts if expiry <= height}
        )
        if timed_out:
            self.Timeouts.put([timeout for timeout in timeouts if timeout[0] > height])
        retries = self.DelayedBroadcastRetryQueue.take(number)
        if not timed_out and not retries:
            return None
        member = f"broadcast_{self.chain.name.lower()}"
        if not self.other(EnvironmentStorage).safe_mode(member, "retry_enabled"):
            return self._put_off(number, height, timed_out, retries)
        for broadcast_id, who in timed_out:
            if broadcast_id in self.PendingBroadcasts.get():
                self.deposit(self.Event.BroadcastTimeout, broadcast_id=broadcast_id)
                self.fail_attempt(broadcast_id, who)
        self._try_again(number, retries)
        return None

    def _try_again(self, number: int, broadcasts: Sequence[int]) -> None:
        """Retry broadcasts; those that a barrier holds back wait for the next block."""
        last_allowed_id = last_allowed(self.BroadcastBarriers.get())
        for broadcast_id in broadcasts:
            if broadcast_id <= last_allowed_id and broadcast_id in self.PendingBroadcasts.get():
                self.retry(broadcast_id)
        if held_back := [later_id for later_id in broadcasts if later_id > last_allowed_id]:
            self._queue(number + 1, held_back)

    def _put_off(
        self, number: int, height: int, over: Sequence[tuple[int, bytes]], again: Sequence[int]
    ) -> None:
        """Put off timeouts and retries while safe mode stops them."""
        if over:
            retry_height = height + self.chain.safe_mode_heights
            self.Timeouts.mutate(lambda waiting: [*waiting, *((retry_height, *timeout) for timeout in over)])
        if again:
            self._queue(number + SAFE_MODE_BLOCKS, again)

    def _queue(self, number: int, broadcasts: Sequence[int]) -> None:
        """Queue broadcasts for an attempt in block `number`."""
        self.DelayedBroadcastRetryQueue.mutate(number, lambda ids: sorted({*ids, *broadcasts}))

    def _retry_in(self, broadcast_id: int, delay: int) -> None:
        retry_block = self.other(System).Number.get() + delay
        self._queue(retry_block, [broadcast_id])
        self.deposit(self.Event.BroadcastRetryScheduled, broadcast_id=broadcast_id, retry_block=retry_block)

    def _drawn(self, broadcast_id: int, failed: Sequence[bytes]) -> bytes | None:
        authorities: Sequence[bytes] = self.other(ValidatorStorage).CurrentAuthorities.get()
        eligible = sorted(set(authorities).difference(failed))
        if not eligible:
            return None
        seed = self.codec("(u32, u32)").encode((broadcast_id, self.other(System).Number.get()))
        return eligible[int.from_bytes(twox_128(seed)[:8], "big") % len(eligible)]

    # Outcomes

    def on_their_way(self) -> list[int]:
        """Return the pending broadcasts whose nominee has not failed, sorted."""
        pending = set(self.PendingBroadcasts.get())
        return sorted(
            {
                broadcast_id
                for _, broadcast_id, nominee in self.Timeouts.get()
                if broadcast_id in pending and nominee not in self.FailedBroadcasters.get(broadcast_id)
            }
        )

    def nominee(self, broadcast_id: int) -> bytes | None:
        """Return the authority that has been asked to send a broadcast and has not failed, or None."""
        if broadcast_id not in self.PendingBroadcasts.get():
            return None
        failed = self.FailedBroadcasters.get(broadcast_id)
        nominees = [who for _, number, who in self.Timeouts.get() if number == broadcast_id]
        return next((who for who in reversed(nominees) if who not in failed), None)

    def is_known(self, broadcast_id: int) -> bool:
        """Return whether a broadcast would be noticed on its chain: it is pending or aborted."""
        return broadcast_id in (*self.PendingBroadcasts.get(), *self.AbortedBroadcasts.get())

    def succeed(self, broadcast_id: int) -> None:
        """Complete a broadcast that its chain has, even an aborted one."""
        out_id, reference = self.identify(broadcast_id)
        self._is_over(broadcast_id)
        self._note_rotated(broadcast_id)
        self.AbortedBroadcasts.put(_without(self.AbortedBroadcasts.get(), broadcast_id))
        self.FailedBroadcasters.remove(broadcast_id)
        self.forget(broadcast_id)
        self.deposit(
            self.Event.BroadcastSuccess,
            broadcast_id=broadcast_id,
            transaction_out_id=out_id,
            transaction_ref=reference,
        )

    def _note_rotated(self, broadcast_id: int) -> None:
        """Store that the chain has the new key, if this was the broadcast that sets it."""
        incoming = self.IncomingKeyAndBroadcastId.get()
        if incoming is not None and incoming[1] == broadcast_id:
            self.CurrentOnChainKey.put(incoming[0])
            self.IncomingKeyAndBroadcastId.kill()

    def forget(self, broadcast_id: int) -> None:
        """Remove the data of a transaction."""

    def re_sign(self, broadcast_id: int, *, request_broadcast: bool, new_nonce: bool) -> int | None:
        """Send an aborted broadcast once more. Return the id of the signature request, or None.

        Fails with ApiCallUnavailable if the broadcast is not an aborted one.
        """
        aborted = self.AbortedBroadcasts.get()
        self.ensure(broadcast_id in aborted, self.Error.ApiCallUnavailable)
        self.AbortedBroadcasts.put(_without(aborted, broadcast_id))
        if request_broadcast:
            self._add_pending(broadcast_id)
            self.begin(broadcast_id)
        return None

    def identify(self, broadcast_id: int) -> tuple[OutId, Reference]:
        """Return the id and the reference of a transaction on its chain; made up where none is built."""
        seed = blake2_256(self.name.encode() + broadcast_id.to_bytes(4, "little"))
        if self.chain.family.transaction_out == "H256":
            return seed, seed
        signature = seed + blake2_256(seed)
        if self.chain.family.transaction_ref == "sol::Signature":
            return signature, signature
        return signature, values.PolkadotTransactionId(block_number=self.tracking.height(), extrinsic_index=1)

    def _is_over(self, broadcast_id: int) -> None:
        self.PendingBroadcasts.put(_without(self.PendingBroadcasts.get(), broadcast_id))
        self.Timeouts.put([timeout for timeout in self.Timeouts.get() if timeout[1] != broadcast_id])
        if barriers := self.BroadcastBarriers.get():
            self.BroadcastBarriers.put(barriers_left(barriers, self.PendingBroadcasts.get()))

    @property
    def tracking(self) -> ChainTracking:
        """The tracking pallet of the same chain."""
        return self.other(CHAIN_TRACKING[self.chain.name])

    def _next_id(self) -> int:
        broadcast_id: int = self.BroadcastIdCounter.mutate(lambda last: last + 1)
        return broadcast_id

    def _add_pending(self, broadcast_id: int) -> None:
        self.PendingBroadcasts.mutate(lambda ids: sorted({*ids, broadcast_id}))


def _without(ids: Sequence[int], broadcast_id: int) -> list[int]:
    return [pending_id for pending_id in ids if pending_id != broadcast_id]
