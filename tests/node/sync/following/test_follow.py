"""A node joins a chain that is under way, gets its state, and keeps up with blocks, forks and finality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.aura import seal_item
from cfnode.core.grandpa import CommitMessage
from cfnode.core.hashing import blake2_256
from cfnode.core.wire.announces import AnnounceHandshake, BlockAnnounce, Roles
from cfnode.core.wire.blocks import Attributes, BlockData, BlockRequest, BlockResponse
from cfnode.core.wire.grandpa_gossip import encode_commit
from cfnode.node.asking import reputation
from cfnode.node.asking.progress import Phase
from cfnode.node.chain.events import BlocksFinalized
from cfnode.node.grandpa.set_changes import JUSTIFICATION_REQUEST_INTERVAL_S
from cfnode.store import StateDiscarded
from tests.node.conftest import MakeRig
from tests.node.mini import put, tx, voter_set, voters_of
from tests.support.node.net import MemoryNetwork, join
from tests.support.node.peers import KEYS, Peer, followed, in_step, reached, running


async def test_a_light_node_proves_downloads_and_follows(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Prove, download and follow a chain as a light node, without a charge to anyone."""
    assert light.sync.progress.is_syncing
    async with running(authority, light):
        await in_step(light, authority)
        assert light.chain.finalized.number == 4
        assert light.rig.read("before") == "the target" * 9
        assert light.rig.read("after") == "the target"
        with pytest.raises(StateDiscarded), light.chain.state(light.chain.genesis_hash):
            pass
        await reached(light, lambda: not light.sync.progress.is_syncing)
        assert light.sync.progress.phase is Phase.DONE
        assert light.rig.store.oldest_header == 4
        assert light.network.reports == authority.network.reports == []
        asked = [protocol for _, protocol, _ in light.network.asked]
        assert asked[:3] == ["sync/warp", "sync/2", "state/2"]


async def test_a_light_node_executes_new_blocks_and_follows_finality_through_set_changes(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Execute new blocks, and follow finality through three changes of authorities."""
    async with running(authority, light):
        await in_step(light, authority)
        for step, keys in enumerate((KEYS, KEYS[:2], KEYS)):
            await authority.rig.block(tx("carol", step, voters_of(keys)))
            block = await authority.rig.block(tx("bob", 2 + step, put("step", str(step))))
            await authority.rig.finality.finalize(block)
            await in_step(light, authority)
            assert light.rig.read("step") == str(step)
        assert (await light.chain.voters()) == voter_set(KEYS, 5)
        assert light.rig.store.header(light.chain.best.hash) == authority.rig.store.header(
            authority.chain.best.hash
        )


async def test_many_missed_set_changes_are_fetched_as_fast_as_answers_come(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Fetch many missed set changes as fast as answers come."""
    async with running(authority, light):
        await miss_set_changes(authority, light, 12)
        assert light.chain.finalized.number == 4
        authority.network.tamper = None
        before = trio.current_time()
        await authority.rig.finality.finalize(await authority.rig.block())
        await in_step(light, authority)
        assert (await light.chain.voters()).set_id == 14
        assert trio.current_time() - before < 2 * JUSTIFICATION_REQUEST_INTERVAL_S


async def test_a_peer_that_could_not_help_with_a_set_change_is_asked_again_on_a_busy_network(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Ask a peer again that lacked the proof of a set change, on a busy network."""
    async with running(authority, light):
        await miss_set_changes(authority, light, 2)
        for step in range(60):
            if step == 5:  # it was asked once by now, and gave nothing
                assert light.chain.finalized.number == 4
                authority.network.tamper = None
            await authority.rig.finality.finalize(await authority.rig.block())
            await trio.sleep(JUSTIFICATION_REQUEST_INTERVAL_S / 20)
            if light.chain.finalized.number > 6:
                break
        await in_step(light, authority)
        assert (await light.chain.voters()).set_id == 4
        assert step < 30


async def miss_set_changes(authority: Peer, light: Peer, count: int) -> None:
    """Change the authorities often, while no votes reach the light node and its peer gives none."""
    votes = authority.network.protocols["grandpa/1"]
    await followed(light, authority)
    votes.open.discard("light")
    authority.network.tamper = without_justifications
    for step in range(count):
        await authority.rig.block(tx("carol", step, voters_of(KEYS[step % 2 :])))
        await reached(light, lambda: light.chain.best == authority.chain.best)
        await authority.rig.finality.finalize(authority.chain.best.hash)
    votes.open.add("light")


def without_justifications(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Return a peer that gives blocks, and nothing about their finality."""
    asked = BlockRequest.decode(request).attributes if protocol == "sync/2" else None
    return None if asked == Attributes.JUSTIFICATION else answer


async def test_a_fork_that_wins_is_followed_and_becomes_final(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Follow a fork that wins, to its finality."""
    async with running(authority, light):
        await in_step(light, authority)
        root = authority.chain.finalized.hash
        fork = await authority.rig.blocks(6, on=root)
        await in_step(light, authority)
        assert light.chain.best.hash == fork[-1]
        await authority.rig.finality.finalize(fork[3])
        await in_step(light, authority)
        assert light.chain.finalized.hash == fork[3]


async def test_a_node_that_executes_everything_catches_up_from_genesis(
    authority: Peer, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Execute everything from genesis as a full node."""
    for block in await authority.rig.blocks(100):
        await authority.rig.finality.finalize(block)
    await authority.rig.blocks(3)
    full = Peer("full", await make_rig("full", authorities=KEYS))
    async with running(authority, full):
        await reached(full, lambda: full.chain.best == authority.chain.best)
        assert full.rig.store.hash_at(1) == authority.rig.store.hash_at(1)
        await reached(full, lambda: full.chain.finalized.number >= 3)


async def test_while_catching_up_one_valid_justification_proves_many_blocks(
    authority: Peer, make_rig: MakeRig, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a peer that gives the justification of each block."""
    for block in await authority.rig.blocks(80):
        await authority.rig.finality.finalize(block)
    monkeypatch.setattr(authority.chain, "public_justifications", authority.chain.justifications)
    authority.network.tamper = lambda protocol, request, answer: (
        with_unproven(answer, {19, 50, 51}) if protocol == "sync/2" and answer else answer
    )
    full = Peer("full", await make_rig("full", authorities=KEYS))
    steps = await caught_up(authority, full, lambda: full.chain.finalized == authority.chain.finalized)
    final = [number for number, _ in steps[:7]]
    assert final == [1, 3, 18, 35, 49, 64, 80], "at 1 and 3 the authorities change, at 64 a range ends"
    assert {report[:2] for report in full.network.reports} == {("authority", reputation.BAD_JUSTIFICATION)}
    assert len(full.network.reports) == 4, "for three blocks, and for the headers up to the first of them"


async def caught_up(authority: Peer, full: Peer, until: Callable[[], bool]) -> list[tuple[int, bool]]:
    """Return the steps of a node's finality while it catches up: each block, and whether it was justified."""
    steps: list[tuple[int, bool]] = []

    def note(event: BlocksFinalized) -> None:
        steps.append((event.blocks[-1].number, event.justification is not None))

    with full.chain.subscribe(only=BlocksFinalized, on_event=note):
        async with running(authority, full):
            await reached(full, until)
    return steps


def justified_only(authority: Peer, numbers: set[int]) -> Callable[[bytes], list[tuple[bytes, bytes]]]:
    """Return the justifications, by block, of a peer that has kept those of a few blocks."""

    def public(block: bytes) -> list[tuple[bytes, bytes]]:
        known = authority.chain.block_ref(block)
        kept = known is not None and known.number in numbers
        return authority.chain.justifications(block) if kept else []

    return public


async def test_blocks_before_a_justified_one_are_final_at_their_import(
    authority: Peer, make_rig: MakeRig, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finalize blocks before a justified one at their import, and ask for each header once."""
    for block in await authority.rig.blocks(110):
        await authority.rig.finality.finalize(block)
    monkeypatch.setattr(authority.chain, "public_justifications", justified_only(authority, {1, 3, 90}))
    full = Peer("full", await make_rig("full", authorities=KEYS))
    steps = await caught_up(authority, full, lambda: full.chain.best == authority.chain.best)
    assert [number for number, justified in steps if justified][:3] == [1, 3, 90]
    expected = [number for number, justified in steps if not justified]
    assert expected == [19, 35, 51, 64, 80], "sixteen at a time, a range ends at 64"
    assert full.network.reports == []
    asked = [
        BlockRequest.decode(request) for _, protocol, request in full.network.asked if protocol == "sync/2"
    ]
    headers = [
        request.start
        for request in asked
        if request.attributes == Attributes.HEADER | Attributes.JUSTIFICATION
    ]
    assert headers == [1, 118], "each header once, then none"


@pytest.mark.parametrize("fault", ["another block's votes", "a change of the authorities is passed over"])
async def test_headers_with_an_invalid_justification_finalize_nothing(
    authority: Peer, make_rig: MakeRig, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Finalize nothing by headers with an invalid justification, and charge the peer."""
    for block in await authority.rig.blocks(80):
        await authority.rig.finality.finalize(block)
    passed_over = fault.startswith("a change")
    numbers = {60} if passed_over else {1, 3, 60}
    monkeypatch.setattr(authority.chain, "public_justifications", justified_only(authority, numbers))
    if not passed_over:
        authority.network.tamper = lambda protocol, request, answer: (
            with_unproven(answer, {40}) if protocol == "sync/2" and answer else answer
        )
    full = Peer("full", await make_rig("full", authorities=KEYS))
    steps = await caught_up(authority, full, lambda: full.chain.best.number >= 58)
    assert [number for number, justified in steps if not justified] == []
    assert ("authority", reputation.BAD_JUSTIFICATION) in full.reports


def with_unproven(answer: bytes, numbers: set[int]) -> bytes:
    """Return an answer in which the justifications of some blocks are those of other blocks."""
    blocks = BlockResponse.decode(answer).blocks
    other = next((block.justifications for block in blocks if block.justifications), ())
    return BlockResponse(
        tuple(
            replace(block, justifications=other) if block.header and block.header.number in numbers else block
            for block in blocks
        )
    ).encode()


async def test_a_light_node_serves_a_third_one(
    authority: Peer, light: Peer, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Serve a third node as a light one."""
    third = Peer("third", await make_rig("third", authorities=KEYS), light=True)
    async with running(authority, light, third):
        join(third.network, light.network)
        await in_step(light, authority)
        await in_step(third, authority)
        await authority.rig.block()
        await in_step(third, authority)


async def test_a_peer_of_another_chain_is_refused(light: Peer, patient_clock: MockClock) -> None:
    """Refuse a peer of another chain."""
    stranger = MemoryNetwork("stranger")
    stranger.notifications(
        "block-announces/1", lambda: AnnounceHandshake(Roles.FULL, 9, bytes(32), b"\x07" * 32).encode()
    )
    assert not join(light.network, stranger)
    assert light.network.peers == {}


async def test_light_peers_are_not_asked_and_their_claims_ignored(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Ask no light peer, and ignore its claims."""
    strangers = [MemoryNetwork(f"light {number}") for number in range(3)]
    for stranger in strangers:
        said = AnnounceHandshake(Roles.LIGHT, 1_000_000, b"\x07" * 32, light.chain.genesis_hash)
        stranger.notifications("block-announces/1", said.encode)
    async with running(authority, light):
        for stranger in strangers:
            assert join(light.network, stranger)
            far = replace(authority.chain.header(authority.chain.best.hash), number=1_000_000)
            stranger.protocols["block-announces/1"].send("light", BlockAnnounce(far).encode())
        await in_step(light, authority)
        await reached(light, lambda: not light.sync.progress.is_syncing)
        assert light.sync.peer_set.median_claim == authority.chain.best.number
        assert {peer for peer, _, _ in light.network.asked} == {"authority"}


def with_spoilt_body(answer: bytes) -> bytes:
    """Return an answer with its first body changed."""
    blocks = BlockResponse.decode(answer).blocks
    return answer.replace(blocks[0].body[0], blocks[0].body[0][:-1] + b"\xee") if blocks else answer


async def test_a_peer_that_sends_another_body_is_dropped(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Drop a peer that sends another body than the header commits to."""
    async with running(authority, light):
        await in_step(light, authority)
        authority.network.tamper = lambda protocol, request, answer: (
            with_spoilt_body(answer) if protocol == "sync/2" and answer else answer
        )
        before = light.chain.best
        await authority.rig.block(tx("dave", 0))
        await reached(light, lambda: bool(light.network.reports))
        assert light.reports == [("authority", reputation.BAD_BLOCK)]
        assert "extrinsics root" in light.network.reports[0][2]
        assert light.chain.best == before


async def test_invalid_votes_finalize_nothing(authority: Peer, light: Peer, patient_clock: MockClock) -> None:
    """Charge invalid votes, which finalize nothing."""
    async with running(authority, light):
        await followed(light, authority)
        before = light.chain.finalized
        target = authority.chain.block_ref(authority.chain.hash_at(5))
        forged = authority.rig.finality.justification(target, voter_set(KEYS[1:], 2), 9)
        votes = tuple(
            type(vote)(vote.target_hash, vote.target_number, bytes(64), vote.authority)
            for vote in forged.commit.precommits
        )
        commit = type(forged.commit)(target.hash, target.number, votes)
        authority.network.protocols["grandpa/1"].send("light", encode_commit(CommitMessage(9, 2, commit)))
        await reached(light, lambda: bool(light.network.reports))
        assert light.reports == [("authority", reputation.BAD_GOSSIP)]
        assert light.chain.finalized == before


@pytest.mark.parametrize("data", [b"", b"\xff" * 9, bytes(400)])
async def test_malformed_announcements_are_charged(
    authority: Peer, light: Peer, data: bytes, patient_clock: MockClock
) -> None:
    """Charge malformed announcements."""
    async with running(authority, light):
        authority.network.protocols["block-announces/1"].send("light", data)
        await reached(light, lambda: bool(light.network.reports))
        assert light.reports == [("authority", reputation.BAD_ANNOUNCE)]


async def test_an_announced_block_with_a_forged_seal_is_never_imported(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Refuse an announced block with a forged seal."""
    async with running(authority, light):
        await in_step(light, authority)
        header = authority.chain.header(authority.chain.best.hash)
        forged = replace(header, digest=(*header.digest[:-1], seal_item(bytes(64))))
        body = tuple(authority.chain.body(header.hash))
        authority.network.tamper = lambda *_: BlockResponse((BlockData(forged.hash, forged, body),)).encode()
        announce = BlockAnnounce(forged).encode()
        authority.network.protocols["block-announces/1"].send("light", announce)
        await reached(light, lambda: bool(light.network.reports))
        assert "seal" in light.network.reports[0][2]
        assert not light.chain.descends_from_finalized(forged.hash)


async def test_a_transaction_given_to_the_light_node_reaches_the_author(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Send a transaction of the light node to the author, and report the broadcast."""
    async with running(authority, light):
        await followed(light, authority)
        with authority.rig.pool.arrivals() as arrivals:
            watch = await light.rig.pool.submit_and_watch(tx("dave", 0, put("sent", "from afar")))
            await arrivals.__anext__()
        assert len(list(authority.rig.pool.ready())) == 1
        statuses = [await watch.statuses.__anext__() for _ in range(2)]
        assert [status.kind.value for status in statuses] == ["ready", "broadcast"]
        assert list(statuses[1].peers) == ["authority"]


async def test_a_watcher_receives_the_retraction_and_the_finality_of_its_transaction(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Report retraction and finality to a watcher of the light node."""
    async with running(authority, light) as nursery:
        nursery.start_soon(light.rig.pool.run)
        nursery.start_soon(authority.rig.pool.run)
        await followed(light, authority)
        below = authority.chain.best.hash
        sent = tx("dave", 0, put("sent", "from afar"))
        watch = await light.rig.pool.submit_and_watch(sent)
        block = await authority.rig.block(sent)
        await in_step(light, authority)
        fork = await authority.rig.blocks(2, on=below)
        await in_step(light, authority)
        assert light.chain.best.hash == fork[-1]
        await reached(light, lambda: [transaction.data for transaction in light.rig.pool.ready()] == [sent])
        two = await authority.rig.block(sent)
        await authority.rig.finality.finalize(two)
        await in_step(light, authority)
        steps = [(status.kind.value, status.hash) async for status in watch.statuses]
        assert [step for step in steps if step[0] not in ("ready", "broadcast")] == [
            ("inBlock", block),
            ("retracted", block),
            ("inBlock", two),
            ("finalized", two),
        ]


async def test_a_transaction_in_no_block_is_sent_again_after_a_minute(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Send a transaction again after a minute that is in no block."""
    async with running(authority, light):
        await followed(light, authority)
        sent = tx("dave", 0)
        await light.rig.pool.submit(sent)
        await reached(light, lambda: bool(list(authority.rig.pool.ready())))
        authority.rig.pool._graph.remove([blake2_256(sent)])
        await trio.sleep(30)
        assert list(authority.rig.pool.ready()) == []
        await trio.sleep(40)
        assert [transaction.data for transaction in authority.rig.pool.ready()] == [sent]


async def test_many_transactions_are_sent_in_messages_of_an_accepted_size(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Split many transactions into messages that peers accept."""
    async with running(authority, light):
        await followed(light, authority)
        lengths = []
        protocol = light.network.protocols["transactions/1"]
        send = protocol.send
        protocol.send = lambda peer, data: lengths.append(len(data)) or send(peer, data)  # type: ignore
        protocol.open.discard("authority")
        for nonce in range(5):
            await light.rig.pool.submit(tx("dave", nonce, b"put large=" + b"x" * 400_000))
        protocol.open.add("authority")
        await reached(light, lambda: len(list(authority.rig.pool.ready())) == 5)
        assert max(lengths) < 1 << 20


async def test_an_invalid_transaction_is_charged(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Charge an invalid transaction."""
    async with running(authority, light):
        await followed(light, authority)
        authority.network.protocols["transactions/1"].send("light", b"\x04" + tx("poor", 0))
        await reached(light, lambda: bool(light.network.reports))
        assert light.reports == [("authority", reputation.BAD_MESSAGE)]
