"""A state comes from several peers at once, and only the true one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.header import Header
from cfnode.core.trie import build_range, read_range
from cfnode.core.wire.light import LightResponse
from cfnode.core.wire.state import StateRequest, StateResponse
from cfnode.node.asking import reputation
from cfnode.node.asking.progress import Phase
from cfnode.node.sync.warping.state_download import TargetLost
from cfnode.node.sync.warping.state_plan import PartTurn, StatePlan
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, put, tx
from tests.support.core.states import Held
from tests.support.node.net import Tamper
from tests.support.node.states import Client, grown

TURN = PartTurn("peer", 0)


async def test_a_state_is_downloaded_from_all_peers_at_once(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Download a state from all peers at once, and ask for no range twice."""
    rig = await grown(make_rig, monkeypatch)
    client = Client(rig, tmp_path, a=None, b=None, c=None)
    await client.run()
    client.assert_same()
    helped = {peer for peer, _, _ in client.network.asked}
    assert helped == {"a", "b", "c"}
    requests = [StateRequest.decode(data).start for _, _, data in client.network.asked]
    assert len(set(requests)) == len(requests) > 10, "nothing is asked for twice"
    assert client.progress.phase is Phase.IMPORTING
    assert client.progress.keys > 180


def spoil(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Change the last byte of an answer."""
    assert answer is not None
    return answer[:-1] + bytes((answer[-1] ^ 1,))


def cut(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Cut two nodes off a proof."""
    assert answer is not None
    return StateResponse(proof=StateResponse.decode(answer).proof[:-2]).encode()


def strip(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Answer with nothing."""
    return b""


def spoil_light(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Change the last byte of a light answer."""
    return spoil(protocol, request, answer) if protocol == "light/2" else answer


def strip_light(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Answer a light request with a node of zeros."""
    return LightResponse((b"\x00" * 40,)).encode() if protocol == "light/2" else answer


def drip_light(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Return one entry of many that was asked for, so that it takes for ever."""
    if protocol != "light/2" or answer is None:
        return answer
    proof = LightResponse.decode(answer).proof
    assert proof is not None
    return LightResponse(proof[-1:]).encode()


def extra(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
    """Add a node to a proof that belongs to nothing."""
    assert answer is not None
    return StateResponse(proof=(*StateResponse.decode(answer).proof, b"\x00" * 40)).encode()


@pytest.mark.parametrize("lie", [spoil, cut, strip, extra])
async def test_a_peer_that_sends_another_state_is_dropped_and_the_rest_finish_it(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Tamper
) -> None:
    """Drop a peer that sends another state, and finish with the others."""
    rig = await grown(make_rig, monkeypatch)
    client = Client(rig, tmp_path, liar=lie, honest=None)
    await client.run()
    client.assert_same()
    assert {(peer, change) for peer, change, _ in client.network.reports} == {("liar", reputation.BAD_PROOF)}
    assert "liar" not in client.network.peers


async def test_a_peer_that_answers_the_same_piece_again_and_again_is_dropped(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drop a peer that answers every request with its first piece, and finish with another one."""
    rig = await grown(make_rig, monkeypatch)
    first: list[bytes] = []

    def same(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        assert answer is not None
        first.append(answer)
        return first[0]

    client = Client(rig, tmp_path, liar=same)
    client.add("honest")
    await client.run()
    client.assert_same()
    assert {(peer, change) for peer, change, _ in client.network.reports} == {("liar", reputation.BAD_PROOF)}
    assert "liar" not in client.network.peers


async def test_when_no_peer_has_the_state_a_newer_target_is_needed(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ask for a newer target when no peer has the state, and charge none for it."""
    rig = await grown(make_rig, monkeypatch)
    client = Client(rig, tmp_path, forgetful=lambda *_: None)
    with pytest.raises(TargetLost, match="no peer provides the state of block #6"):
        await client.run()
    assert client.network.reports == []


class Forgetful:
    """A peer that gives so many answers about a block's state, and then has pruned it."""

    def __init__(self, block: bytes, answers: int) -> None:
        self.block, self.answers = block, answers

    def __call__(self, protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        """Return the answer until there were enough."""
        if protocol == "state/2" and StateRequest.decode(request).block == self.block:
            self.answers -= 1
            return answer if self.answers >= 0 else None
        return answer


async def change(rig: Rig, nonce: int) -> Header:
    """Change and add some entries; returns the new final block."""
    puts = [put(f"{entry} of 2", "new" * entry) for entry in range(0, 100, 9)]
    puts += [put(f"another {entry}", "value" * 20) for entry in range(5)]
    await rig.block(
        *(tx("alice", nonce + index, put_call) for index, put_call in enumerate(puts)), final=True
    )
    header = rig.store.header(rig.chain.finalized.hash)
    assert header is not None
    return header


async def test_a_download_keeps_its_part_when_the_target_is_lost(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep what was downloaded when the target is lost, and go on from there with the next one."""
    rig = await grown(make_rig, monkeypatch)
    first = rig.chain.finalized.hash
    client = Client(rig, tmp_path, server=Forgetful(first, 12))
    with pytest.raises(TargetLost, match=r"no peer provides the state of block #6 \(server: refused\)"):
        await client.run()
    asked, size = len(client.network.asked), client.progress.size
    assert asked in (13, 14), "two may be open when the peer begins to refuse"
    client.header = await change(rig, 180)
    sizes: list[int] = []

    def look(kind: str, request: bytes, answer: bytes | None) -> bytes | None:
        if kind == "state/2":
            sizes.append(client.progress.size)
        return answer

    client.network.others["server"].tamper = look
    await client.run()
    client.assert_same()
    assert sizes[0] == size > 0, "progress went on from where it was"
    assert sizes == sorted(sizes)
    later = [StateRequest.decode(data) for _, kind, data in client.network.asked[asked:] if kind == "state/2"]
    assert () not in [request.start for request in later], "nothing that had come was asked for again"
    assert {request.block for request in later} == {client.header.hash}


async def test_the_target_may_be_lost_during_the_last_walk(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ranges are here, of two blocks; what has changed cannot be had of the second, but of the third."""
    rig = await grown(make_rig, monkeypatch)
    client = Client(rig, tmp_path, server=Forgetful(rig.chain.finalized.hash, 12))
    with pytest.raises(TargetLost):
        await client.run()
    second = client.header = await change(rig, 180)
    server = client.network.others["server"]
    server.tamper = lambda kind, request, answer: None if kind == "light/2" else answer
    with pytest.raises(TargetLost, match="no peer proves the state of block #7"):
        await client.run()
    server.tamper = None
    client.header = await change(rig, 197)
    await client.run()
    client.assert_same()
    blocks = {StateRequest.decode(data).block for _, kind, data in client.network.asked if kind == "state/2"}
    assert second.hash in blocks
    assert client.header.hash not in blocks, "no range was asked for anew"


@pytest.mark.parametrize("lie", [spoil_light, strip_light, drip_light])
async def test_a_peer_that_sends_wrong_missing_nodes_is_dropped(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Tamper
) -> None:
    """Drop a peer that sends wrong missing nodes or one at a time."""
    rig = await grown(make_rig, monkeypatch)
    client = Client(rig, tmp_path, liar=Forgetful(rig.chain.finalized.hash, 12))
    with pytest.raises(TargetLost):
        await client.run()
    client.network.others["liar"].tamper = lie
    client.header = await change(rig, 180)
    client.add("honest")
    client.peer_set.delivered("liar", 1 << 40, 0.01)  # more than any other peer, so it is asked first
    await client.run()
    client.assert_same()
    assert {(peer, change) for peer, change, _ in client.network.reports} == {("liar", reputation.BAD_PROOF)}


@given(
    st.dictionaries(st.binary(min_size=1, max_size=3), st.binary(max_size=40), max_size=60),
    st.integers(40, 400),
    st.lists(st.integers(0, 3), max_size=400),
)
@settings(max_examples=60)
def test_in_any_order_of_parts_the_whole_state_is_downloaded(
    top: dict[bytes, bytes], most: int, turns: list[int]
) -> None:
    """Download the whole state in any order of its parts."""
    state, plan = Held(top), StatePlan()
    got: dict[bytes, bytes] = {}
    held = [plan.assign(TURN, lambda _: False)]
    order = iter(turns)
    while not plan.done:
        turn = next(order, 0)
        if turn or not held:
            part = plan.assign(TURN, lambda _: False)
            if part is not None:
                held.append(part)
                continue
        part = held.pop(turn % len(held))
        assert part is not None
        items, _ = build_range(state, part.start, most)
        state_range = read_range(items, state.root, part.start)
        got |= {key: value for _, key, value in state_range.pairs}
        plan.advance(part, state_range.next, state_range.ahead)
    assert got == top
