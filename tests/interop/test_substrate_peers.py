"""Peers over rust-libp2p (yamux 0.12 and 0.13) and litep2p, as Substrate nodes are, call us and are called.

rust-libp2p ends each request's substream twice. None of these connections may end for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.trie import ProofState
from cfnode.core.wire.light import LightResponse, RemoteRead
from cfnode.network import RequestLimits
from cfnode.network.interface import RequestFailed
from cfnode.network.service import NetworkService
from cfnode.node.sync.service import ChainSync
from cfnode.node.sync.warping.authority_set_cache import TrustedSet
from tests.interop.rust_network import BACKENDS, RustNetwork, running_network, rust_program
from tests.network.conftest import GENESIS, address_of, running, service
from tests.node.conftest import MakeRig, make_rig
from tests.node.mini import Rig, put, tx, voter_set, voters_of
from tests.support.node.liar import TcpPeer
from tests.support.node.peers import KEYS, grow
from tests.support.waiting import until

pytestmark = pytest.mark.world

__all__ = ["make_rig"]

MIB = 1 << 20
LIMITS = RequestLimits(request=MIB, response=16 * MIB, timeout=200)
PATIENCE_S = 240.0
"""Seconds for a step that takes one second on an idle machine."""
ONE_AFTER_ANOTHER, AT_ONCE = 60, 19
"""Requests; the largest answer comes on top. A node of ours reads 20 requests of a peer at a time."""


@pytest.fixture(scope="session")
def program() -> Path:
    """Return the peer's program."""
    return rust_program()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Return the network library of the Rust peer."""
    return str(request.param)


@pytest.fixture(params=[True, False], ids=["Rust dials", "we dial"])
def rust_dials(request: pytest.FixtureRequest) -> bool:
    """Return whether the Rust peer dials."""
    return bool(request.param)


async def connect(rust: RustNetwork, node: NetworkService, rust_dials: bool) -> None:
    """Make one connection between the two."""
    if rust_dials:
        rust.dial(str(address_of(node)))
    else:
        await node.connect(Multiaddr.parse(rust.address))
    await until(lambda: node.peer_id in rust.connected and rust.peer_id in node.peers)


# --- requests


async def answer(peer: str, data: bytes) -> bytes | None:
    """Return the request backwards; so many bytes for a number; None, a refusal, for the empty request."""
    if data.isdigit():
        return bytes(int(data))
    return data[::-1] or None


@pytest.fixture
async def pair(
    program: Path, backend: str, rust_dials: bool
) -> AsyncIterator[tuple[RustNetwork, NetworkService]]:
    """Yield a Rust peer and a node of ours that answer each other; no connection may end meanwhile."""
    rust, node = RustNetwork(program, backend, GENESIS), service(1)
    for peer in (rust, node):
        peer.serve_requests("sync/2", answer, LIMITS)
    with trio.fail_after(PATIENCE_S):
        async with running(node), running_network(rust):
            await connect(rust, node, rust_dials)
            yield rust, node
            assert (rust.count("connected"), rust.count("disconnected")) == (1, 0)
            assert node.peers[rust.peer_id].reputation == 0


async def test_they_know_each_other(pair: tuple[RustNetwork, NetworkService]) -> None:
    """Exchange identify messages and pings with a Rust peer."""
    rust, node = pair
    await until(lambda: node.peers[rust.peer_id].agent)
    assert "substrate-peer" in node.peers[rust.peer_id].agent
    assert f"/{GENESIS.hex()}/sync/2" in node.peers[rust.peer_id].protocols
    await until(lambda: rust.count("identified") and rust.count("pinged"))
    about = next(report for report in rust.log if report["event"] == "identified")
    assert (about["peer"], about["agent"]) == (node.peer_id, "node 1")
    assert {f"/{GENESIS.hex()}/sync/2", "/ipfs/ping/1.0.0"} <= set(about["protocols"])


async def test_many_requests_one_after_another(pair: tuple[RustNetwork, NetworkService]) -> None:
    """Answer many requests one after another, both ways, on one connection."""
    rust, node = pair
    for number in range(ONE_AFTER_ANOTHER):
        data = f"request {number}".encode()
        assert await rust.request(node.peer_id, "sync/2", data) == data[::-1]
        assert await node.request(rust.peer_id, "sync/2", data) == data[::-1]


async def test_a_refused_request_ends_nothing_else(pair: tuple[RustNetwork, NetworkService]) -> None:
    """Refuse a request without ending anything else."""
    rust, node = pair
    for _ in range(3):
        with pytest.raises(RequestFailed):
            await rust.request(node.peer_id, "sync/2", b"")
        with pytest.raises(RequestFailed):
            await node.request(rust.peer_id, "sync/2", b"")
    assert await rust.request(node.peer_id, "sync/2", b"hello") == b"olleh"
    assert await node.request(rust.peer_id, "sync/2", b"hello") == b"olleh"


async def test_many_requests_at_once_with_large_answers_between(
    pair: tuple[RustNetwork, NetworkService],
) -> None:
    """Answer many requests at once with the largest answers between them."""
    rust, node = pair
    largest = LIMITS.response - 1
    answers: list[int] = []

    async def ask(here: RustNetwork | NetworkService, there: str, size: int) -> None:
        answers.append(len(await here.request(there, "sync/2", str(size).encode())))

    async with trio.open_nursery() as nursery:
        for size in (*range(1, AT_ONCE + 1), largest):
            nursery.start_soon(ask, rust, node.peer_id, size)
            nursery.start_soon(ask, node, rust.peer_id, size)
    assert sorted(answers) == sorted([*range(1, AT_ONCE + 1), largest] * 2)


# --- a chain


class RustPeer:
    """A mini chain with its sync, on the network of a Rust peer."""

    def __init__(self, program: Path, backend: str, rig: Rig, *, light: bool) -> None:
        self.rig = rig
        self.network = RustNetwork(program, backend, rig.chain.genesis_hash)
        genesis = rig.store.header(rig.chain.genesis_hash)
        assert genesis is not None
        beginning = TrustedSet(genesis, voter_set(KEYS, 0)) if light else None
        self.sync = ChainSync(
            self.network, rig.chain, rig.store, beginning=beginning, author=not light, pool=rig.pool
        )

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the network and the sync."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.network.run)
            nursery.start_soon(self.sync.run)
            task_status.started()


@pytest.fixture
async def rigs(make_rig: MakeRig) -> tuple[Rig, Rig]:
    """Return a chain with two set changes, and its genesis."""
    chain, other = await make_rig("chain", authorities=KEYS), await make_rig("light", authorities=KEYS)
    await grow(RustPeer(Path(), "", chain, light=False))
    return chain, other


@pytest.mark.parametrize("rust_is_light", [False, True], ids=["we sync from Rust", "Rust syncs from us"])
async def test_a_light_node_proves_its_way_and_follows_across_a_set_change(
    program: Path, backend: str, rust_dials: bool, rust_is_light: bool, rigs: tuple[Rig, Rig]
) -> None:
    """Prove, download and follow across set changes over a Rust peer, without a penalty on either side."""
    chain, behind = rigs
    rust = RustPeer(program, backend, behind if rust_is_light else chain, light=rust_is_light)
    node = TcpPeer(1, chain if rust_is_light else behind, light=not rust_is_light)
    light: RustPeer | TcpPeer = rust if rust_is_light else node
    with trio.fail_after(PATIENCE_S):
        async with AsyncExitStack() as stack:
            nursery = await stack.enter_async_context(trio.open_nursery())
            for peer in (rust, node):
                await nursery.start(peer.run)
            await connect(rust.network, node.network, rust_dials)
            await in_step(behind, chain)
            assert light.sync.progress.sets >= 2, "proven by the warp protocol"
            assert behind.store.oldest_header > 0, "its state was downloaded, not executed"
            assert behind.read("before") == "the target" * 9
            for change, keys in enumerate((KEYS[:2], KEYS[:1], KEYS), start=2):
                await chain.block(tx("alice", change, voters_of(keys)), final=True)
                await chain.block(tx("bob", change, put("set", str(change))))
                await chain.blocks(3)
                await in_step(behind, chain)
                assert behind.read("set") == str(change)
            await until(lambda: not light.sync.progress.is_syncing)  # before, it takes no transactions
            await transactions_travel(behind, chain)
            await both_prove(rust.network, node.network, chain)
            assert (rust.network.count("connected"), rust.network.count("disconnected")) == (1, 0)
            assert rust.network.penalties == []
            assert node.network.peers[rust.network.peer_id].reputation >= 0
            nursery.cancel_scope.cancel()


async def in_step(behind: Rig, chain: Rig) -> None:
    """Wait until both have the same best and the same final block."""
    await until(
        lambda: (behind.chain.best, behind.chain.finalized) == (chain.chain.best, chain.chain.finalized)
    )


async def transactions_travel(one: Rig, other: Rig) -> None:
    """Check that a transaction of one pool comes to the other one, both ways."""
    for sender, pool, there in (("carol", one.pool, other.pool), ("dave", other.pool, one.pool)):
        sent = await pool.submit(tx(sender, 0, put("sent", sender)))
        await until(lambda there=there, sent=sent: sent in there)


async def both_prove(rust: RustNetwork, node: NetworkService, chain: Rig) -> None:
    """Check that each answers a read of the final state with a proof that holds."""
    final = chain.store.header(chain.chain.finalized.hash)
    assert final is not None
    request = RemoteRead(final.hash, (b"data before",)).encode()
    for answer in (
        await node.request(rust.peer_id, "light/2", request),
        await rust.request(node.peer_id, "light/2", request),
    ):
        proof = LightResponse.decode(answer).proof
        assert proof is not None
        assert ProofState(final.state_root, proof).get(b"data before") == b"the target" * 9
