"""How often a call is signed again, what ends the wait for it, and with which error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from cfnode.core.block import BlockRef
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.validity import Invalid, UnknownValidity
from cfnode.node.chain.events import Publisher
from cfnode.node.pool import errors as pool
from cfnode.node.pool.watchers import StatusKind, TxStatus, Watch
from cfnode.node.signing import submission
from cfnode.node.signing.outcome import (
    BlockEvent,
    EventError,
    Inclusion,
    SubmissionError,
    decode_dispatch_error,
    dispatch_error_text,
    rust_debug,
)
from cfnode.node.signing.submission import SignedClient, Submission, SubmittedCall, TooManyCalls
from cfnode.runtime.calls import Deadline, ExecutorDied, LocalFault


class RefusingPool:
    """A pool that refuses with each of the given errors, then takes the transaction."""

    def __init__(self, *errors: pool.PoolError, gaps: int = 0) -> None:
        self.errors = list(errors)
        self.gaps = gaps
        self.offered: list[bytes] = []
        self.removed: list[bytes] = []

    async def ready_nonce(self, account: bytes) -> int:
        """Return the number of offers so far as the next nonce."""
        return len(self.offered)

    async def submit_and_watch(self, extrinsic: bytes, source: int) -> Watch:
        """Refuse with the next error, or accept."""
        self.offered.append(extrinsic)
        if self.errors:
            raise self.errors.pop(0)
        return Watch(extrinsic, Publisher[TxStatus](None).subscribe())

    def is_future(self, tx_hash: bytes) -> bool:
        """Return whether the last offer is beyond a gap."""
        return len(self.offered) <= self.gaps

    def remove_invalid(self, hashes: list[bytes]) -> list[bytes]:
        """Record the removal."""
        self.removed += hashes
        return hashes


def client(refusing: RefusingPool) -> SignedClient:
    """Return a client of this pool whose signatures are texts."""
    chain = SimpleNamespace(best=BlockRef(b"best", 7))
    made = SignedClient(chain, refusing, Keypair.from_suri("//Alice"), syncing=lambda: None)  # type: ignore

    async def sign(call: SubmittedCall, nonce: int, above: BlockRef) -> bytes:
        return b"signed with nonce %d" % nonce

    made._sign = sign  # type: ignore[method-assign]
    return made


RETRIED = (
    pool.TooLowPriority(1, 1),
    pool.InvalidTransaction(Invalid("Stale")),
    pool.InvalidTransaction(Invalid("BadProof")),
)


async def test_a_used_nonce_is_replaced_by_the_next_one() -> None:
    """Replace a used nonce by the next one."""
    refusing = RefusingPool(*RETRIED)
    await client(refusing).submit(SubmittedCall("System", "remark"), dry_run=False)
    assert refusing.offered == [b"signed with nonce %d" % n for n in range(4)]


async def test_a_transaction_beyond_a_nonce_gap_is_removed_and_signed_again() -> None:
    """Remove a transaction beyond a gap of nonces, and sign it again."""
    refusing = RefusingPool(gaps=2)
    sent = await client(refusing).submit(SubmittedCall("System", "remark"), dry_run=False)
    assert refusing.removed == [b"signed with nonce 0", b"signed with nonce 1"]
    assert sent.tx_hash == b"signed with nonce 2"


async def test_a_call_fails_after_ten_attempts() -> None:
    """Give up after ten attempts."""
    refusing = RefusingPool(*RETRIED * 4)
    with pytest.raises(SubmissionError) as refusal:
        await client(refusing).submit(SubmittedCall("System", "remark"), dry_run=False)
    assert str(refusal.value) == "Failed to submit extrinsic to the transaction pool after 10 attempts"
    assert len(refusing.offered) == 10


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (pool.InvalidTransaction(Invalid("Future")), "InvalidTransaction(Future)"),
        (pool.InvalidTransaction(Invalid("Custom", 7)), "InvalidTransaction(Custom(7))"),
        (pool.UnknownTransaction(UnknownValidity("CannotLookup")), "UnknownTransaction(CannotLookup)"),
        (pool.ImmediatelyDropped(), "ImmediatelyDropped"),
        (pool.TemporarilyBanned(), "TemporarilyBanned"),
    ],
)
async def test_any_other_refusal_is_final(error: pool.PoolError, text: str) -> None:
    """Return any other refusal at once."""
    refusing = RefusingPool(error)
    with pytest.raises(SubmissionError) as refusal:
        await client(refusing).submit(SubmittedCall("System", "remark"), dry_run=False)
    assert str(refusal.value) == text
    assert len(refusing.offered) == 1


async def test_the_payment_error_has_the_official_text_and_the_needed_funding() -> None:
    """Return the official text of the payment error, and the needed funding."""
    with pytest.raises(SubmissionError) as refusal:
        await client(RefusingPool(pool.InvalidTransaction(Invalid("Payment")))).submit(
            SubmittedCall("System", "remark"), dry_run=False
        )
    assert str(refusal.value) == (
        "InvalidTransaction(Payment): the account cannot pay the transaction fee: fund it with FLIP "
        "(minimum funding is 1 FLIP, 5 FLIP is recommended)"
    )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (StatusKind.INVALID, '"transaction is no longer valid in the current state"'),
        (StatusKind.DROPPED, '"transaction was dropped from the pool because of the limit"'),
        (StatusKind.RETRACTED, '"The block this transaction was included in has been retracted."'),
        (StatusKind.FINALITY_TIMEOUT, '"Maximum number of finality watchers has been reached"'),
        (
            StatusKind.USURPED,
            '"Transaction has been replaced in the pool, by another transaction that provides the same tags '
            'for example same (sender, nonce)."',
        ),
        (None, "Unexpected end of stream"),
    ],
)
async def test_the_end_of_a_watch_has_the_official_error_text(kind: StatusKind | None, text: str) -> None:
    """End a watch with the official text for each status."""
    publisher = Publisher[TxStatus](None)
    statuses = publisher.subscribe()
    publisher.publish(TxStatus(StatusKind.READY))
    if kind is not None:
        publisher.publish(TxStatus(kind, b"\1" * 32))
    publisher.finish()
    with Submission(None, Watch(b"hash", statuses)) as submission:  # type: ignore[arg-type]
        with pytest.raises(SubmissionError) as refusal:
            await submission.in_block()
        assert str(refusal.value).startswith(text)


def test_module_errors_are_named_by_the_metadata(metadata_v15: bytes) -> None:
    """Name a module's error by the metadata."""
    metadata = decode_metadata(metadata_v15)
    error = decode_dispatch_error(metadata, bytes([3, 30, 2, 0, 0, 0]))
    assert dispatch_error_text(metadata, error) == (
        'KnownModuleError { pallet: "Swapping", name: "NoFundsAvailable", '
        'error: "The withdrawal is not possible because not enough funds are available." }'
    )


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("02", "DispatchError(BadOrigin)"),
        ("0700", "DispatchError(Token(FundsUnavailable))"),
        ("0801", "DispatchError(Arithmetic(Overflow))"),
        ("00", 'DispatchError(Other(""))'),
    ],
)
def test_other_dispatch_errors_look_as_rust_prints_them(metadata_v15: bytes, encoded: str, text: str) -> None:
    """Print other dispatch errors as Rust does: clients compare these texts."""
    metadata = decode_metadata(metadata_v15)
    assert dispatch_error_text(metadata, decode_dispatch_error(metadata, bytes.fromhex(encoded))) == text


def test_the_debug_form_covers_every_shape_of_a_variant() -> None:
    """Print every shape of a variant as Rust's Debug does."""
    values: list[Any] = ["Unit", ("One", 5), ("Named", {"a": "X", "b": b"\1\2"}), ("Outer", ("Inner", 1))]
    assert [rust_debug(value) for value in values] == [
        "Unit",
        "One(5)",
        "Named { a: X, b: [1, 2] }",
        "Outer(Inner(1))",
    ]


def test_a_missing_event_is_reported_as_a_success_without_result() -> None:
    """Report a missing event as a success whose result could not be read."""
    events = (BlockEvent("System", "ExtrinsicSuccess", {}), BlockEvent("Swapping", "Odd", 5))
    inclusion = Inclusion(b"hash", BlockRef(b"block", 1), 2, events)
    assert inclusion.event("System", "ExtrinsicSuccess") == {}
    for name in ("WithdrawalRequested", "Odd"):
        with pytest.raises(EventError) as refusal:
            inclusion.event("Swapping", name)
        assert str(refusal.value).startswith(
            "The extrinsic was submitted successfully but an error occurred while trying to extract the "
            f"event: Swapping.{name}: "
        )


async def test_when_too_many_calls_wait_to_be_signed_the_next_one_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Refuse a call at once when too many wait to be signed."""
    monkeypatch.setattr(submission, "MAX_WAITING_CALLS", 3)
    sending, refused = client(RefusingPool()), list[TooManyCalls]()

    async def submit() -> None:
        try:
            await sending.submit(SubmittedCall("System", "remark"), dry_run=False)
        except TooManyCalls as error:
            refused.append(error)

    async with trio.open_nursery() as nursery, sending._submitting:
        for _ in range(5):
            nursery.start_soon(submit)
            await trio.testing.wait_all_tasks_blocked()
    assert [str(error) for error in refused] == ["3 calls wait to be signed: try again later"] * 2


async def test_a_local_fault_is_not_the_callers_and_one_that_stays_names_what_was_executed(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Retry reading the events after a local fault; if it stays, name what was executed."""
    faults: list[LocalFault] = [ExecutorDied("killed"), Deadline("Metadata_metadata", 30)]
    inclusion = Inclusion(b"\1" * 32, BlockRef(b"\2" * 32, 7), 0, ())

    async def read(*_: object) -> Inclusion:
        await trio.lowlevel.checkpoint()
        if faults:
            raise faults.pop(0)
        return inclusion

    monkeypatch.setattr(submission, "read_inclusion", read)
    included = TxStatus(StatusKind.IN_BLOCK, b"\2" * 32, 0)
    for expected in (inclusion, EventError):
        publisher = Publisher[TxStatus](None)
        with Submission(None, Watch(b"\1" * 32, publisher.subscribe())) as sent:  # type: ignore[arg-type]
            publisher.publish(included)
            if expected is inclusion:
                assert await sent.in_block() is inclusion
            else:
                faults = [ExecutorDied("killed")] * 9
                with pytest.raises(EventError, match=f"submitted successfully.*0x{'01' * 32}: killed"):
                    await sent.in_block()


async def test_a_submission_is_retried_after_a_local_fault_of_the_pool() -> None:
    """Offer a call again after a local fault of the pool."""
    refusing = RefusingPool(pool.NotJudged("killed"), pool.NotJudged("killed"))
    sent = client(refusing)
    watch = await sent._into_pool(SubmittedCall("System", "remark"))
    assert len(refusing.offered) == 3
    watch.statuses.close()
