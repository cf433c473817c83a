"""One peer tells each lie over a real network: it is named, scored and dropped, and another one is asked.

`docs/design/threat-model.md` lists the lies; `test_threat_model.py` checks that list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio

from cfnode.core.aura import pre_runtime_item, slot_of
from cfnode.core.grandpa import WarpFragment, WarpProof
from cfnode.core.header import Header
from cfnode.core.wire.announces import AnnounceHandshake, BlockAnnounce
from cfnode.core.wire.blocks import BlockData, BlockResponse
from cfnode.core.wire.state import StateResponse
from cfnode.node.sync.serving import serve
from tests.node.mini import Rig, tx
from tests.support.node.liar import Liar, Lie, TcpPeer, on_the_network, signed_anew
from tests.support.node.steps import joined, score

Edit = Callable[[list[WarpFragment]], None]


async def is_dropped(liar: TcpPeer, victim: TcpPeer, caplog: pytest.LogCaptureFixture) -> None:
    """Check that the liar is disconnected, logged and charged, and that the victim keeps nothing of it."""
    await victim.reached(lambda: liar.id not in victim.network.peers)
    assert f"Peer {liar.id} is dropped: " in caplog.text
    assert score(liar, by=victim) < 0
    await victim.reached(lambda: victim.network.bytes_held == 0)


# What is answered


def in_warp(edit: Edit) -> Lie:
    """Return a lie that edits the fragments of a warp proof."""

    def lie(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        if protocol != "sync/warp" or answer is None:
            return answer
        fragments = list(WarpProof.decode(answer).fragments)
        edit(fragments)
        return WarpProof(tuple(fragments), True).encode()

    return lie


def of_another_set(fragments: list[WarpFragment]) -> None:
    """Leave out the first fragment, so that the next is of another set."""
    del fragments[0]


def with_too_little_weight(fragments: list[WarpFragment]) -> None:
    """Keep one vote of the first fragment: too little weight."""
    proof = fragments[0].justification
    commit = replace(proof.commit, precommits=proof.commit.precommits[:1])
    fragments[0] = WarpFragment(fragments[0].header, replace(proof, commit=commit))


def with_one_vote_counted_often(fragments: list[WarpFragment]) -> None:
    """Repeat one vote of the first fragment."""
    proof = fragments[0].justification
    commit = replace(proof.commit, precommits=proof.commit.precommits[:1] * 3)
    fragments[0] = WarpFragment(fragments[0].header, replace(proof, commit=commit))


def with_forged_ancestry(fragments: list[WarpFragment]) -> None:
    """Send votes for a block with a forged ancestry."""
    first = fragments[0]
    forged = Header(first.header.parent_hash, first.header.number, bytes(32), bytes(32), first.header.digest)
    ancestry = Header(forged.hash, first.header.number + 1, bytes(32), bytes(32))
    commit = replace(first.justification.commit, target_hash=forged.hash)
    proof = replace(first.justification, commit=commit, ancestries=(ancestry,))
    fragments[0] = WarpFragment(forged, proof)


def without_end(fragments: list[WarpFragment]) -> None:
    """Repeat the first fragment 25,000 times."""
    fragments[:] = fragments[:1] * 25_000


def answering(protocol: str, change: Callable[[bytes], bytes]) -> Lie:
    """Return a lie that changes the answers of a protocol."""
    return lambda asked, _, answer: change(answer) if asked == protocol and answer else answer


def in_state(change: Callable[[tuple[bytes, ...]], tuple[bytes, ...]]) -> Lie:
    """Return a lie that changes the proof of a state."""
    return answering(
        "state/2", lambda answer: StateResponse(proof=change(StateResponse.decode(answer).proof)).encode()
    )


LIES: dict[str, Lie] = {
    "another set": in_warp(of_another_set),
    "too little weight": in_warp(with_too_little_weight),
    "one vote, often": in_warp(with_one_vote_counted_often),
    "forged ancestry": in_warp(with_forged_ancestry),
    "fragments without end": in_warp(without_end),
    "a proof cut short": answering("sync/warp", lambda answer: answer[:-7]),
    "a malformed proof": answering("sync/warp", lambda answer: b"\xff" * 100),
    "state: a node missing": in_state(lambda proof: proof[1:]),
    "state: a node altered": in_state(lambda proof: (*proof[:-1], proof[-1][:-1] + b"\xee")),
    "state: a node too many": in_state(lambda proof: (*proof, b"\0" * 40)),
    "state: cut short": answering("state/2", lambda answer: answer[:-3]),
    "state: nothing": answering("state/2", lambda answer: b""),
    "target: another header": answering("sync/2", lambda answer: spoilt_blocks(answer, state_root=bytes(32))),
    "target: no body of it": answering("sync/2", lambda answer: with_body(answer, (tx("eve", 9),))),
}


def spoilt_blocks(answer: bytes, **changes: bytes) -> bytes:
    """Return an answer whose headers have other fields."""
    blocks = BlockResponse.decode(answer).blocks
    changed = (replace(block, header=replace(block.header, **changes)) for block in blocks if block.header)
    return BlockResponse(tuple(changed)).encode()


def with_body(answer: bytes, body: tuple[bytes, ...]) -> bytes:
    """Return an answer whose blocks have another body."""
    blocks = BlockResponse.decode(answer).blocks
    return BlockResponse(tuple(replace(block, body=body) for block in blocks)).encode()


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
async def test_a_peer_that_falsifies_an_answer_is_dropped_and_another_one_helps(
    chain: Rig, victim: TcpPeer, lie: Lie, caplog: pytest.LogCaptureFixture
) -> None:
    """Drop and charge a peer for each lie in an answer, keep nothing of it, and sync from another one."""
    liar, honest = Liar(2, chain, lie), Liar(3, chain)
    async with on_the_network(victim, liar, honest):
        await victim.network.connect(liar.address)
        await is_dropped(liar, victim, caplog)
        best = victim.rig.chain.best
        assert chain.chain.hash_at(best.number) == best.hash, "nothing of it was taken"
        await victim.network.connect(honest.address)
        await victim.in_step_with(honest)
        assert victim.rig.read("before") == "the target" * 9
        assert score(honest, by=victim) >= 0


async def test_a_slow_and_a_silent_peer_are_replaced_in_time(
    chain: Rig, victim: TcpPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace a peer that never answers, after its timeout, and charge it."""
    liar, honest = Liar(2, chain), Liar(3, chain)
    monkeypatch.setitem(
        victim.network._limits, "sync/warp", replace(serve.SERVED_REQUEST_LIMITS["sync/warp"], timeout=0.3)
    )

    async def never(peer: str, data: bytes) -> bytes | None:
        await trio.sleep_forever()

    liar.network.serve_requests("sync/warp", never)
    async with on_the_network(victim, liar, honest):
        await victim.network.connect(liar.address)
        await victim.reached(lambda: liar.id not in victim.network.peers)
        assert score(liar, by=victim) < 0
        await victim.network.connect(honest.address)
        await victim.in_step_with(honest)


# What is announced


def offered(liar: Liar, header: Header, body: tuple[bytes, ...]) -> bytes:
    """Return the announcement of a block, which the liar provides on request."""
    block = BlockResponse((BlockData(header.hash, header, body),)).encode()
    liar.network.lie = lambda protocol, request, answer: block if protocol == "sync/2" else answer
    return BlockAnnounce(header).encode()


FORGERIES: dict[str, Callable[[Header], Header]] = {
    "a wrong state root, truly signed": lambda it: signed_anew(replace(it, state_root=bytes(32))),
    "a seal by another authority": lambda it: signed_anew(replace(it, state_root=bytes(32)), author=1),
    "a wrong number": lambda it: signed_anew(replace(it, number=it.number + 7)),
    "a slot before its parent's": lambda it: signed_anew(
        replace(it, digest=(pre_runtime_item(3), *it.digest[1:]))
    ),
    "a far slot, and no true seal": lambda it: replace(
        it, digest=(pre_runtime_item(1 << 40), *it.digest[1:])
    ),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
async def test_a_forged_block_is_never_imported_and_the_chain_continues(
    chain: Rig, victim: TcpPeer, forge: Callable[[Header], Header], caplog: pytest.LogCaptureFixture
) -> None:
    """Refuse each kind of forged block, drop its announcer, and follow the honest chain."""
    liar, honest = Liar(2, chain), Liar(3, chain)
    async with on_the_network(victim, liar, honest):
        await joined(victim, honest, liar)
        before = victim.rig.chain.best
        header, body = chain.chain.header(before.hash), chain.chain.body(before.hash)
        assert header is not None
        forged = forge(header)
        assert liar.announce(victim, offered(liar, forged, tuple(body or ())))
        await victim.reached(lambda: f"Peer {liar.id} is dropped: " in caplog.text)
        assert score(liar, by=victim) < 0
        assert "is the clock right?" not in caplog.text
        assert victim.rig.chain.best == before
        assert victim.rig.chain.header(forged.hash) is None
        await chain.block(tx("dave", 0))
        await victim.in_step_with(honest)


async def test_two_blocks_in_one_slot_are_a_fork_that_ends_with_finality(chain: Rig, victim: TcpPeer) -> None:
    """Follow both of two blocks in one slot until finality drops one."""
    honest = Liar(3, chain)
    async with on_the_network(victim, honest):
        await joined(victim, honest)
        parent = chain.chain.best.hash
        clock, twins = chain.clock._last, []
        for name in ("dave", "carol"):
            chain.clock._last = clock
            twins.append(await chain.block(tx(name, 0), on=parent))
        headers = [chain.chain.header(twin) for twin in twins]
        assert len({slot_of(header) for header in headers if header}) == 1
        for header in headers:
            assert header is not None
            assert honest.announce(victim, BlockAnnounce(header).encode())
        await victim.reached(lambda: all(victim.rig.chain.header(twin) for twin in twins))
        await victim.in_step_with(honest)
        await chain.finality.finalize(await chain.block())
        await victim.in_step_with(honest)
        assert victim.rig.chain.leaves == 1


async def test_a_block_withheld_by_its_first_announcer_is_fetched_from_the_next(
    chain: Rig, victim: TcpPeer
) -> None:
    """Fetch a block from the next announcer that its first one withholds."""
    liar, honest = Liar(2, chain), Liar(3, chain)
    async with on_the_network(victim, liar, honest):
        await joined(victim, honest, liar)
        liar.network.lie = lambda protocol, request, answer: None
        victim.sync._follower.announced(liar.id, b"\1" * 32, 9)
        await chain.block(tx("dave", 0))
        header = chain.chain.header(chain.chain.best.hash)
        assert header is not None
        victim.sync._follower.announced(liar.id, header.hash, header.number)
        await victim.in_step_with(honest)


async def test_a_flood_of_announcements_stays_within_its_bounds(chain: Rig, victim: TcpPeer) -> None:
    """Bound the memory and tasks that a flood of announcements takes, and follow the honest peer."""
    liar, honest = Liar(2, chain), Liar(3, chain)
    async with on_the_network(victim, liar, honest):
        await joined(victim, honest, liar)
        tasks, sent = trio.lowlevel.current_statistics().tasks_living, 0
        for number in range(3000):
            unknown = Header(number.to_bytes(32, "big"), 50 + number, bytes(32), bytes(32))
            sent += liar.announce(victim, BlockAnnounce(unknown).encode())
            if not number % 50:
                await trio.lowlevel.checkpoint()
            assert len(victim.sync._follower._wanted) <= 256
        assert sent > 50
        await chain.block(tx("dave", 0))
        await victim.in_step_with(honest)
        assert trio.lowlevel.current_statistics().tasks_living < tasks + 100
        await victim.reached(lambda: victim.network.bytes_held < 1 << 20)


async def test_false_claims_about_the_head_are_discounted_and_an_honest_peer_followed(
    chain: Rig, victim: TcpPeer
) -> None:
    """Discount false claims about the head: the node is not syncing, and follows the honest peer."""
    honest = Liar(9, chain)
    liars = [Liar(number, chain) for number in (2, 3, 4)]
    for liar in liars:
        said = AnnounceHandshake.decode(liar.sync._handshake())
        far = replace(said, best_number=1_000_000, best_hash=b"\7" * 32).encode()
        liar.network._membership.protocols["block-announces/1"]._handshake = lambda far=far: far
    async with on_the_network(victim, honest, *liars):
        await joined(victim, honest, *liars)
        peer_set = victim.sync.peer_set
        await victim.reached(lambda: all(peer_set.record(liar.id).claims_discounted for liar in liars))
        assert not victim.sync.progress.is_syncing, "claims prove nothing"
        assert peer_set.median_claim == chain.chain.best.number
        await chain.block(tx("dave", 0))
        await victim.in_step_with(honest)
        assert not victim.sync.progress.is_syncing


async def test_a_clock_that_is_an_hour_slow_is_warned_of_and_no_peer_charged(
    chain: Rig, victim: TcpPeer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warn once of a clock that is an hour slow, charge no peer, and follow once it is right."""
    header = chain.chain.header(chain.chain.best.hash)
    assert header is not None
    looks = list[int]()

    def slot_now() -> int:
        looks.append(slot_of(header) - 600)
        return looks[-1]

    with monkeypatch.context() as slow:
        slow.setattr(victim.rig.chain, "slot_now", slot_now)
        honest = Liar(3, chain)
        async with on_the_network(victim, honest):
            await victim.network.connect(honest.address)
            await victim.reached(lambda: "is postponed (is the clock right?)" in caplog.text)
            assert victim.rig.chain.best.number == 4
            assert score(honest, by=victim) >= 0
            count = len(looks)
            await chain.block(tx("dave", 0))
            await victim.reached(lambda: len(looks) > count)
            assert caplog.text.count("is the clock right?") == 1
            slow.undo()
            await chain.block(tx("dave", 1))
            await victim.in_step_with(honest)
