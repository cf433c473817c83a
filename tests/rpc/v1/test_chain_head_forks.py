"""Whatever the chain does, who follows its head by chainHead_v1 keeps a whole picture of it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cfnode.rpc.table import pins
from cfnode.rpc.table.convert import to_hex
from tests.lengths import repeats
from tests.rpc.conftest import Served
from tests.support.rpc.chain_head import Head, followed


class Picture:
    """A client's view of the head of the chain, and the events that it relies on."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self.pruned: set[str] = set()
        self.final = ""
        self.best = ""

    def take(self, event: dict[str, Any]) -> list[str]:
        """Follow one event; the blocks that are of no more interest."""
        match event["event"]:
            case "initialized":
                assert not self.final
                *older, self.final = event["finalizedBlockHashes"]
                self.best = self.final
                return list(older)
            case "newBlock":
                block, parent = event["blockHash"], event["parentBlockHash"]
                assert block not in self.parents
                assert parent == self.final or parent in self.parents
                assert parent not in self.pruned
                self.parents[block] = parent
                return []
            case "bestBlockChanged":
                self.best = event["bestBlockHash"]
                assert self.best == self.final or self.best in self.parents
                assert self.best not in self.pruned
                return []
            case "finalized":
                return self._finalize(event["finalizedBlockHashes"], event["prunedBlockHashes"])
        raise AssertionError(event)

    def _finalize(self, blocks: list[str], pruned: list[str]) -> list[str]:
        gone = [self.final, *blocks[:-1], *pruned]
        for block in blocks:
            assert self.parents[block] == self.final
            self.final = block
        assert set(pruned) <= set(self.parents) - set(blocks)
        assert self.best == self.final or self.best not in {*blocks, *pruned}
        self.pruned |= set(pruned)
        return gone

    @property
    def living(self) -> list[str]:
        """The last final block and those that descend from it."""
        alive = [self.final]
        for block, parent in self.parents.items():  # parents come first
            if parent in alive:
                alive.append(block)
        return alive


async def watch(head: Head, picture: Picture) -> None:
    """Take one event, and let go of what is over."""
    gone = picture.take(await head.event())
    if gone:
        assert await head.call("unpin", gone) is None


@pytest.mark.parametrize("seed", range(repeats(2, 1)))
async def test_the_picture_is_whole_through_forks_and_finality(
    seed: int, served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give a follower a whole picture of the chain's head through random forks and finality."""
    monkeypatch.setattr(pins, "MAX_PINNED", 40)
    chance, picture = random.Random(seed), Picture()
    await served_node.call("dev_holdFinality")
    async with served_node.websocket() as ws, served_node.websocket() as other:
        head = await followed(ws, with_runtime=bool(seed % 2))
        for step in range(40):
            best = await served_node.call("chain_getBlockHash")
            final = await served_node.call("chain_getFinalizedHead")
            while (picture.best, picture.final) != (best, final):
                await watch(head, picture)
            _, *above = picture.living
            if above and chance.random() < 0.25:
                await served_node.call("dev_finalize", chance.choice(above))
            else:
                await served_node.call("dev_newBlock", {"parent": chance.choice(picture.living)})
            if step == 20:
                late, late_picture = await followed(other), Picture()
        best = await served_node.call("chain_getBlockHash")
        final = await served_node.call("chain_getFinalizedHead")
        above = [to_hex(block.hash) for block, _ in served_node.node.chain.unfinalized()]
        for follower, view in ((head, picture), (late, late_picture)):
            while (view.best, view.final, set(view.living)) != (best, final, {final, *above}):
                await watch(follower, view)
