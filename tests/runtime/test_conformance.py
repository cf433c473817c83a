"""All runtimes answer the same calls with the same kinds of answers."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.core.trie import ProofState, decode_proof
from cfnode.devchain.runtime_choice import RUNTIMES
from cfnode.node.chain.runtime_info import RuntimeVersion
from cfnode.runtime.calls import (
    BlockRefused,
    BlockSource,
    BuiltBlock,
    Missing,
    ProofSource,
    RuntimeTrap,
    UnknownFunction,
)
from cfnode.runtime.executor import Executor
from cfnode.store import Store, UnknownBlock
from tests.core.trie.proofs import build_proof
from tests.runtime.subjects import NAMES, Subject, subject

SLOT = 290_000_000
_KEPT: dict[str, Subject] = {}


@pytest.fixture(params=NAMES)
def chain(request: pytest.FixtureRequest) -> Subject:
    """Return each chain in turn: in the development runtime, the counter and the official runtime."""
    name = request.param
    if name not in _KEPT:
        _KEPT[name] = subject(name, lambda: request.getfixturevalue("berghain_spec"))
    return _KEPT[name]


@pytest.fixture
def store(chain: Subject, tmp_path: Path) -> Iterator[Store]:
    """Open a store with the chain's genesis."""
    with chain.store(tmp_path / "db") as opened:
        yield opened


@asynccontextmanager
async def running(store: Store) -> AsyncIterator[Executor]:
    """Run an executor on a store."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        yield executor


async def build(executor: Executor, parent: Header, candidates: list[bytes]) -> BuiltBlock:
    """Build a block on a parent with the inherents of its slot."""
    slot = SLOT + parent.number + 1
    inherents = [
        (b"timstap0", (slot * 6_000).to_bytes(8, "little")),
        (b"auraslot", slot.to_bytes(8, "little")),
    ]
    return await executor.build_block(parent.hash, [pre_runtime_item(slot)], inherents, candidates, 10.0)


async def keep(executor: Executor, store: Store, built: BuiltBlock) -> Header:
    """Store a built block and send it to the executor."""
    header = sealed(built.header, bytes(64))
    await executor.overlay_added(store.add_block(header, built.body, built.changes))
    return header


async def test_version_and_metadata_are_returned(chain: Subject, store: Store) -> None:
    """Answer version and metadata."""
    async with running(store) as executor:
        at = BlockSource(chain.genesis.hash)
        version = RuntimeVersion.decode(await executor.call(at, "Core_version"))
        assert version.system_version == 1
        assert bytes.fromhex("df6acb689907609b") in dict(version.apis)
        assert b"meta\x0e" in (await executor.call(at, "Metadata_metadata"))[:10]


async def test_failures_are_of_the_same_kinds_and_fail_one_call(chain: Subject, store: Store) -> None:
    """Raise each kind of failure for one call, and go on in the same process."""
    at = BlockSource(chain.genesis.hash)
    async with running(store) as executor:
        await executor.call(at, "Core_version")
        pid = executor.pid
        with pytest.raises(UnknownFunction) as unknown:
            await executor.call(at, "Core_unheard_of")
        assert unknown.value.function == "Core_unheard_of"
        with pytest.raises(RuntimeTrap):
            await executor.call(at, "Core_initialize_block", b"")
        with pytest.raises(RuntimeTrap):
            await executor.call(at, "BlockBuilder_finalize_block", b"")
        with pytest.raises(UnknownBlock):
            await executor.call(BlockSource(bytes(32)), "Core_version")
        assert executor.pid == pid


async def test_extrinsics_are_validated_and_tried(chain: Subject, store: Store) -> None:
    """Validate an extrinsic and refuse a stale one, in validation and in a dry run."""
    at = BlockSource(chain.genesis.hash)
    async with running(store) as executor:
        assert (await executor.validate(at, 2, chain.good(0)))[:1] == b"\0"
        assert (await executor.validate(at, 2, chain.stale))[:2] == b"\x01\0"
        assert (await executor.dry_run(at, chain.stale))[:2] == b"\x01\0"


async def test_a_built_block_executes_to_the_same_changes_again_and_again(
    chain: Subject, store: Store
) -> None:
    """Execute a built block to the same changes each time, and build on a finalized one."""
    async with running(store) as executor:
        head = chain.genesis
        for number in range(3):
            built = await build(executor, head, [chain.good(number), chain.stale])
            assert chain.good(number) in built.body
            assert chain.stale not in built.body
            assert [reason for _, reason in built.refused] and len(built.refused) == 1
            header = sealed(built.header, bytes(64))
            for _ in range(2):
                assert await executor.execute_block(header, built.body) == built.changes
            head = await keep(executor, store, built)
        store.finalize(head.hash)
        built = await build(executor, head, [chain.good(3)])
        assert built.header.number == 4


async def test_one_flipped_bit_is_refused_wherever_it_is(chain: Subject, store: Store) -> None:
    """Refuse a block in which one bit of root, body or length differs, and accept the true one after it."""
    async with running(store) as executor:
        one = await keep(executor, store, await build(executor, chain.genesis, [chain.good(0)]))
        built = await build(executor, one, [chain.good(1)])
        header = sealed(built.header, bytes(64))
        for forged in (
            replace(header, state_root=flipped(header.state_root)),
            replace(header, extrinsics_root=flipped(header.extrinsics_root)),
        ):
            with pytest.raises((BlockRefused, RuntimeTrap)):
                await executor.execute_block(forged, built.body)
        body = [*built.body[:-1], flipped(built.body[-1])]
        with pytest.raises((BlockRefused, RuntimeTrap)):
            await executor.execute_block(header, body)
        with pytest.raises((BlockRefused, RuntimeTrap)):
            await executor.execute_block(header, built.body[:-1])
        assert await executor.execute_block(header, built.body) == built.changes


def flipped(data: bytes) -> bytes:
    """Return bytes whose last bit is flipped."""
    return data[:-1] + bytes([data[-1] ^ 1])


async def test_one_flipped_bit_of_the_state_is_refused(chain: Subject, tmp_path: Path) -> None:
    """Refuse a block on a state that differs in one entry which it does not read."""
    with chain.store(tmp_path / "right") as right:
        async with running(right) as executor:
            built = await build(executor, chain.genesis, [chain.good(0)])
    code = b":code"
    other = replace(chain, state={**chain.state, b"\x01unread": b"v"})
    assert other.state[code] == chain.state[code]
    with other.store(tmp_path / "wrong") as wrong:
        async with running(wrong) as executor:
            forged = replace(sealed(built.header, bytes(64)), parent_hash=other.genesis.hash)
            with pytest.raises((BlockRefused, RuntimeTrap)):
                await executor.execute_block(forged, built.body)


async def test_on_a_proof_missing_keys_are_named_until_the_answer_equals_the_states(
    chain: Subject, store: Store
) -> None:
    """Name the missing keys of a proof one by one, until the call gives the answer of the state."""
    at = BlockSource(chain.genesis.hash)
    with store.state(chain.genesis.hash) as state:
        async with running(store) as executor:
            wanted = [b":code"]
            for _ in range(40):
                nodes = build_proof(state.node, state.get, wanted)
                code = ProofState(state.root, nodes).get(b":code")
                assert code is not None
                try:
                    proof = ProofSource(state.root, nodes, code)
                    args = b"\x02" + chain.good(0) + at.hash
                    answer = await executor.call(proof, "TaggedTransactionQueue_validate_transaction", args)
                    break
                except Missing as missing:
                    assert missing.key not in wanted
                    wanted.append(missing.key)
            assert answer == await executor.validate(at, 2, chain.good(0))


async def outcome(
    executor: Executor, place: BlockSource | ProofSource, call: tuple[str, bytes]
) -> bytes | str:
    """Return the output of a call, or the text of its trap."""
    try:
        return await executor.call(place, *call)
    except RuntimeTrap as trap:
        return str(trap)


async def test_a_recorded_proof_answers_as_the_state_does_and_needs_each_of_its_entries(
    chain: Subject, store: Store
) -> None:
    """Record a proof that answers as the state does and of which each entry is needed."""
    at, code, root = BlockSource(chain.genesis.hash), chain.state[b":code"], chain.genesis.state_root
    async with running(store) as executor:
        validation = "TaggedTransactionQueue_validate_transaction", b"\x02" + chain.good(0) + at.hash
        for function, args in (("Core_version", b""), validation):
            proof = decode_proof(await executor.prove_call(at, function, args))
            ProofState(root, proof).check_needed()
            expected = await executor.call(at, function, args)
            assert await executor.call(ProofSource(root, proof, code), function, args) == expected
        without_root = [entry for entry in proof if blake2_256(entry) != root]
        assert len(without_root) == len(proof) - 1
        if chain.name != "counter":  # its validation reads nothing but how much memory it may have
            with pytest.raises(Missing):
                await executor.call(ProofSource(root, without_root, code), *validation)


async def test_malformed_arguments_fail_on_a_proof_as_on_the_state(chain: Subject, store: Store) -> None:
    """Fail over a proof with the trap that the state gives, for malformed arguments and unknown functions."""
    at, code, root = BlockSource(chain.genesis.hash), chain.state[b":code"], chain.genesis.state_root
    nonsense = "BlockBuilder_apply_extrinsic", b"\x04\xff"
    async with running(store) as executor:
        proof = decode_proof(await executor.prove_call(at, *nonsense))
        here, there = [
            await outcome(executor, place, nonsense) for place in (at, ProofSource(root, proof, code))
        ]
        assert here == there
        with pytest.raises(UnknownFunction):
            await executor.prove_call(at, "Core_wishes")


async def test_a_killed_process_fails_no_call(chain: Subject, store: Store) -> None:
    """Start a killed process anew without failing a call."""
    at = BlockSource(chain.genesis.hash)
    async with running(store) as executor:
        before = await executor.call(at, "Core_version")
        for _ in range(3):
            assert executor.pid is not None
            os.kill(executor.pid, signal.SIGKILL)
            assert await executor.call(at, "Core_version") == before
