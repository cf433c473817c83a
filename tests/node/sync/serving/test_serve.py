"""Which requests of syncing peers a node answers, and which it refuses."""

from __future__ import annotations

import sys
import threading
import time

import pytest
import trio
import trio.testing

from cfnode.core.grandpa import AuthoritySet, WarpProof, verify_warp_proof
from cfnode.core.trie import ProofState, read_range
from cfnode.core.wire.blocks import Attributes, BlockRequest, BlockResponse
from cfnode.core.wire.light import MAX_LIGHT_KEYS, LightResponse, RemoteCall, RemoteRead
from cfnode.core.wire.state import StateRequest, StateResponse
from cfnode.devchain.authorities import well_known
from cfnode.network.interface import RequestFailed
from cfnode.node.asking import reputation
from cfnode.node.sync.serving.serve import SyncServer
from cfnode.node.sync.serving.serve_limits import MAX_OF_A_PEER, THREAD_SWITCH_S, WorkerThreads
from cfnode.runtime.journal import Journal
from cfnode.store import Store
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, account, put, tx, u32, voter_set, voters_of
from tests.support.node.net import MemoryNetwork, join

WHOLE = Attributes.whole()


class Asker:
    """A client of one server."""

    def __init__(self, rig: Rig) -> None:
        self.server, self.network = MemoryNetwork("server"), MemoryNetwork("asker")
        SyncServer(self.server, rig.chain, rig.store).declare()
        join(self.network, self.server)

    async def ask(self, protocol: str, data: bytes) -> bytes:
        """Send a request; return the answer."""
        return await self.network.request("server", protocol, data)

    async def blocks(self, request: BlockRequest) -> BlockResponse:
        """Request blocks; return the answer."""
        return BlockResponse.decode(await self.ask("sync/2", request.encode()))


async def test_blocks_are_served_upwards_with_bodies_and_justifications(rig: Rig) -> None:
    """Serve blocks upwards with bodies, and one justification a period."""
    made = await rig.blocks(5)
    await rig.finality.finalize(made[2])
    answer = await Asker(rig).blocks(BlockRequest(2, WHOLE, 3))
    assert [block.hash for block in answer.blocks] == made[1:4]
    assert [list(block.body) for block in answer.blocks] == [rig.chain.body(block) for block in made[1:4]]
    assert [block.header for block in answer.blocks] == [rig.chain.header(block) for block in made[1:4]]
    assert [len(block.justifications) for block in answer.blocks] == [0, 1, 0]
    await rig.finality.finalize(made[3])
    assert rig.chain.justifications(made[3])
    answer = await Asker(rig).blocks(BlockRequest(2, WHOLE, 3))
    assert [len(block.justifications) for block in answer.blocks] == [0, 1, 0], "one in a period"


async def test_blocks_are_served_downwards_along_a_fork(rig: Rig) -> None:
    """Serve blocks downwards along a fork, and none of the best chain above it."""
    made = await rig.blocks(3)
    fork = await rig.block(tx("alice", 0), on=made[0])
    asker = Asker(rig)
    down = await asker.blocks(BlockRequest(fork, Attributes.HEADER, 9, descending=True))
    assert [block.hash for block in down.blocks] == [fork, made[0], rig.chain.genesis_hash]
    up = await asker.blocks(BlockRequest(fork, Attributes.HEADER, 9))
    assert [block.hash for block in up.blocks] == [fork], "nothing of the best chain is above it"


async def test_unknown_blocks_have_an_empty_answer(rig: Rig) -> None:
    """Answer a request for unknown blocks with none."""
    asker = Asker(rig)
    assert (await asker.blocks(BlockRequest(bytes(32), WHOLE))).blocks == ()
    assert (await asker.blocks(BlockRequest(77, WHOLE))).blocks == ()


async def test_an_answer_ends_at_128_blocks(rig: Rig) -> None:
    """End an answer at 128 blocks."""
    await rig.blocks(140)
    answer = await Asker(rig).blocks(BlockRequest(1, Attributes.HEADER))
    assert len(answer.blocks) == 128


async def test_the_same_request_a_third_time_is_fatal(rig: Rig) -> None:
    """Charge an equal block request the third time: each answer costs work and bandwidth."""
    await rig.blocks(1)
    asker = Asker(rig)
    for _ in range(2):
        await asker.blocks(BlockRequest(1, WHOLE))
    with pytest.raises(RequestFailed):
        await asker.blocks(BlockRequest(1, WHOLE))
    assert asker.server.reports == [("asker", reputation.FATAL, "the same block request a third time")]


async def test_concurrent_equal_requests_count_as_repeated(rig: Rig) -> None:
    """Count concurrent equal requests as repeated."""
    await rig.blocks(1)
    asker, refused = Asker(rig), 0

    async def ask() -> None:
        nonlocal refused
        try:
            await asker.blocks(BlockRequest(1, WHOLE))
        except RequestFailed:
            refused += 1

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask)
    assert refused == 3


async def test_few_requests_are_processed_at_a_time_and_peers_take_turns(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One peer asks for eight pieces of a state; another one, that comes after it, waits for one of them."""
    at_work, most, answered = 0, 0, list[str]()
    lock, usual = threading.Lock(), sys.getswitchinterval()

    def slow(store: Store, request: StateRequest) -> StateResponse:
        nonlocal at_work, most
        with lock:
            at_work, most = at_work + 1, max(most, at_work + 1)
        time.sleep(0.02)  # the work itself: others would begin meanwhile
        assert sys.getswitchinterval() <= THREAD_SWITCH_S
        with lock:
            at_work -= 1
        return StateResponse(proof=(b"x",))

    monkeypatch.setattr("cfnode.node.sync.serving.serve.state_range", slow)
    greedy, modest = Asker(rig), MemoryNetwork("modest")
    join(modest, greedy.server)

    async def ask(network: MemoryNetwork, number: int) -> None:
        request = StateRequest(rig.chain.genesis_hash, (bytes([number]),))
        await network.request("server", "state/2", request.encode())
        answered.append(network.name)

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(ask, greedy.network, number)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, modest, 9)
    assert most == 1
    assert "modest" in answered[1:3]
    assert len(answered) == 9
    assert sys.getswitchinterval() == usual


async def test_two_nodes_of_a_process_leave_the_interpreters_lock_as_it_was() -> None:
    """The second one begins while the first one serves, and ends after it."""
    usual, begun = sys.getswitchinterval(), trio.Semaphore(0)
    loop = trio.lowlevel.current_trio_token()
    gates = threading.Event(), threading.Event()

    def serve(gate: threading.Event) -> None:
        loop.run_sync_soon(begun.release)
        assert gate.wait(30)

    async with trio.open_nursery() as nursery:
        for gate in gates:
            nursery.start_soon(WorkerThreads().run, lambda gate=gate: serve(gate))
            await begun.acquire()
        gates[0].set()
        await trio.testing.wait_all_tasks_blocked(0.1)
        assert sys.getswitchinterval() <= THREAD_SWITCH_S
        gates[1].set()
    assert sys.getswitchinterval() == usual


async def test_a_peer_with_too_many_requests_is_refused_until_some_are_answered(rig: Rig) -> None:
    """Refuse a peer with too many requests until some are answered."""
    asker, refused = Asker(rig), 0

    async def ask(number: int) -> None:
        nonlocal refused
        try:
            await asker.ask("light/2", RemoteRead(rig.chain.genesis_hash, (bytes([number]),)).encode())
        except RequestFailed:
            refused += 1

    async with trio.open_nursery() as nursery:
        for number in range(MAX_OF_A_PEER + 5):
            nursery.start_soon(ask, number)
    assert refused == 5
    await ask(99)
    assert refused == 5


async def test_more_keys_than_a_read_may_have_are_refused(rig: Rig) -> None:
    """Refuse more keys than a read may have."""
    asker = Asker(rig)
    keys = tuple(number.to_bytes(2, "big") for number in range(MAX_LIGHT_KEYS + 1))
    await asker.ask("light/2", RemoteRead(rig.chain.genesis_hash, keys[1:]).encode())
    with pytest.raises(RequestFailed):
        await asker.ask("light/2", RemoteRead(rig.chain.genesis_hash, keys).encode())


async def test_requests_for_a_justification_may_repeat(rig: Rig) -> None:
    """Allow equal requests for a justification: it may come later."""
    await rig.blocks(1)
    asker = Asker(rig)
    for _ in range(9):
        await asker.blocks(BlockRequest(1, Attributes.JUSTIFICATION))
    assert asker.server.reports == []


async def test_malformed_requests_are_charged(rig: Rig) -> None:
    """Charge malformed requests of every protocol."""
    asker = Asker(rig)
    for protocol in ("sync/2", "sync/warp", "state/2", "light/2"):
        with pytest.raises(RequestFailed):
            await asker.ask(protocol, b"\xff\xff")
    assert [change for _, change, _ in asker.server.reports] == [reputation.BAD_MESSAGE] * 4


async def test_a_warp_proof_leads_from_set_to_set_to_the_newest_final_block(make_rig: MakeRig) -> None:
    """Prove from set to set up to the newest final block."""
    keys = well_known(3)
    rig = await make_rig(authorities=keys)
    await rig.block(tx("alice", 0, voters_of(keys[:2])), final=True)
    await rig.block(tx("alice", 1, voters_of(keys[1:])), final=True)
    last = await rig.block(final=True)
    asker = Asker(rig)
    proof = WarpProof.decode(await asker.ask("sync/warp", rig.chain.genesis_hash))
    target = verify_warp_proof(proof, voter_set(keys, 0))
    assert (target.header.hash, target.finished) == (last, True)
    assert target.authorities == AuthoritySet(2, voter_set(keys[1:], 2).authorities)
    again = WarpProof.decode(await asker.ask("sync/warp", last))
    assert [fragment.header.hash for fragment in again.fragments] == [last]


async def test_a_warp_proof_begins_at_final_blocks_only(rig: Rig) -> None:
    """Begin a warp proof at final blocks only."""
    made = await rig.blocks(4)
    await rig.finality.finalize(made[0])
    for begin in (made[3], bytes(32)):
        with pytest.raises(RequestFailed):
            await Asker(rig).ask("sync/warp", begin)


async def test_a_state_is_served_with_its_proof(rig: Rig) -> None:
    """Serve a state with a proof that its root verifies."""
    block = await rig.block(tx("alice", 0, put("k", "v" * 100)))
    header = rig.chain.header(block)
    assert header is not None
    answer = StateResponse.decode(await Asker(rig).ask("state/2", StateRequest(block).encode()))
    state_range = read_range(answer.proof, header.state_root, ())
    assert state_range.next is None
    assert (b"", b"data k", b"v" * 100) in state_range.pairs


async def test_a_state_is_served_without_proof_on_request(rig: Rig) -> None:
    """Serve a state without proof where the request asks for that."""
    block = await rig.block(tx("alice", 0, put("k", "v")))
    asker = Asker(rig)
    answer = StateResponse.decode(await asker.ask("state/2", StateRequest(block, no_proof=True).encode()))
    assert (b"data k", b"v") in answer.entries[0].entries
    assert answer.entries[0].complete


async def test_a_discarded_state_is_refused(make_rig: MakeRig) -> None:
    """Refuse a state that was discarded."""
    from cfnode.store import Pruning

    rig = await make_rig(pruning=Pruning(2, 2))
    for block in await rig.blocks(6):
        await rig.finality.finalize(block)
    with pytest.raises(RequestFailed):
        await Asker(rig).ask("state/2", StateRequest(rig.chain.genesis_hash).encode())


async def test_single_values_are_served_with_proof_of_presence_and_absence(rig: Rig) -> None:
    """Prove the presence of one value and the absence of another."""
    block = await rig.block(tx("alice", 0, put("k", "v" * 100)))
    header = rig.chain.header(block)
    assert header is not None
    request = RemoteRead(block, (b"data k", b"data x"))
    answer = LightResponse.decode(await Asker(rig).ask("light/2", request.encode()))
    assert answer.proof is not None
    state = ProofState(header.state_root, answer.proof)
    assert (state.get(b"data k"), state.get(b"data x")) == (b"v" * 100, None)


async def test_a_missing_child_trie_is_proven_absent(rig: Rig) -> None:
    """Prove that a child trie does not exist."""
    header = rig.chain.header(rig.chain.genesis_hash)
    assert header is not None
    request = RemoteRead(rig.chain.genesis_hash, (b"key",), b"child")
    answer = LightResponse.decode(await Asker(rig).ask("light/2", request.encode()))
    assert answer.proof is not None
    assert ProofState(header.state_root, answer.proof).get(b"key", b"child") is None


async def test_the_proof_of_a_call_contains_what_it_reads(rig: Rig) -> None:
    """Prove all that a call reads: the asker executes it on the proof alone."""
    block = await rig.block(tx("alice", 0))
    header = rig.chain.header(block)
    assert header is not None
    request = RemoteCall(block, "AccountNonceApi_account_nonce", account("alice"))
    answer = LightResponse.decode(await Asker(rig).ask("light/2", request.encode()))
    assert answer.proof is not None
    proven = ProofState(header.state_root, answer.proof)
    proven.check_needed()
    assert rig.runtime.call(request.method, request.data, Journal(proven)) == u32(1)


@pytest.mark.parametrize("function", ["Core_wishes", "AccountNonceApi_account_nonce"])
async def test_a_call_that_this_node_cannot_make_is_refused(rig: Rig, function: str) -> None:
    """Refuse a call to an unknown function, or at an unknown block."""
    block = rig.chain.genesis_hash if function == "Core_wishes" else bytes(32)
    with pytest.raises(RequestFailed):
        await Asker(rig).ask("light/2", RemoteCall(block, function).encode())
