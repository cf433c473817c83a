"""The transaction pool over a chain that moves: statuses, limits, bans, forks."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from cfnode.core.scale import encode_compact
from cfnode.core.validity import Invalid, Validity
from cfnode.node.pool.bans import BAN_SECONDS
from cfnode.node.pool.errors import (
    AlreadyImported,
    BadFormat,
    ImmediatelyDropped,
    InvalidTransaction,
    NoTagsProvided,
    NotJudged,
    PoolError,
    TemporarilyBanned,
    TooLowPriority,
    Unactionable,
    UnknownTransaction,
    VerificationFailed,
)
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.pool.transaction import Limit
from cfnode.node.pool.watchers import StatusKind, TxStatus, Watch
from cfnode.runtime.calls import ExecutorDied
from cfnode.store import ARCHIVE
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, account, hash_of, put, tx


@pytest.fixture
async def rig(make_rig: MakeRig, nursery: trio.Nursery) -> Rig:
    """Return a rig whose pool follows the chain."""
    rig = await make_rig()
    nursery.start_soon(rig.pool.run)
    return rig


async def settle() -> None:
    """Let the pool catch up with the chain."""
    await trio.testing.wait_all_tasks_blocked()


def seen(watch: Watch) -> list[TxStatus]:
    """Return the statuses of a watch so far."""
    statuses = []
    while (status := watch.statuses.receive_nowait()) is not None:
        statuses.append(status)
    return statuses


def kinds(watch: Watch) -> list[str]:
    """Return the kinds of the statuses so far."""
    return [status.kind.value for status in seen(watch)]


def ready(pool: TransactionPool) -> list[bytes]:
    """Return the hashes of ready transactions."""
    return [transaction.hash for transaction in pool.ready()]


async def test_a_watched_transaction_reports_all_statuses(rig: Rig) -> None:
    """Report every status of a watched transaction from ready to finalized."""
    extrinsic = tx("alice", 0, put("colour", "red"))
    watch = await rig.pool.submit_and_watch(extrinsic)
    assert watch.hash == hash_of(extrinsic)
    rig.pool.mark_broadcast(watch.hash, ["12D3KooWPeer"])
    made = await rig.author.new_block(finalize=True)
    await settle()
    index = (rig.chain.body(made.block.hash) or []).index(extrinsic)
    assert [status async for status in watch.statuses] == [
        TxStatus(StatusKind.READY),
        TxStatus(StatusKind.BROADCAST, peers=("12D3KooWPeer",)),
        TxStatus(StatusKind.IN_BLOCK, made.block.hash, index),
        TxStatus(StatusKind.FINALIZED, made.block.hash, index),
    ]
    assert rig.pool.status.ready == 0
    assert rig.read("colour") == "red"


async def test_a_nonce_ahead_waits_in_the_future_and_is_promoted(rig: Rig) -> None:
    """Hold a nonce ahead in the future, promote it, and count it for the next nonce."""
    late = await rig.pool.submit_and_watch(tx("alice", 1))
    assert await rig.pool.ready_nonce(account("alice")) == 0
    await rig.pool.submit(tx("alice", 0))
    assert kinds(late) == ["future", "ready"]
    assert await rig.pool.ready_nonce(account("alice")) == 2
    made = await rig.author.new_block()
    assert made.taken == 2
    assert await rig.pool.ready_nonce(account("alice")) == 2


BAD_INPUT = "Bad input data provided to validate_transaction"


@pytest.mark.parametrize(
    ("extrinsic", "error", "text"),
    [
        (tx("poor", 0), InvalidTransaction, "InvalidTransaction(Payment)"),
        (tx("odd", 0), NoTagsProvided, "NoTagsProvided"),
        (tx("alice", 0, b"trap"), VerificationFailed, "the call cannot be decoded"),
        (encode_compact(3) + b"\x04ab", UnknownTransaction, "UnknownTransaction(NoUnsignedValidator)"),
        (b"", BadFormat, None),
        (b"\0", VerificationFailed, f"{BAD_INPUT}: Not enough data to fill buffer"),
        (tx("alice", 0) + b"!", BadFormat, None),
        (tx("alice", 0)[:-1], BadFormat, None),
    ],
)
async def test_what_the_runtime_does_not_call_valid_is_refused(
    rig: Rig, extrinsic: bytes, error: type[PoolError], text: str | None
) -> None:
    """Refuse what the runtime does not call valid, with the official text; nothing is kept."""
    with pytest.raises(error) as refusal:
        await rig.pool.submit(extrinsic)
    assert text is None or str(refusal.value) == text
    assert rig.pool.status.ready == rig.pool.status.future == 0


async def test_a_duplicate_and_an_included_transaction_have_different_errors(rig: Rig) -> None:
    """Distinguish a duplicate from a transaction that is in a block."""
    await rig.pool.submit(tx("alice", 0))
    with pytest.raises(AlreadyImported) as refusal:
        await rig.pool.submit(tx("alice", 0))
    assert refusal.value.hash == hash_of(tx("alice", 0))
    await rig.author.new_block()
    await settle()
    with pytest.raises(TemporarilyBanned):
        await rig.pool.submit(tx("alice", 0))
    with pytest.raises(InvalidTransaction, match="Stale"):
        await rig.pool.submit(tx("alice", 0, priority=9))


async def test_an_invalid_one_is_banned_for_half_an_hour(
    rig: Rig, autojump_clock: trio.testing.MockClock
) -> None:
    """Ban an invalid transaction for half an hour, and judge it anew afterwards."""
    with pytest.raises(InvalidTransaction):
        await rig.pool.submit(tx("poor", 0))
    await trio.sleep(BAN_SECONDS - 1)
    with pytest.raises(TemporarilyBanned):
        await rig.pool.submit(tx("poor", 0))
    await trio.sleep(2)
    with pytest.raises(InvalidTransaction):
        await rig.pool.submit(tx("poor", 0))


@pytest.mark.parametrize("extrinsic", [tx("alice", 0, b"trap"), tx("odd", 0), b"\0"])
@pytest.mark.parametrize("submit", ["submit", "submit_and_watch"])
async def test_what_the_runtime_traps_on_or_gives_no_tags_is_banned_too(
    rig: Rig, extrinsic: bytes, submit: str
) -> None:
    """Ban a transaction on which the runtime traps, too: it would trap at every submission."""
    with pytest.raises((VerificationFailed, NoTagsProvided)):
        await getattr(rig.pool, submit)(extrinsic)
    with pytest.raises(TemporarilyBanned):
        await getattr(rig.pool, submit)(extrinsic)


async def test_what_this_node_could_not_judge_or_the_runtime_does_not_know_is_not_banned(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ban nothing that this node could not judge or that the runtime does not know."""
    unsigned = encode_compact(3) + b"\x04ab"
    for _ in range(2):
        with pytest.raises(UnknownTransaction):
            await rig.pool.submit(unsigned)

    async def killed(*_: object) -> bytes:
        raise ExecutorDied("killed")

    with monkeypatch.context() as patched:
        patched.setattr(rig.executor, "validate", killed)
        with pytest.raises(NotJudged):
            await rig.pool.submit(tx("alice", 0))
    await rig.pool.submit(tx("alice", 0))


async def test_a_replacement_needs_a_higher_priority(rig: Rig) -> None:
    """Replace a transaction only for a higher priority, and notify its watcher."""
    old = await rig.pool.submit_and_watch(tx("alice", 0, priority=5))
    with pytest.raises(TooLowPriority) as refusal:
        await rig.pool.submit(tx("alice", 0, put("a", "b"), priority=5))
    assert (refusal.value.old, refusal.value.new) == (5, 5)
    new = await rig.pool.submit(tx("alice", 0, priority=6))
    assert seen(old) == [TxStatus(StatusKind.READY), TxStatus(StatusKind.USURPED, new)]
    assert ready(rig.pool) == [new]


async def test_blocks_include_high_priorities_first_and_nonces_in_order(rig: Rig) -> None:
    """Fill blocks by priority, with an account's nonces in order."""
    extrinsics = [
        tx("alice", 0, priority=1),
        tx("alice", 1, priority=9),
        tx("bob", 0, priority=5),
        tx("carol", 0, priority=1),
    ]
    for extrinsic in extrinsics:
        await rig.pool.submit(extrinsic)
    await rig.author.new_block()
    assert (rig.chain.body(rig.chain.best.hash) or [])[1:] == [
        extrinsics[2],
        extrinsics[0],
        extrinsics[1],
        extrinsics[3],
    ]


async def test_a_full_pool_drops_the_lowest_priority_and_notifies_its_watcher(
    make_rig: MakeRig, nursery: trio.Nursery
) -> None:
    """Drop the lowest priority of a full pool, notify its watcher, and refuse lower ones at once."""
    rig = await make_rig(limit=Limit(2, 10_000))
    poor = await rig.pool.submit_and_watch(tx("alice", 0, priority=1))
    await rig.pool.submit(tx("bob", 0, priority=5))
    await rig.pool.submit(tx("carol", 0, priority=5))
    assert kinds(poor) == ["ready", "dropped"]
    with pytest.raises(ImmediatelyDropped):
        await rig.pool.submit(tx("dave", 0, priority=2))
    assert ready(rig.pool) == [hash_of(tx("bob", 0, priority=5)), hash_of(tx("carol", 0, priority=5))]
    with pytest.raises(ImmediatelyDropped):  # the future queue has a tenth: nothing
        await rig.pool.submit(tx("eve", 7))


async def test_a_transaction_that_no_block_could_include_is_refused(rig: Rig) -> None:
    """Refuse a transaction that is neither propagated nor authored here."""
    pool = TransactionPool(rig.chain, authoring=False)
    rig.runtime.call = quiet(rig.runtime.call)  # type: ignore[method-assign]
    with pytest.raises(Unactionable):
        await pool.submit(tx("alice", 0))
    await rig.pool.submit(tx("alice", 0))


def quiet(call):  # type: ignore[no-untyped-def]
    """Return a runtime whose valid transactions are not to be propagated."""

    def answer(function, args, journal):  # type: ignore[no-untyped-def]
        output = call(function, args, journal)
        return output[:-1] + b"\0" if function.startswith("TaggedTransaction") else output

    return answer


async def test_a_mortal_transaction_expires_with_its_era(rig: Rig) -> None:
    """Remove a mortal transaction once its era is over, without asking the runtime again."""
    await rig.block()
    rig.runtime.call = without_revalidation(rig.runtime.call)  # type: ignore[method-assign]
    watch = await rig.pool.submit_and_watch(tx("alice", 1, life=3))
    for _ in range(3):
        await rig.block()
        await settle()
    assert kinds(watch) == ["future", "invalid"]


def without_revalidation(call):  # type: ignore[no-untyped-def]
    """Return a runtime that traps when asked a second time about a transaction."""
    asked: set[bytes] = set()

    def answer(function, args, journal):  # type: ignore[no-untyped-def]
        if function.startswith("TaggedTransaction"):
            if args[1:-32] in asked:
                return call(function, args[:1] + tx("alice", 1, b"trap") + args[-32:], journal)
            asked.add(args[1:-32])
        return call(function, args, journal)

    return answer


async def test_a_nonce_used_up_by_a_foreign_block_makes_it_invalid(rig: Rig) -> None:
    """Call a transaction invalid whose nonce a foreign block has used."""
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    later = await rig.pool.submit_and_watch(tx("alice", 1))
    await rig.block(tx("alice", 0, put("from", "elsewhere")))
    await settle()
    assert kinds(watch) == ["ready", "invalid"]
    assert kinds(later)[:1] == ["ready"]
    assert rig.pool.status.ready + rig.pool.status.future <= 1


async def test_a_foreign_block_promotes_transactions_that_waited_for_it(rig: Rig) -> None:
    """Promote transactions for which a foreign block has cleared the way."""
    later = await rig.pool.submit_and_watch(tx("alice", 1))
    await rig.block(tx("alice", 0))
    await settle()
    assert kinds(later) == ["future", "ready"]
    assert (await rig.author.new_block()).taken == 1


async def test_a_new_runtime_that_refuses_it_makes_it_invalid(rig: Rig) -> None:
    """Call a transaction invalid that a new runtime refuses."""
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    call = rig.runtime.call

    def stricter(function, args, journal):  # type: ignore[no-untyped-def]
        return b"\1\0\0" if function.startswith("TaggedTransaction") else call(function, args, journal)

    rig.runtime.call = stricter  # type: ignore[method-assign]
    await rig.block()
    await settle()
    assert kinds(watch) == ["ready", "invalid"]
    assert rig.pool.status.ready == 0


async def test_after_a_reorganisation_of_five_the_statuses_cover_both_branches(rig: Rig) -> None:
    """Report both branches of a reorganisation: retracted, then in a block or ready again."""
    base = await rig.block()
    in_both = await rig.pool.submit_and_watch(tx("alice", 0, put("who", "both")))
    in_old = await rig.pool.submit_and_watch(tx("bob", 0, put("who", "old")))
    first = (await rig.author.new_block()).block.hash
    await settle()
    await rig.blocks(4)
    await settle()
    assert kinds(in_both) == kinds(in_old) == ["ready", "inBlock"]

    fork = [await rig.block(tx("alice", 0, put("who", "both")), on=base)]
    fork += await rig.blocks(5, on=fork[0])
    await settle()
    assert rig.chain.best.hash == fork[-1]
    assert [(s.kind.value, s.hash) for s in seen(in_both)] == [("retracted", first), ("inBlock", fork[0])]
    assert [(s.kind.value, s.hash) for s in seen(in_old)] == [("retracted", first), ("ready", None)]
    assert ready(rig.pool) == [hash_of(tx("bob", 0, put("who", "old")))]

    made = await rig.author.new_block(finalize=True)
    await settle()
    assert [(s.kind.value, s.hash) for s in seen(in_both)] == [("finalized", fork[0])]
    assert [(s.kind.value, s.hash) for s in seen(in_old)] == [
        ("inBlock", made.block.hash),
        ("finalized", made.block.hash),
    ]
    assert rig.read("who") == "old"


@pytest.mark.world
async def test_without_finality_the_watch_times_out_after_512_blocks(rig: Rig) -> None:
    """Time out a watch after 512 blocks without finality."""
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    made = await rig.author.new_block()
    for _ in range(511):
        await rig.block()
    await settle()
    assert kinds(watch) == ["ready", "inBlock"]
    await rig.block()
    await settle()
    assert seen(watch) == [TxStatus(StatusKind.FINALITY_TIMEOUT, made.block.hash)]


async def test_a_transaction_that_the_author_finds_invalid_is_removed(rig: Rig) -> None:
    """Remove a transaction that the author finds invalid."""
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    call = rig.runtime.call

    def refuse(function, args, journal):  # type: ignore[no-untyped-def]
        if function == "BlockBuilder_apply_extrinsic" and args[1:3] == tx("alice", 0)[1:3]:
            return b"\1\0\4"
        return call(function, args, journal)

    rig.runtime.call = refuse  # type: ignore[method-assign]
    made = await rig.author.new_block()
    assert (made.taken, [tx_hash for tx_hash, _ in made.refused]) == (0, [watch.hash])
    assert kinds(watch) == ["ready", "invalid"]


async def test_fifty_senders_at_once_get_fifty_nonces(rig: Rig) -> None:
    """Give fifty senders at once fifty nonces."""
    lock = trio.Lock()
    sent: list[bytes] = []

    async def send() -> None:
        async with lock:
            nonce = await rig.pool.ready_nonce(account("alice"))
            sent.append(await rig.pool.submit(tx("alice", nonce)))

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(send)
    assert len(set(sent)) == 50
    assert (await rig.author.new_block()).taken == 50


@pytest.mark.parametrize("final", [False, pytest.param(True, marks=pytest.mark.world)])
async def test_a_pool_that_was_too_slow_catches_up(
    make_rig: MakeRig, nursery: trio.Nursery, final: bool
) -> None:
    """Catch up with the missed blocks after the events overflowed."""
    rig = await make_rig(pruning=ARCHIVE)
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    late = await rig.pool.submit_and_watch(tx("bob", 0))
    first = await rig.block(tx("alice", 0))
    for _ in range(300):  # more events than a listener's queue holds
        await rig.block()
    if final:
        await rig.finality.finalize(rig.chain.best.hash)
    nursery.start_soon(rig.pool.run)
    await settle()
    wanted = [("ready", None), ("inBlock", first)] + [("finalized", first)] * final
    assert [(status.kind.value, status.hash) for status in seen(watch)] == wanted
    assert kinds(late) == ["ready"]
    assert (await rig.author.new_block()).taken == 1


@pytest.mark.world
async def test_a_pool_that_was_too_slow_reports_the_missed_reorganisation(
    make_rig: MakeRig, nursery: trio.Nursery
) -> None:
    """Report a reorganisation that a slow pool has missed."""
    rig = await make_rig()
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    first = await rig.block(tx("alice", 0))
    nursery.start_soon(rig.pool.run)
    await settle()
    assert kinds(watch) == ["ready", "inBlock"]
    fork = await rig.block(on=rig.chain.genesis_hash)
    for _ in range(300):
        fork = await rig.block(on=fork)
        if rig.chain.best.number == 2:
            await rig.finality.finalize(fork)
    await settle()
    status = seen(watch)[0]
    assert (status.kind, status.hash) == (StatusKind.RETRACTED, first)


def hold_validation(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> tuple[trio.Event, trio.Event]:
    """Return two events: each validation sets the first, and then waits for the second."""
    asked, release = trio.Event(), trio.Event()
    validate = rig.chain.queries.validate

    async def held(at: bytes, source: int, extrinsic: bytes) -> Validity:
        asked.set()
        await release.wait()
        return await validate(at, source, extrinsic)

    monkeypatch.setattr(rig.chain.queries, "validate", held)
    return asked, release


async def test_a_block_that_comes_during_the_validation_for_the_last_one_makes_nothing_invalid(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call nothing invalid that a block includes during the validation for the last one."""
    extrinsics = [tx("alice", nonce, put("colour", str(nonce))) for nonce in range(3)]
    watches = [await rig.pool.submit_and_watch(extrinsic) for extrinsic in extrinsics]
    asked, release = hold_validation(rig, monkeypatch)
    await rig.author.new_block(transactions=[])
    await asked.wait()
    await rig.author.new_block(transactions=extrinsics)
    release.set()
    await settle()
    assert [kinds(watch) for watch in watches] == [["ready", "inBlock"]] * 3


async def test_included_transactions_leave_the_pool_before_any_task_can_act_on_the_block(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is held in a slow validation; the author goes on, and offers nothing twice."""
    extrinsics = [tx("alice", nonce, put("colour", str(nonce))) for nonce in range(3)]
    watches = [await rig.pool.submit_and_watch(extrinsic) for extrinsic in extrinsics]
    later = await rig.pool.submit_and_watch(tx("bob", 0))
    asked, release = hold_validation(rig, monkeypatch)
    await rig.author.new_block(transactions=[])
    await asked.wait()
    made = await rig.author.new_block(transactions=extrinsics)
    assert rig.pool.is_at(made.block.hash)
    assert ready(rig.pool) == [later.hash]
    assert [kinds(watch) for watch in watches] == [["ready", "inBlock"]] * 3
    again = await rig.author.new_block()
    assert (again.taken, again.refused) == (1, ())
    assert rig.pool.status.ready == 0
    release.set()
    await settle()
    assert [kinds(watch) for watch in watches] == [[]] * 3
    assert kinds(later) == ["ready", "inBlock"]


async def test_a_transaction_that_a_block_includes_during_its_validation_is_refused(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse a transaction that a block includes during its validation."""
    sent = tx("alice", 0)
    asked, release = trio.Event(), trio.Event()
    real = rig.chain.queries.validate

    async def slowly(at: bytes, source: int, extrinsic: bytes) -> Validity:
        answer = await real(at, source, extrinsic)
        asked.set()
        await release.wait()
        return answer

    monkeypatch.setattr(rig.chain.queries, "validate", slowly)

    async def offer() -> None:
        with pytest.raises(TemporarilyBanned):
            await rig.pool.submit(sent)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(offer)
        await asked.wait()
        await rig.block(sent)
        release.set()
    assert hash_of(sent) not in rig.pool


async def test_a_nonce_is_asked_for_again_when_a_block_comes_meanwhile(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ask for the nonce again when a block comes meanwhile."""
    extrinsics = [tx("alice", nonce) for nonce in range(3)]
    for extrinsic in extrinsics:
        await rig.pool.submit(extrinsic)
    real, made = rig.chain.queries.account_nonce, list[bytes]()

    async def slowly(at: bytes, who: bytes) -> int:
        nonce = await real(at, who)
        if not made:
            made.append(await rig.block(*extrinsics))
        return nonce

    monkeypatch.setattr(rig.chain.queries, "account_nonce", slowly)
    assert await rig.pool.ready_nonce(account("alice")) == 3


async def test_a_verdict_of_a_block_that_the_chain_has_left_does_not_count(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ignore the verdict for a block that the chain has left."""
    watch = await rig.pool.submit_and_watch(tx("alice", 0, put("a", "1")))
    asked, release = trio.Event(), trio.Event()
    real = rig.chain.queries.validate

    async def slowly(at: bytes, source: int, extrinsic: bytes) -> Validity:
        asked.set()
        await release.wait()
        return Invalid("Stale") if at == lost else await real(at, source, extrinsic)

    monkeypatch.setattr(rig.chain.queries, "validate", slowly)
    lost = await rig.block()
    await asked.wait()
    await rig.blocks(2, on=rig.chain.genesis_hash)
    release.set()
    await settle()
    assert kinds(watch) == ["ready"]
    assert (await rig.author.new_block()).taken == 1


async def test_a_retracted_transaction_that_meets_a_fault_returns_with_the_next_block(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Return a retracted transaction with the next block where a fault prevented its validation."""
    sent = tx("alice", 0, put("a", "1"))
    watch = await rig.pool.submit_and_watch(sent)
    block_hash = await rig.block(sent)
    await settle()
    faults = 0
    real = rig.executor.validate

    async def fail(*_: object) -> bytes:
        nonlocal faults
        faults += 1
        raise ExecutorDied("killed")

    monkeypatch.setattr(rig.executor, "validate", fail)
    fork = await rig.blocks(2, on=rig.chain.genesis_hash)
    await settle()
    assert faults > 0
    assert [(status.kind.value, status.hash) for status in seen(watch)][-1] == ("retracted", block_hash)
    monkeypatch.setattr(rig.executor, "validate", real)
    await rig.block(on=fork[-1])
    await settle()
    assert kinds(watch) == ["ready"]
    assert ready(rig.pool) == [hash_of(sent)]


async def test_a_pool_that_fails_to_follow_starts_again_without_affecting_the_chain(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Start again without harm to the chain when the pool fails to follow, and log it."""
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    with monkeypatch.context() as patched:
        patched.setattr(rig.pool, "_include", lambda block: {}["surprise"])
        block = await rig.block(tx("alice", 0))
    assert rig.chain.best.hash == block
    assert "The pool did not follow the chain, please report it" in caplog.text
    assert not rig.pool.is_at(block)
    await settle()
    assert rig.pool.is_at(block)
    assert kinds(watch) == ["ready", "inBlock"]
