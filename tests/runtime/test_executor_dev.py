"""The development runtime in the real executor: built in one process, executed in another."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.header import Header
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.trie import EMPTY_ROOT, ProofState, root
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime_choice import RUNTIMES
from cfnode.runtime.calls import (
    BlockRefused,
    BlockSource,
    Missing,
    ProofSource,
    RuntimeCallError,
    RuntimeTrap,
    UnsupportedCode,
)
from cfnode.runtime.executor import Executor
from cfnode.store import Store
from tests.core.trie.proofs import build_proof

SLOT = 290_000_000


async def test_development_blocks_are_executed_and_forged_ones_refused(tmp_path: Path) -> None:
    """Build development blocks and execute them after a kill, refuse forged ones, and call over proofs."""
    state = dev_genesis()
    genesis = Header(bytes(32), 0, root(state, 1), EMPTY_ROOT)
    store = Store.open(tmp_path, sync=False)
    store.initialise(genesis, state)
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        metadata = await executor.call(BlockSource(genesis.hash), "Metadata_metadata")
        assert decode_metadata(metadata[4:]).pallet("System").name == "System"
        head = genesis
        for number in (1, 2, 3):
            slot = SLOT + number
            inherents = [
                (b"timstap0", (slot * 6_000).to_bytes(8, "little")),
                (b"auraslot", slot.to_bytes(8, "little")),
            ]
            built = await executor.build_block(head.hash, [pre_runtime_item(slot)], inherents, [], 2.0)
            header = sealed(built.header, bytes(64))
            if number == 2 and executor.pid is not None:
                os.kill(executor.pid, signal.SIGKILL)
            assert await executor.execute_block(header, built.body) == built.changes
            for field in ("state_root", "extrinsics_root"):
                with pytest.raises((BlockRefused, RuntimeTrap)):
                    await executor.execute_block(replace(header, **{field: bytes(32)}), built.body)
            await executor.overlay_added(store.add_block(header, built.body, built.changes))
            head = header
        store.finalize(head.hash)
        assert await _by_proofs(executor, store, head) == await executor.call(
            BlockSource(head.hash), "AuraApi_authorities"
        )
    store.close()


async def _by_proofs(executor: Executor, store: Store, head: Header) -> bytes:
    """Make a call as a light client does: fetch what is missing, then call again."""
    wanted = [b":code"]
    while True:
        with store.state(head.hash) as state:
            nodes = build_proof(state.node, state.get, wanted)
        code = ProofState(head.state_root, nodes).get(b":code")
        assert code is not None
        try:
            return await executor.call(ProofSource(head.state_root, nodes, code), "AuraApi_authorities")
        except Missing as missing:
            assert missing.key not in wanted
            wanted.append(missing.key)


async def test_the_error_names_unsupported_code(tmp_path: Path) -> None:
    """Name what is unsupported in code without memory, and code of another development runtime."""
    store = Store.open(tmp_path, sync=False)
    state = {b":code": b"\0asm\1\0\0\0"}
    genesis = Header(bytes(32), 0, root(state, 1), EMPTY_ROOT)
    store.initialise(genesis, state)
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        with pytest.raises(UnsupportedCode, match="has no memory"):
            await executor.call(BlockSource(genesis.hash), "Core_version")
        with pytest.raises(RuntimeCallError, match="another development runtime"):
            await executor.call(ProofSource(bytes(32), [], b"cfnode-dev:other" + bytes(32)), "Core_version")
    store.close()
