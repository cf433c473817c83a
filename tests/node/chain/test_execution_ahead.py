"""The next block is executed while its parent is being written, if its seal is valid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.aura import sealed, without_seal
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.state import Changes
from cfnode.node.chain import errors as refused
from cfnode.store import Overlay, Store, StoreError
from tests.node.conftest import MakeRig
from tests.node.mini import LaterExecution, LocalExecutor, Rig, put, tx

Step = tuple[str, int]


class Recorder(LocalExecutor):
    """Records, in order, for which block number the processes are asked to do what."""

    def __init__(self, store: Store, runtime: Any) -> None:
        super().__init__(store, runtime)
        self.steps: list[Step] = []
        self.calls = 0
        self.dies_at: int | None = None

    def begin_block(self, header: Header, body: list[bytes]) -> LaterExecution:
        """Record that a block is executed ahead."""
        self.steps.append(("ahead", header.number))
        return super().begin_block(header, body)

    async def execute_block(self, header: Header, body: list[bytes]) -> Changes:
        """Record that a block is executed."""
        self.steps.append(("execute", header.number))
        return await super().execute_block(header, body)

    async def overlay_added(self, overlay: Overlay) -> None:
        """Record that an overlay is sent; die at one if the test says so."""
        self.steps.append(("overlay", overlay.number))
        await super().overlay_added(overlay)
        if self.dies_at == overlay.number:
            self.started, self.dies_at = self.started + 1, None

    async def call_all(self, at: Any, calls: Any) -> list[bytes]:
        """Count the runtime calls."""
        self.calls += 1
        return await super().call_all(at, calls)


Blocks = list[tuple[Header, list[bytes]]]


async def recorded(rig: Rig, make_rig: MakeRig, count: int) -> tuple[Rig, Recorder, Blocks]:
    """Return another node at genesis, its executor, and the blocks that it lacks."""
    hashes = [await rig.block(tx("alice", nonce, put("a", str(nonce)))) for nonce in range(count)]
    blocks = [(rig.chain.header(block_hash), rig.chain.body(block_hash)) for block_hash in hashes]
    other = await make_rig("other", executor=lambda store: Recorder(store, rig.runtime))
    assert isinstance(other.executor, Recorder)
    return other, other.executor, blocks  # type: ignore[return-value]


async def import_all(other: Rig, blocks: Blocks) -> None:
    """Import blocks, each with the one that follows."""
    for block, child in zip(blocks, [*blocks[1:], None], strict=True):
        await other.chain.import_block(*block, child)


async def test_each_overlay_is_sent_once_and_before_the_next_block(rig: Rig, make_rig: MakeRig) -> None:
    """Send each overlay once, and before the block above it is executed."""
    other, executor, blocks = await recorded(rig, make_rig, 3)
    await import_all(other, blocks)
    assert other.chain.best.hash == blocks[-1][0].hash
    assert executor.steps == [
        ("execute", 1), ("overlay", 1), ("ahead", 2),
        ("execute", 2), ("overlay", 2), ("ahead", 3),
        ("execute", 3), ("overlay", 3),
    ]  # fmt: skip


async def test_the_runtime_is_asked_for_the_authors_once(rig: Rig, make_rig: MakeRig) -> None:
    """Ask the runtime for the authors once, not for every block."""
    other, executor, blocks = await recorded(rig, make_rig, 5)
    await import_all(other, blocks)
    assert executor.calls == 1


async def test_a_process_that_was_started_meanwhile_receives_the_overlay_too(
    rig: Rig, make_rig: MakeRig
) -> None:
    """Send the overlay again to a process that was started meanwhile."""
    other, executor, blocks = await recorded(rig, make_rig, 2)
    executor.dies_at = 1
    await import_all(other, blocks)
    assert executor.steps[:4] == [("execute", 1), ("overlay", 1), ("ahead", 2), ("overlay", 1)]


async def test_a_block_with_an_invalid_seal_is_not_executed_ahead(rig: Rig, make_rig: MakeRig) -> None:
    """Execute no block ahead whose seal is invalid: anyone could make the node work otherwise."""
    other, executor, blocks = await recorded(rig, make_rig, 2)
    first, (header, body) = blocks
    unsealed, _ = without_seal(header)
    for forged in (
        sealed(unsealed, bytes(64)),
        unsealed,
        replace(header, digest=()),
        replace(header, number=7),
    ):
        executor.steps.clear()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(other.chain._store, "add_block", _full_disk)
            with pytest.raises(Exception, match="full"):
                await other.chain.import_block(*first, (forged, body))
        assert executor.steps == [("execute", 1)]
    assert await other.chain.import_block(*first)
    with pytest.raises(refused.BadSeal):
        await other.chain.import_block(sealed(unsealed, bytes(64)), body)


def _full_disk(*_: Any) -> Overlay:
    raise StoreError("the disk is full")


async def test_a_failed_write_loses_nothing(rig: Rig, make_rig: MakeRig) -> None:
    """Lose nothing by a write that fails: the blocks are imported again."""
    other, executor, blocks = await recorded(rig, make_rig, 2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(other.chain._store, "add_block", _full_disk)
        with pytest.raises(Exception, match="full"):
            await other.chain.import_block(*blocks[0], blocks[1])
    assert other.chain.best.number == 0
    await import_all(other, blocks)
    assert other.chain.best.hash == blocks[-1][0].hash
    assert executor.steps.count(("ahead", 2)) == 2


async def test_another_block_than_the_one_ahead_is_executed_too(rig: Rig, make_rig: MakeRig) -> None:
    """Import another block than the one that was executed ahead."""
    other, _, blocks = await recorded(rig, make_rig, 3)
    await other.chain.import_block(*blocks[0], blocks[1])
    fork = await make_rig("fork")
    await fork.chain.import_block(*blocks[0])
    sibling = await fork.block(tx("bob", 0, put("b", "fork")))
    header, body = fork.chain.header(sibling), fork.chain.body(sibling)
    assert header is not None
    assert body is not None
    assert await other.chain.import_block(header, body)
    await import_all(other, blocks[1:])
    assert other.chain.best.hash == blocks[-1][0].hash


async def test_new_code_or_new_authors_are_asked_for_again(rig: Rig, make_rig: MakeRig) -> None:
    """Ask for the authors again after new code or announced authors."""
    other, _, blocks = await recorded(rig, make_rig, 1)
    await import_all(other, blocks)
    queries, header = other.chain.queries, blocks[0][0]
    keys = tuple(authority.aura.public for authority in rig.authorities)
    child = replace(header, parent_hash=header.hash, number=2)
    assert queries.authorities_after(child) == keys
    upgraded = DigestItem(DigestKind.RUNTIME_ENVIRONMENT_UPDATED)
    assert queries.authorities_after(replace(child, digest=(*child.digest, upgraded))) is None
    for announced in (b"\x01\x04" + bytes(32), b"\x01\x04 malformed"):
        rotated = DigestItem(DigestKind.CONSENSUS, b"aura", announced)
        assert queries.authorities_after(replace(child, digest=(*child.digest, rotated))) is None


async def test_a_seal_is_judged_by_the_runtime_where_inherited_authors_fail(
    rig: Rig, make_rig: MakeRig
) -> None:
    """Ask the runtime where the inherited authors do not explain a seal."""
    other, executor, blocks = await recorded(rig, make_rig, 2)
    await import_all(other, blocks[:1])
    other.chain.queries._authorities[blocks[0][0].hash] = (bytes(32),)
    asked = executor.calls
    assert await other.chain.import_block(*blocks[1])
    assert executor.calls == asked + 1
