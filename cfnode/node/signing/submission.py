"""Submission of the node's own calls: dry run, signature, pool, and the wait for the result.

It works like Chainflip's signed pool client: a dry run at the best block; then nonce, mortal era from the
last finalized block, signature and pool, one transaction at a time; then the status stream until the
transaction is in a block (or final). If another transaction has used the nonce meanwhile, the call is signed
again, up to ten times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import trio

from cfnode.core.block import BlockRef
from cfnode.core.extrinsic import Era, sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from cfnode.core.validity import SOURCE_EXTERNAL, Invalid
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.local_faults import retry_after_fault
from cfnode.node.chain.runtime_info import RuntimeInfo
from cfnode.node.liveness import Liveness
from cfnode.node.pool.errors import InvalidTransaction, NotJudged, PoolError, TooLowPriority
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.pool.watchers import StatusKind, TxStatus, Watch
from cfnode.node.signing.outcome import (
    EventError,
    Inclusion,
    SubmissionError,
    decode_dispatch_error,
    dispatch_error_text,
    read_inclusion,
)
from cfnode.node.signing.submission_tally import Outcome, SubmissionTally
from cfnode.runtime.calls import LocalFault, RuntimeTrap
from cfnode.store import StateDiscarded, StoreError

LIFETIME_BLOCKS = 128
MAX_CONCURRENT_DRY_RUNS = 4
"""Dry runs in the executor at a time: building a block must not queue behind many."""
MAX_WAITING_CALLS = 2048
"""Calls that may wait for their dry run or signature."""
MAX_SUBMISSION_ATTEMPTS = 10
FUNDING_HINT = (
    "the account cannot pay the transaction fee: fund it with FLIP "
    "(minimum funding is 1 FLIP, 5 FLIP is recommended)"
)

_ENDINGS = {
    StatusKind.INVALID: '"transaction is no longer valid in the current state"',
    StatusKind.DROPPED: '"transaction was dropped from the pool because of the limit"',
    StatusKind.USURPED: (
        '"Transaction has been replaced in the pool, by another transaction that provides the same tags '
        'for example same (sender, nonce)."'
    ),
    StatusKind.FINALITY_TIMEOUT: '"Maximum number of finality watchers has been reached"',
    StatusKind.RETRACTED: '"The block this transaction was included in has been retracted."',
}


class NotReady(Exception):
    """The refusal of a call on a node that is not synced: nothing has been signed or sent."""


class NotYetIncluded(Exception):
    """A transaction in the pool without a block in time that could include it, or make it final."""

    def __init__(self, tx_hash: bytes, block: bytes | None, reason: str) -> None:
        status = "not yet included" if block is None else f"included in block 0x{block.hex()}, not yet final"
        super().__init__(
            f"transaction 0x{tx_hash.hex()} sent, {status} ({reason}): it may still be executed, so look for "
            "its hash before you send the call again"
        )
        self.tx_hash = tx_hash


class TooManyCalls(Exception):
    """The refusal of a call since too many wait to be signed: nothing has been signed or sent."""


@dataclass(frozen=True, slots=True)
class SubmittedCall:
    """A runtime call; `fields` in the mapping of the SCALE codec."""

    pallet: str
    name: str
    fields: dict[str, Any] | None = None

    @property
    def value(self) -> Any:
        """The call as a value of the metadata's RuntimeCall."""
        return self.pallet, (self.name, self.fields) if self.fields else self.name


class SignedClient:
    """The submitter of calls signed by one key.

    `syncing` returns what a node that is behind waits for; None when the node is synced. `liveness`: whether
    blocks arrive; None where blocks are made on demand, and the wait has no limit.
    """

    def __init__(
        self, chain: NodeChain, pool: TransactionPool, key: Keypair, *,
        syncing: Callable[[], str | None], liveness: Liveness | None = None,
    ) -> None:  # fmt: skip
        self._chain = chain
        self._pool = pool
        self._key = key
        self._syncing = syncing
        self._liveness = liveness
        self.tally = SubmissionTally()
        self._trying = trio.CapacityLimiter(MAX_CONCURRENT_DRY_RUNS)
        self._submitting = trio.Lock()

    @property
    def account(self) -> bytes:
        """The account that signs and pays, 32 bytes."""
        return self._key.account

    def repeat_signatures(self) -> None:
        """Sign equal transactions with equal bytes, on a development chain."""
        self._key = self._key.repeatable()

    async def submit(self, call: SubmittedCall, *, dry_run: bool = True) -> Submission:
        """Sign and send a call; the result is a context manager.

        Raise NotReady, TooManyCalls or SubmissionError.
        """
        self._require_ready()
        self._require_room()
        with self.tally.under_way():
            try:
                watch = await self._sent(call, dry_run)
            except SubmissionError:
                self.tally.count("refused")
                raise
        return Submission(self._chain, watch, self._liveness, self.tally)

    async def _sent(self, call: SubmittedCall, dry_run: bool) -> Watch:
        if dry_run:
            async with self._trying:
                await retry_after_fault(lambda: self._dry_run(call))
        async with self._submitting:
            return await self._into_pool(call)

    async def _into_pool(self, call: SubmittedCall) -> Watch:
        for _ in range(MAX_SUBMISSION_ATTEMPTS):
            self._require_ready()
            nonce = await self._pool.ready_nonce(self.account)
            extrinsic = await self._sign(call, nonce, self._chain.best)
            try:
                watch = await self._pool.submit_and_watch(extrinsic, SOURCE_EXTERNAL)
            except PoolError as error:
                if not _worth_another_nonce(error):
                    raise SubmissionError(_pool_text(error)) from error
                continue
            if not self._pool.is_future(watch.hash):
                return watch
            # The transaction before it was removed meanwhile, so this one would wait forever.
            self._pool.remove_invalid([watch.hash])
            watch.statuses.close()
        raise SubmissionError(
            f"Failed to submit extrinsic to the transaction pool after {MAX_SUBMISSION_ATTEMPTS} attempts"
        )

    async def _dry_run(self, call: SubmittedCall) -> None:
        best = self._chain.best
        if best.number == 0:
            return  # the genesis state has no block hash: a signed extrinsic cannot be dry-run on it
        nonce = await self._chain.queries.account_nonce(best.hash, self.account)
        extrinsic = await self._sign(call, nonce, best)
        try:
            outcome = await self._chain.queries.dry_run(best.hash, extrinsic)
        except RuntimeTrap as error:
            raise SubmissionError(f"RuntimeApiError({error})") from error
        if outcome.invalid is not None:
            raise SubmissionError(_invalid_text(outcome.invalid))
        if outcome.dispatch_error is not None:
            metadata = (await self._chain.runtime_at(best.hash)).metadata
            error_value = decode_dispatch_error(metadata, outcome.dispatch_error)
            raise SubmissionError(dispatch_error_text(metadata, error_value))

    async def _sign(self, call: SubmittedCall, nonce: int, above: BlockRef) -> bytes:
        """Return the call as a transaction for the next block on top of `above`."""
        runtime: RuntimeInfo = await self._chain.runtime_at(above.hash)
        birth = self._birth(above)
        return sign_extrinsic(
            runtime.metadata,
            _encoded(runtime, call),
            self._key,
            nonce=nonce,
            era=Era.mortal(LIFETIME_BLOCKS, birth.number),
            era_hash=birth.hash,
            genesis_hash=self._chain.genesis_hash,
            spec_version=runtime.version.spec_version,
            transaction_version=runtime.version.transaction_version,
        )

    def _birth(self, above: BlockRef) -> BlockRef:
        """Return the block at which the era of a transaction begins: the last finalized one.

        The state on which the transaction is executed lacks the hash of its own block, and later ones: if
        that block is final already, the era begins at its parent.
        """
        finalized, header = self._chain.finalized, self._chain.header(above.hash)
        if header is None or header.number == 0 or finalized.number < header.number:
            return finalized
        return BlockRef(header.parent_hash, header.number - 1)

    def _require_room(self) -> None:
        waiting = self._trying.statistics().tasks_waiting + self._submitting.statistics().tasks_waiting
        if waiting >= MAX_WAITING_CALLS:
            raise TooManyCalls(f"{waiting} calls wait to be signed: try again later")

    def _require_ready(self) -> None:
        phase = self._syncing()
        if phase is not None:
            raise NotReady(
                f"the node is still syncing with the chain ({phase}): nothing has been signed or sent. "
                "Wait until system_health returns isSyncing false (cfnode wait --synced)"
            )


class Submission:
    """A transaction of this node in the pool; a context manager that ends the watch.

    The transaction stays in the pool, and is still sent to peers, after the watch has ended.
    """

    def __init__(
        self,
        chain: NodeChain,
        watch: Watch,
        liveness: Liveness | None = None,
        tally: SubmissionTally | None = None,
    ) -> None:
        self._chain = chain
        self._watch = watch
        self._liveness = liveness
        self._tally = tally or SubmissionTally()
        self._waiting = self._tally.under_way()
        self._is_counted = False
        self._included: bytes | None = None

    def __enter__(self) -> Submission:
        """Count the call as waiting, and return the submission."""
        self._waiting.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """End the watch and the wait; the transaction stays in the pool."""
        self._watch.statuses.close()
        self._waiting.__exit__(None, None, None)

    def _count(self, outcome: Outcome) -> None:
        """Count the call once: a wait for its finality is still for the same call."""
        if not self._is_counted:
            self._tally.count(outcome)
        self._is_counted = True

    @property
    def tx_hash(self) -> bytes:
        """The Blake2-256 hash of the extrinsic."""
        return self._watch.hash

    async def in_block(self) -> Inclusion:
        """Wait for inclusion in the best chain; return the block and the events.

        Raise SubmissionError if the transaction fails or is dropped, and NotYetIncluded if no blocks arrive.
        """
        return await self._reach(StatusKind.IN_BLOCK)

    async def finalized(self) -> Inclusion:
        """Wait for finality; return the block and the events.

        Raise SubmissionError if the transaction fails or is dropped, and NotYetIncluded if no blocks arrive.
        """
        return await self._reach(StatusKind.FINALIZED)

    async def _reach(self, wanted: StatusKind) -> Inclusion:
        if self._liveness is None:
            return await self._inclusion(await self._status(wanted))
        with self._liveness.answer_deadline() as scope:
            status = await self._status(wanted)
        if scope.cancelled_caught:
            self._count("unknown" if self._included is None else "included")
            raise NotYetIncluded(self.tx_hash, self._included, self._liveness.reason or "no block arrives")
        return await self._inclusion(status)

    async def _status(self, wanted: StatusKind) -> TxStatus:
        async for status in self._watch.statuses:
            if status.kind is StatusKind.IN_BLOCK:
                self._included = status.hash
            if status.kind is wanted:
                return status
            if status.kind in _ENDINGS:
                self._count("dropped")
                raise SubmissionError(_ENDINGS[status.kind])
        sent = f"transaction 0x{self.tx_hash.hex()} was sent, and may still be executed"
        raise SubmissionError(f"Unexpected end of stream: {sent}")

    async def _inclusion(self, status: TxStatus) -> Inclusion:
        """Return the block and the events of the transaction.

        Raise SubmissionError if it failed, and EventError if this node cannot read its events; the call was
        executed nevertheless.
        """
        block, index = status.hash, status.index
        assert block is not None and index is not None
        try:
            inclusion = await retry_after_fault(
                lambda: read_inclusion(self._chain, self.tx_hash, block, index)
            )
            self._count("included")
            return inclusion
        except SubmissionError:
            self._count("failed")
            raise
        except (LocalFault, StateDiscarded, StoreError) as fault:
            self._count("unknown")
            raise EventError(f"of transaction 0x{self.tx_hash.hex()}", str(fault)) from fault


def _encoded(runtime: RuntimeInfo, call: SubmittedCall) -> bytes:
    try:
        return runtime.metadata.call_codec.encode(call.value)
    except ScaleError as error:
        version = runtime.version.spec_version
        raise SubmissionError(
            f"runtime {version} does not accept this call of {call.pallet}.{call.name}: {error}"
        ) from error


def _worth_another_nonce(error: PoolError) -> bool:
    if isinstance(error, InvalidTransaction):
        return error.reason.reason in ("Stale", "BadProof")
    return isinstance(error, TooLowPriority | NotJudged)


def _invalid_text(reason: object) -> str:
    kind = "Invalid" if isinstance(reason, Invalid) else "Unknown"
    return _hinted(f"{kind}({reason})", reason)


def _pool_text(error: PoolError) -> str:
    return _hinted(str(error), error.reason if isinstance(error, InvalidTransaction) else None)


def _hinted(text: str, reason: object) -> str:
    return f"{text}: {FUNDING_HINT}" if reason == Invalid("Payment") else text
