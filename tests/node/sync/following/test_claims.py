"""False claims of peers delay nothing, as long as one honest peer is connected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.header import Header
from cfnode.core.wire.announces import AnnounceHandshake, BlockAnnounce, Roles
from cfnode.core.wire.blocks import BlockData, BlockRequest, BlockResponse
from cfnode.node.asking import reputation
from cfnode.node.asking.progress import Phase
from cfnode.node.sync.following import linking
from cfnode.node.sync.following.announced_blocks import AnnouncedBlock
from cfnode.node.sync.following.proven_lag import SYNCING_LAG
from cfnode.node.sync.serving import serve
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, put, tx
from tests.support.node.liar import Liar, TcpPeer, on_the_network, signed_anew
from tests.support.node.net import MemoryNetwork, join
from tests.support.node.peers import KEYS, Peer, followed, reached, running
from tests.support.node.steps import is_peer, joined, score
from tests.support.waiting import LIMIT_S

FAR = 4_000_000_000
MIB = 1 << 20


def invented(number: int, mark: int) -> Header:
    """Return an invented header."""
    return Header(mark.to_bytes(32, "big"), number, bytes(32), bytes(32))


async def never(peer: str, data: bytes) -> bytes | None:
    """Never answer."""
    await trio.sleep_forever()


# Announcements


async def test_a_peer_that_announces_invented_headers_and_never_answers_delays_no_honest_block(
    chain: Rig, victim: TcpPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Import honest blocks in time while a peer announces invented headers and never answers."""
    liar, honest, late = (Liar(number, chain) for number in (2, 3, 4))

    def flood(by: Liar) -> None:
        best = victim.rig.chain.best.number
        for mark in range(256):
            by.announce(victim, BlockAnnounce(invented(best + 1 + mark % 4, 1 << 64 | mark)).encode())

    def limit(timeout: float) -> None:
        limits = replace(serve.SERVED_REQUEST_LIMITS["sync/2"], timeout=timeout)
        monkeypatch.setitem(victim.network._limits, "sync/2", limits)

    async with on_the_network(victim, liar, honest, late):
        await joined(victim, honest, liar)
        limit(2 * LIMIT_S)  # a block that waited for the end of a request would not arrive
        liar.network.serve_requests("sync/2", never)
        flood(liar)
        await victim.reached(lambda: victim.sync._follower._linking)
        assert len(victim.sync._follower._wanted) <= 64
        for step in range(5):
            await chain.block(tx("dave", step))
            await victim.in_step_with(honest)
            assert not victim.sync.progress.is_syncing
        assert score(honest, by=victim) > 0
        limit(0.1)
        late.network.serve_requests("sync/2", never)
        await victim.network.connect(late.address)
        await victim.reached(lambda: is_peer(victim, of=late))
        flood(late)
        await victim.reached(lambda: score(late, by=victim) <= reputation.NO_ANSWER / 2)
        peer_set = victim.sync.peer_set
        assert (
            peer_set.record(late.id).rank
            > peer_set.record("a stranger").rank
            > peer_set.record(honest.id).rank
        )


async def test_a_peer_that_never_answers_is_dropped_after_a_few_timeouts_over_all_its_connections(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Drop a peer that never answers after a few timeouts over all its connections."""
    liar = MemoryNetwork("liar")
    said = AnnounceHandshake(Roles.FULL, 0, bytes(32), light.chain.genesis_hash)
    liar.notifications("block-announces/1", said.encode)
    light.network.stalled.add("liar")
    async with running(authority, light):
        await followed(light, authority)
        for _ in range(reputation.MAX_TIMEOUTS):
            assert join(light.network, liar)
            header = invented(light.chain.best.number + 2, 7)
            liar.protocols["block-announces/1"].send("light", BlockAnnounce(header).encode())
            await trio.sleep(serve.SERVED_REQUEST_LIMITS["sync/2"].timeout + 1)
            assert "liar" not in light.network.peers
        costs = [change for peer, change, _ in light.network.reports]
        assert costs == [reputation.NO_ANSWER, reputation.NO_ANSWER, reputation.BAD_PROOF]
        assert len(light.sync._follower._wanted) == 0, "its announcements went with it"


async def test_invented_ancestors_sent_one_by_one_are_not_kept_and_charged(
    chain: Rig, victim: TcpPeer, caplog: pytest.LogCaptureFixture
) -> None:
    """Each answer is consistent in itself, and names a further ancestor."""
    liar, honest = Liar(2, chain), Liar(3, chain)
    made: dict[bytes, Header] = {}
    asked: list[BlockRequest] = []

    def header(number: int) -> Header:
        below = invented(number - 1, len(made)) if number < 6 else header(number - 1)
        made[below.hash] = below
        return Header(below.hash, number, bytes(32), bytes(32))

    def lie(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        if protocol != "sync/2":
            return answer
        asked.append(BlockRequest.decode(request))
        start = asked[-1].start
        header = made.get(start) if isinstance(start, bytes) else None
        body = (tx("eve", 0, put("x", "y" * 65_000)),)
        return None if header is None else BlockResponse((BlockData(header.hash, header, body),)).encode()

    async with on_the_network(victim, liar, honest):
        await joined(victim, honest, liar)
        liar.network.lie = lie
        top = header(victim.rig.chain.best.number + 4)
        made[top.hash] = top
        liar.announce(victim, BlockAnnounce(top).encode())
        most = 0
        with trio.fail_after(LIMIT_S):
            while f"Peer {liar.id} is dropped" not in caplog.text:
                most = max(most, victim.sync._follower._links.bytes_held)
                await trio.sleep(0.001)
        assert score(liar, by=victim) < 0
        assert 0 < len(asked) <= linking.MAX_PARTIAL + 1
        assert not any(request.attributes & 0x02000000 for request in asked), "no body was asked for"
        assert most < MIB
        await chain.block(tx("dave", 0))
        await victim.in_step_with(honest)


@pytest.mark.world
async def test_invented_headers_that_lead_nowhere_are_bounded_and_charged(
    authority: Peer, light: Peer, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """As many headers as were asked for, down to the final block, below which there is nothing to ask."""
    rows: list[Header] = [invented(4, 1)]
    for number in range(5, 200):
        rows.append(Header(rows[-1].hash, number, bytes(32), bytes(32)))
    by_hash = {row.hash: row for row in rows}

    async def give(peer: str, data: bytes) -> bytes:
        request = BlockRequest.decode(data)
        place = rows.index(by_hash[request.start]) if isinstance(request.start, bytes) else 0
        answered = rows[max(0, place - request.max_blocks + 1) : place + 1]
        return BlockResponse(tuple(BlockData(row.hash, row) for row in reversed(answered))).encode()

    liar = MemoryNetwork("liar", handlers={"sync/2": give})
    async with running(authority, light):
        await followed(light, authority)
        await authority.rig.blocks(150)
        await followed(light, authority)
        said = AnnounceHandshake(Roles.FULL, 0, bytes(32), light.chain.genesis_hash)
        liar.notifications("block-announces/1", said.encode)
        join(light.network, liar)
        for _ in range(reputation.MAX_UNFOUNDED_CLAIMS + 2):
            top = rows[light.chain.best.number - 4 + 2]
            liar.protocols["block-announces/1"].send("light", BlockAnnounce(top).encode())
            await trio.sleep(2)
        costs = [change for peer, change, _ in light.network.reports if peer == "liar"]
        assert costs[: reputation.MAX_UNFOUNDED_CLAIMS - 1] == [reputation.BAD_ANNOUNCE] * (
            reputation.MAX_UNFOUNDED_CLAIMS - 1
        )
        assert costs[reputation.MAX_UNFOUNDED_CLAIMS - 1] == reputation.BAD_PROOF
        assert light.sync.peer_set.record("liar").answers == 0, "it has delivered nothing"
        assert light.sync._follower._links.bytes_held == 0
        assert not light.sync.progress.is_syncing


async def test_an_honest_announcement_is_not_evicted_by_those_of_others(chain: Rig, victim: TcpPeer) -> None:
    """Keep an honest peer's announcement while another floods with its own."""
    liar, honest = Liar(2, chain), Liar(3, chain)
    async with on_the_network(victim, liar, honest):
        await joined(victim, honest, liar)
        follower = victim.sync._follower
        best = victim.rig.chain.best.number
        follower.announced(honest.id, b"\7" * 32, best + SYNCING_LAG)
        for mark in range(1_000):
            follower.announced(liar.id, mark.to_bytes(32, "big"), best + SYNCING_LAG)
        assert follower._wanted.announcers(b"\7" * 32) == [honest.id]
        assert len(follower._wanted) <= 65


async def test_a_sealed_block_is_fetched_from_the_peer_that_delivered_though_a_liar_announced_it_first(
    authority: Peer, light: Peer, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Fetch a sealed block from the peer that delivered before, though a liar announced it first."""
    async with running(authority, light):
        await followed(light, authority)
        liar = MemoryNetwork("liar")
        said = AnnounceHandshake(Roles.FULL, 0, bytes(32), light.chain.genesis_hash)
        liar.notifications("block-announces/1", said.encode)
        liar.serve_requests("sync/2", never)
        join(light.network, liar)
        authority.sync._announces.open.discard("light")  # type: ignore[attr-defined]
        block = await authority.rig.block(tx("dave", 0))
        header = authority.chain.header(block)
        assert header is not None
        liar.protocols["block-announces/1"].send("light", BlockAnnounce(header).encode())
        await trio.sleep(1)
        assert not light.chain.descends_from_finalized(block)
        authority.sync._announces.open.add("light")  # type: ignore[attr-defined]
        before = trio.current_time()
        authority.network.protocols["block-announces/1"].send("light", BlockAnnounce(header).encode())
        await reached(light, lambda: light.chain.descends_from_finalized(block))
        assert trio.current_time() - before < 1


async def test_announcements_that_finality_has_passed_cost_nothing(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """For example, they waited during a download, or come from a peer that is behind."""
    async with running(authority, light):
        await followed(light, authority)
        final = light.chain.finalized.number
        for mark in range(40):
            light.sync._follower._wanted.add("authority", AnnouncedBlock(mark.to_bytes(32, "big"), final - 1))
        light.sync._follower._new.add("authority")
        await authority.rig.block(tx("dave", 0))
        await followed(light, authority)
        await trio.sleep(5)
        assert light.network.reports == []
        assert light.sync.peer_set.record("authority").penalties == 0


# Claims to be far ahead


def sybils(light: Peer, count: int) -> list[MemoryNetwork]:
    """Return peers that claim to be far ahead, accept every request, and answer none."""
    nodes = []
    for number in range(count):
        sybil = MemoryNetwork(f"sybil {number}")
        said = AnnounceHandshake(Roles.FULL, FAR, number.to_bytes(32, "big"), light.chain.genesis_hash)
        sybil.notifications("block-announces/1", said.encode)
        light.network.stalled.add(sybil.name)
        nodes.append(sybil)
    return nodes


async def in_step_after(light: Peer, authority: Peer, strangers: Sequence[MemoryNetwork]) -> float:
    """Return seconds until a fresh node with these peers is synced."""
    for stranger in strangers:
        assert join(light.network, stranger)
    began = trio.current_time()
    async with running(authority, light):
        await followed(light, authority)
        took = trio.current_time() - began
        for step in range(3):
            await authority.rig.block(tx("bob", 2 + step, put("step", str(step))), final=True)
            with trio.fail_after(2):  # of a clock that jumps
                await followed(light, authority)
        for _ in range(60):
            await trio.sleep(1)
            assert not light.sync.progress.is_syncing, "a broker's call is not refused"
            assert light.sync.peer_set.median_claim < FAR
        assert light.sync.progress.phase is Phase.DONE
    return took


@pytest.mark.parametrize("count", [4, 6, 50])
async def test_a_fresh_start_with_mute_peers_that_claim_to_be_far_ahead(
    authority: Peer, make_rig: MakeRig, patient_clock: MockClock, count: int
) -> None:
    """Start afresh among mute peers that claim to be far ahead, at most three times as slowly."""
    alone = Peer("alone", await make_rig("alone", authorities=KEYS), light=True)
    async with running(authority, alone):
        began = trio.current_time()
        await followed(alone, authority)
        without = trio.current_time() - began
    light = Peer("light", await make_rig("light", authorities=KEYS), light=True)
    authority = Peer("authority", authority.rig, author=True)
    took = await in_step_after(light, authority, sybils(light, count))
    assert took < 3 * without + 10


async def test_blocks_that_a_peer_proves_make_the_node_syncing(
    authority: Peer, light: Peer, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Claims of others change nothing in it; and once the blocks are here it is over."""
    async with running(authority, light):
        await followed(light, authority)
        phases: set[Phase] = set()
        take = light.sync._follower._imports._import_block

        async def noted(*args: object) -> bool:
            light.sync._follower._judge()
            phases.add(light.sync.progress.phase)
            return await take(*args)  # type: ignore[arg-type]

        light.sync._follower._imports._import_block = noted  # type: ignore[method-assign]
        light.network.disconnect("authority", "for a while")
        await authority.rig.blocks(40)
        join(light.network, authority.network)
        await followed(light, authority)
        assert phases == {Phase.BLOCKS, Phase.DONE}, "it was, until the last five"


async def test_a_sealed_header_is_distinguished_from_an_invented_one(chain: Rig) -> None:
    """Distinguish a sealed header from one with a wrong author, and from one of unknown authors."""
    parent = chain.chain.header(chain.chain.finalized.hash)
    above = chain.chain.header(chain.chain.hash_at(5) or b"")
    assert parent is not None and above is not None
    authorities = tuple(key.aura.public for key in KEYS)
    now = chain.chain.slot_now()
    assert linking.verify_headers([above], parent, authorities, now) == [authorities]
    with pytest.raises(linking.refused.BadSeal):
        linking.verify_headers([signed_anew(above, author=1)], parent, authorities, now)
    assert linking.verify_headers([signed_anew(above, author=1)], parent, None, now) == [None], (
        "it is not known whose"
    )
    with pytest.raises(linking.refused.WrongNumber):
        linking.verify_headers([signed_anew(replace(above, number=9))], parent, authorities, now)


async def test_a_peer_that_failed_once_is_asked_again_while_new_liars_keep_coming(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Ask a peer again that failed once, although new liars keep coming."""
    async with running(authority, light):
        await followed(light, authority)
        authority.network.tamper = lambda protocol, request, answer: None
        authority.network.protocols["block-announces/1"].open.discard("light")
        await authority.rig.blocks(2 * SYNCING_LAG)
        authority.network.protocols["block-announces/1"].open.add("light")
        await authority.rig.blocks(1)
        for number in range(40):
            liar = MemoryNetwork(f"liar {number}")
            claim = AnnounceHandshake(Roles.FULL, FAR, bytes(32), light.chain.genesis_hash)
            liar.notifications("block-announces/1", claim.encode)
            join(light.network, liar)
            await trio.sleep(1)
            if number == 2:
                authority.network.tamper = None
            if light.chain.best == authority.chain.best:
                break
        assert number < 20
