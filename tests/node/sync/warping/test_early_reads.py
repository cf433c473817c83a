"""Before its state is here, a node answers about the proven block from proofs of peers and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.header import Header
from cfnode.core.state import BlockState
from cfnode.core.trie import MissingNode, TrieError
from cfnode.core.wire import WireError
from cfnode.core.wire.light import LightResponse, RemoteCall, RemoteRead
from cfnode.node.asking import reputation
from cfnode.node.asking.ask_proofs import read_answer
from cfnode.runtime.calls import UnknownFunction
from cfnode.store import StateDiscarded
from tests.node.conftest import MakeRig
from tests.node.mini import account, put, tx
from tests.support.node.net import join
from tests.support.node.peers import Peer, followed, in_step, reached, running

ROOM = 10
"""Accounts and values that fill the state."""


def hold_state(*servers: Peer) -> trio.Event:
    """Let no state be given before the event."""
    released = trio.Event()
    for server in servers:
        give = server.network.handlers["state/2"]
        assert give is not None

        async def later(peer: str, data: bytes, give: object = give) -> bytes | None:
            await released.wait()
            return await give(peer, data)  # type: ignore[operator]

        server.network.handlers["state/2"] = later
    return released


async def fill(authority: Peer) -> None:
    """Fill a final block with values that make a trie of some depth, long ones and short ones."""
    values = [
        tx("carol", step, put(f"key {step:02}", f"value {step} " * (step % 3 * 9 + 1))) for step in range(40)
    ]
    await authority.rig.block(*values)
    await authority.rig.block(final=True)
    await authority.rig.blocks(1)


@asynccontextmanager
async def early(light: Peer, authority: Peer, *others: Peer) -> AsyncIterator[trio.Event]:
    """Let the light node stand on the proven block and wait for its state; the event lets that come."""
    await fill(authority)
    released = hold_state(authority, *others)
    async with running(authority, light, *others):
        for other in others:
            join(light.network, other.network)
        await reached(light, lambda: light.chain.finalized == authority.chain.finalized)
        yield released


def value_of(key: str) -> Callable[[BlockState], bytes | None]:
    """Return a question for one value."""
    return lambda state: state.get(b"data " + key.encode())


def all_keys(state: BlockState) -> list[bytes]:
    """Return all keys of the state below the prefix."""
    keys, key = [], state.next_key(b"data ")
    while key is not None and key.startswith(b"data "):
        keys.append(key)
        key = state.next_key(key)
    return keys


async def test_reads_and_calls_are_answered_at_the_proven_block_before_and_after_the_download(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Answer reads and calls from proofs before the download, and from the store after it."""
    async with early(light, authority) as released:
        target = authority.chain.finalized
        assert (light.chain.best, light.chain.finalized) == (target, target)
        assert light.sync.progress.is_syncing
        assert light.chain.header(target.hash) == authority.chain.header(target.hash)
        assert light.chain.body(target.hash) == authority.chain.body(target.hash)
        assert await light.chain.queries.account_nonce(target.hash, account("carol")) == 40
        assert await light.chain.states.read(target.hash, value_of("before")) == b"the target" * 9
        assert await light.chain.states.read(target.hash, value_of("never")) is None
        assert light.chain.states.answered_with_proof == 3
        assert b"mini" in await light.chain.queries.call(target.hash, "Core_version")
        released.set()
        await followed(light, authority)
        assert light.chain.states.remote is None
        assert light.rig.read("before", target.hash) == "the target" * 9
        count = light.chain.states.answered_with_proof
        assert await light.chain.queries.account_nonce(light.chain.best.hash, account("carol")) == 40
        assert light.chain.states.answered_with_proof == count
        assert light.network.reports == authority.network.reports == []


async def test_a_walk_over_many_keys_takes_few_requests(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Read many keys and values in few requests."""
    async with early(light, authority):
        block = light.chain.best.hash
        light.network.asked.clear()
        keys = await light.chain.states.read(block, all_keys)
        values = await light.chain.states.read(block, lambda state: [state.get(key) for key in keys], keys)
        with authority.chain.state(block) as state:
            assert keys == all_keys(state)
            assert values == [state.get(key) for key in keys]
        assert len(keys) == 42
        assert [protocol for _, protocol, _ in light.network.asked].count("light/2") < 8


async def test_a_repeated_call_needs_no_peer(authority: Peer, light: Peer, patient_clock: MockClock) -> None:
    """Answer a repeated call without a peer."""
    async with early(light, authority):
        block = light.chain.best.hash
        nonces = [await light.chain.queries.account_nonce(block, account(name)) for name in ("bob", "bob")]
        assert nonces == [2, 2]
        calls = [data for _, protocol, data in light.network.asked if protocol == "light/2"]
        assert sum(b"AccountNonceApi" in data for data in calls) == 1


async def test_concurrent_equal_calls_are_cached_once(
    authority: Peer, light: Peer, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep the answer to concurrent equal calls once: thrice would exceed the cache."""
    monkeypatch.setattr(
        "cfnode.node.sync.warping.early_reads.MAX_EARLY_CACHE_BYTES", 100
    )  # two accounts and their nonces
    async with early(light, authority):
        block, nonce = light.chain.best.hash, light.chain.queries.account_nonce
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(nonce, block, account("alice"))
        assert [await nonce(block, account("bob")) for _ in range(2)] == [2, 2]
        asked = [data for _, protocol, data in light.network.asked if account("bob") in data]
        assert len(asked) == 1


def spoilt(answer: bytes, change: Callable[[list[bytes]], list[bytes] | None]) -> bytes | None:
    """Return an answer whose proof is changed."""
    proof = LightResponse.decode(answer).proof
    assert proof is not None
    changed = change(list(proof))
    return None if changed is None else LightResponse(tuple(changed)).encode()


LIES: dict[str, Callable[[list[bytes]], list[bytes] | None]] = {
    "an altered node": lambda proof: [proof[0][:-1] + bytes([proof[0][-1] ^ 1]), *proof[1:]],
    "another node besides": lambda proof: [*proof, b"a node that belongs to nothing" * 2],
    "a node left out": lambda proof: proof[:-1],
    "the root left out": lambda proof: proof[1:],
    "no node at all": lambda proof: [],
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_peer_with_an_invalid_proof_is_dropped_and_another_one_asked(
    authority: Peer, light: Peer, make_rig: MakeRig, lie: str, patient_clock: MockClock
) -> None:
    """Drop a peer with an invalid proof, and ask another one."""
    liar = Peer("liar", await make_rig("liar", authorities=authority.rig.authorities))
    async with early(light, authority, liar):
        await in_step(liar, authority)
        authority.network.tamper = lambda protocol, _, answer: (
            None if protocol == "light/2" and "liar" in light.network.peers else answer
        )
        liar.network.tamper = lambda protocol, _, answer: (
            spoilt(answer, LIES[lie]) if protocol == "light/2" and answer else answer
        )
        block = light.chain.best.hash
        assert await light.chain.queries.account_nonce(block, account("carol")) == 40
        assert light.reports == [("liar", reputation.BAD_PROOF)]
        assert "liar" not in light.network.peers
        assert "authority" in light.network.peers


async def test_keys_missing_from_the_only_peers_proof_of_a_call_are_requested_one_by_one(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Request keys one by one that the only peer's proof of a call lacks."""
    async with early(light, authority):
        authority.network.tamper = lambda protocol, request, answer: (
            spoilt(answer, lambda proof: proof[:1]) if b"AccountNonceApi" in request and answer else answer
        )
        assert await light.chain.queries.account_nonce(light.chain.best.hash, account("carol")) == 40
        assert {change for _, change in light.reports} == {reputation.NO_ANSWER}


async def test_a_peer_that_sends_a_malformed_answer_is_dropped(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Drop a peer that sends a malformed answer, and report the state as discarded."""
    async with early(light, authority):
        authority.network.tamper = lambda protocol, *_: b"\xff" * 9
        block = light.chain.best.hash
        with pytest.raises(StateDiscarded):
            await light.chain.queries.account_nonce(block, account("carol"))
        assert light.reports == [("authority", reputation.BAD_PROOF)]


async def test_without_a_helpful_peer_the_state_is_reported_as_discarded(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Report the state as discarded where no peer helps, and charge none for it."""
    async with early(light, authority):
        authority.network.tamper = lambda protocol, _, answer: None if protocol == "light/2" else answer
        block = light.chain.best.hash
        for question in (
            lambda: light.chain.queries.account_nonce(block, account("carol")),
            lambda: light.chain.states.read(block, value_of("before")),
        ):
            with pytest.raises(StateDiscarded):
                await question()
        assert light.network.reports == []
        with pytest.raises(StateDiscarded):
            await light.chain.states.read(light.chain.genesis_hash, value_of("before"))


async def test_too_long_requests_and_unknown_functions_are_not_sent_to_peers(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Send no peer a request that is too long or a function that the runtime lacks."""
    async with early(light, authority):
        block, queries = light.chain.best.hash, light.chain.queries
        with pytest.raises(StateDiscarded):
            await light.chain.states.read(block, lambda state: state.get(b"k" * (1 << 20)))
        with pytest.raises(UnknownFunction):
            await queries.call(block, "Nobody_knows" * 100)
        assert await queries.account_nonce(block, account("carol")) == 40
        assert authority.network.reports == light.network.reports == []


async def test_no_corrupted_byte_of_an_answer_is_accepted(authority: Peer) -> None:
    """Accept no answer with one corrupted byte, unless its values are still the true ones."""
    await fill(authority)
    block = authority.chain.finalized.hash
    header = authority.chain.header(block)
    assert isinstance(header, Header)
    handler = authority.network.handlers["light/2"]
    assert handler is not None
    keys = b"data key 07", b"data key 08", b"data never"
    requests = RemoteRead(block, keys).encode(), RemoteCall(block, "AuraApi_authorities").encode()

    def check(state: BlockState) -> None:
        for key in keys if request is requests[0] else ():
            state.get(key)

    for request in requests:
        answer = await handler("peer", request)
        assert answer is not None
        true = read_answer(answer, header.state_root, check)
        for place in range(len(answer)):
            wrong = answer[:place] + bytes([answer[place] ^ 0x11]) + answer[place + 1 :]
            try:
                assert sorted(read_answer(wrong, header.state_root, check)) == sorted(true)
            except (WireError, TrieError, MissingNode):
                continue
