"""Blocks of peers with justifications, and which of these a peer is charged for."""

from __future__ import annotations

from dataclasses import replace

from cfnode.core.grandpa import ENGINE, EncodedJustification
from cfnode.node.asking.block_requests import FetchedBlock
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.sync.following.imports import Imports
from cfnode.runtime.calls import ExecutorDied
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, forget
from tests.support.node.executors import Failing, fetched


def justified(rig: Rig, block: bytes, round_number: int | None = None) -> FetchedBlock:
    """Return a final block with its justification, or with one that names another round."""
    fetched_block = fetched(rig, block)
    proof = dict(rig.chain.justifications(block))[ENGINE]
    if round_number is not None:
        true = EncodedJustification.decode(proof).value
        proof = EncodedJustification.of(replace(true, round=round_number)).data
    return FetchedBlock(fetched_block.header, fetched_block.hash, fetched_block.body, [(ENGINE, proof)])


async def test_only_an_invalid_justification_is_charged(rig: Rig, make_rig: MakeRig) -> None:
    """Charge an invalid justification, and none that a local fault kept from verification."""
    blocks = [await rig.block(final=True) for _ in range(3)]
    other = await make_rig("other", executor=lambda store: Failing(store, rig.runtime))
    charged: list[tuple[str, str]] = []
    imports = Imports(other.chain, SyncProgress(), lambda: None, lambda *charge: charged.append(charge))

    assert await imports.import_blocks("liar", [justified(rig, blocks[0], 1 << 20)])
    assert other.chain.best.hash == blocks[0]
    assert other.chain.finalized.number == 0
    ((peer, reason),) = charged
    assert peer == "liar"
    assert reason.startswith("an invalid justification: block #1: ")

    other.executor.call_fault = ExecutorDied("killed")
    forget(other.chain)
    await imports._finalize("honest", [justified(rig, blocks[0])])
    assert other.chain.finalized.number == 0

    other.executor.call_fault = None
    assert await imports.import_blocks("honest", [justified(rig, block) for block in blocks[1:]])
    assert other.chain.finalized.hash == blocks[2]
    assert len(charged) == 1
