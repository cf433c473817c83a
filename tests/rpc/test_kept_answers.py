"""Answers that a block fixes are made once for the block, and never outlive it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from cfnode.core.jsonrpc import RpcCall, parse
from cfnode.node.config import RpcConfig
from cfnode.rpc.answering import kept_answers
from cfnode.rpc.answering.client import RpcClient
from cfnode.rpc.answering.dispatch import Dispatcher
from cfnode.rpc.answering.kept_answers import NOTHING_KEPT, KeptAnswers
from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.methods import BROKER_METHODS, EVERYWHERE, LP
from cfnode.rpc.substrate import chain, state
from cfnode.rpc.table.rows import Access, FixedBy, Method, Table
from cfnode.serving.reply import SHARED_FROM
from tests.rpc.clients import StandIn
from tests.rpc.conftest import Served
from tests.support.rpc.storage import NUMBER, UNKNOWN


class Revision:
    """A chain's revision."""

    def __init__(self) -> None:
        self.revision = 0


def test_a_text_is_kept_until_the_chain_changes() -> None:
    """Keep an answer's text until the chain changes, for its method and parameters only."""
    revision = Revision()
    kept = KeptAnswers(revision)
    kept.keep(("m", b"[1]"), b"7", 0)
    assert kept.get(("m", b"[1]")) == b"7"
    assert kept.get(("m", b"[2]")) is None
    assert kept.get(("n", b"[1]")) is None
    revision.revision = 1
    assert kept.get(("m", b"[1]")) is None
    kept.keep(("m", b"[1]"), b"7", 0)
    assert kept.get(("m", b"[1]")) is None, "it was made before the change"
    kept.keep(("m", b"[1]"), b"8", 1)
    assert kept.get(("m", b"[1]")) == b"8"


def test_texts_are_bounded_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound kept texts by their bytes, and drop the oldest first."""
    monkeypatch.setattr(kept_answers, "MAX_KEPT_ANSWERS_BYTES", 10_000)
    kept = KeptAnswers(Revision())
    for number in range(1_000):
        kept.keep(("m", b"%d" % number), b"x" * (number % 100), 0)
        assert kept.size <= 10_000
    kept_numbers = [number for number in range(1_000) if kept.get(("m", b"%d" % number)) is not None]
    assert kept_numbers == list(range(1_000 - len(kept_numbers), 1_000)), "the oldest are dropped first"
    assert 15 <= len(kept_numbers) <= 25
    for _ in range(5):
        kept.keep(("m", b"999"), b"y", 0)
    assert kept.get(("m", b"999")) == b"x" * 99
    before = kept.size
    kept.keep(("m", b"x" * (kept_answers.MAX_PARAMS + 1)), b"1", 0)
    kept.keep(("m", b"long"), b"x" * (kept_answers.MAX_KEPT_ANSWER_BYTES + 1), 0)
    assert kept.size == before


def test_a_long_text_is_shared_by_its_answers() -> None:
    """Share one long text among the answers that contain it."""
    kept = KeptAnswers(Revision())
    kept.keep(("m", b""), b"x" * SHARED_FROM, 0)
    first, second = kept.get(("m", b"")), kept.get(("m", b""))
    assert isinstance(first, memoryview) and isinstance(second, memoryview)
    assert first.obj is second.obj


def test_nothing_is_kept_without_a_chain() -> None:
    """Keep nothing where there is no chain."""
    NOTHING_KEPT.keep(("m", b""), b"1", NOTHING_KEPT.revision)
    assert NOTHING_KEPT.get(("m", b"")) is None
    assert NOTHING_KEPT.size == 0


def rows() -> list[Method]:
    """Return the methods that read the chain and the state."""
    return [row for row in (*chain.METHODS, *state.METHODS) if isinstance(row, Method)]


def test_only_safe_methods_are_kept() -> None:
    """Keep answers of safe methods alone, which depend on nothing but the block."""
    offered = (*EVERYWHERE, *BROKER_METHODS, *LP)
    fixed = [row for row in offered if isinstance(row, Method) and row.fixed_by is not None]
    names = {"chain_getHeader", "state_getStorage", "state_call", "cf_pool_info", "cf_monitoring_data"}
    assert {row.name for row in fixed} >= names
    for row in fixed:
        assert (row.access, row.unsafe_if, row.submits, row.takes_connection) == (
            Access.SAFE,
            None,
            False,
            False,
        )


def test_every_cf_answer_that_waits_for_the_state_is_kept() -> None:
    """Keep every cf_* answer that waits for the state."""
    reads = [row for row in (*CF, *MONITORING) if isinstance(row, Method)]
    assert [row.name for row in reads if row.fixed_by is not FixedBy.STATE] == ["cf_tx_fee_multiplier"]
    assert not next(row for row in reads if row.name == "cf_tx_fee_multiplier").is_async  # a constant
    assert len(reads) > 100


def asked(method: str) -> RpcCall:
    """Return a call of a method."""
    call = parse(b'{"jsonrpc":"2.0","id":1,"method":"%b","params":[]}' % method.encode(), 0)
    assert isinstance(call, RpcCall)
    return call


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_question_is_answered_once_and_again_after_a_change(is_async: bool) -> None:
    """Make an answer once for a block, and again after a change."""
    revision, made = Revision(), []

    def value(node: object) -> int:
        made.append(revision.revision)
        return len(made)

    async def value_later(node: object) -> int:
        await trio.lowlevel.checkpoint()
        return value(node)

    handler: Callable[..., Any] = value_later if is_async else value
    table = Table([Method("fixed", handler, fixed_by=FixedBy.STATE), Method("free", handler)])
    dispatcher = Dispatcher(StandIn(), table, RpcConfig(), kept=KeptAnswers(revision))
    for _ in range(3):
        reply = await dispatcher.answer(asked("fixed"), RpcClient())
        assert reply.parts == (b'{"jsonrpc":"2.0","id":1,"result":1}',)
    assert dispatcher.answer_now(asked("fixed"), RpcClient()) is not None
    revision.revision = 1
    if is_async:
        assert dispatcher.answer_now(asked("fixed"), RpcClient()) is None
    await dispatcher.answer(asked("fixed"), RpcClient())
    assert made == [0, 1]
    for _ in range(2):
        await dispatcher.answer(asked("free"), RpcClient())
    assert made == [0, 1, 1, 1]


async def test_an_answer_that_a_change_overtakes_is_not_kept() -> None:
    """Keep no answer that a block has overtaken: it would be of the wrong block."""
    revision = Revision()

    async def value(node: object) -> int:
        revision.revision += 1  # a block comes while the answer is made
        await trio.lowlevel.checkpoint()
        return revision.revision

    table = Table([Method("fixed", value, fixed_by=FixedBy.STATE)])
    dispatcher = Dispatcher(StandIn(), table, RpcConfig(), kept=KeptAnswers(revision))
    for number in (1, 2):
        reply = await dispatcher.answer(asked("fixed"), RpcClient())
        assert reply.parts == (b'{"jsonrpc":"2.0","id":1,"result":%d}' % number,)


async def test_an_error_is_not_kept() -> None:
    """Keep no error."""
    results: list[int] = []

    def value(node: object) -> float:
        results.append(1)
        return 1 / (len(results) - 1)

    table = Table([Method("fixed", value, fixed_by=FixedBy.STATE)])
    dispatcher = Dispatcher(StandIn(), table, RpcConfig(), kept=KeptAnswers(Revision()))
    assert b"error" in (await dispatcher.answer(asked("fixed"), RpcClient())).parts[0]
    assert (await dispatcher.answer(asked("fixed"), RpcClient())).parts == (
        b'{"jsonrpc":"2.0","id":1,"result":1.0}',
    )


async def test_each_new_block_has_its_own_answers(served_node: Served) -> None:
    """Answer each new block anew."""
    answers = []
    for _ in range(3):
        best = served_node.node.chain.best
        for _ in range(3):
            header = await served_node.call("chain_getHeader")
            number = await served_node.call("state_getStorage", NUMBER)
            proof = await served_node.call("state_getReadProof", [NUMBER])
            assert int(header["number"], 16) == best.number
            assert proof["at"] == "0x" + best.hash.hex()
        answers.append((header["number"], number, str(proof)))
        await served_node.call("dev_newBlock")
    assert len(set(answers)) == 3


async def test_a_repeated_cf_call_waits_for_nothing_until_the_next_block(served_node: Served) -> None:
    """Answer a repeated cf_* call at once, until the next block."""
    kept = KeptAnswers(served_node.node.chain)
    dispatcher = Dispatcher(served_node.node, Table([*CF, *MONITORING]), RpcConfig(), kept=kept)
    for method in (
        "cf_accounts",
        "cf_environment",
        "cf_monitoring_data",
        "cf_supported_assets",
        "cf_current_epoch",
    ):
        assert dispatcher.answer_now(asked(method), RpcClient()) is None, "the runtime has to be called"
        first = await dispatcher.answer(asked(method), RpcClient())
        repeated = dispatcher.answer_now(asked(method), RpcClient())
        assert repeated is not None and repeated.parts == first.parts
    await served_node.call("dev_newBlock")
    assert dispatcher.answer_now(asked("cf_current_epoch"), RpcClient()) is None


async def test_an_unknown_block_is_not_kept_as_unknown(served_node: Served) -> None:
    """Keep no answer about an unknown block: it may come a moment later."""
    kept = KeptAnswers(served_node.node.chain)
    dispatcher = Dispatcher(served_node.node, Table(rows()), RpcConfig(), kept=kept)
    for block, size in ((UNKNOWN, 0), ("0x" + served_node.node.chain.best.hash.hex(), 1)):
        text = b'{"jsonrpc":"2.0","id":1,"method":"chain_getHeader","params":["%b"]}' % block.encode()
        message = parse(text, 0)
        assert isinstance(message, RpcCall)
        reply = await dispatcher.answer(message, RpcClient())
        assert (b'"result":null' in reply.parts[0]) is (block == UNKNOWN)
        assert bool(kept.size) is bool(size)
