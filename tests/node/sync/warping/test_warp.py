"""From genesis to the newest final block by proofs, past peers that lie, refuse or know nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.grandpa import WarpFragment, WarpProof
from cfnode.core.header import Header
from cfnode.network.interface import RequestFailed
from cfnode.node.asking import reputation
from cfnode.node.sync.warping.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.sync.warping.warp import follow_answer
from tests.node.conftest import MakeRig
from tests.node.mini import voter_set
from tests.support.node.warp import KEYS, Client, edited, forge_last, grown


def skip_one(fragments: list[WarpFragment]) -> None:
    """Leave out the first fragment."""
    del fragments[0]


def repeat_one(fragments: list[WarpFragment]) -> None:
    """Repeat the first fragment."""
    fragments.insert(1, fragments[0])


async def test_a_new_node_verifies_proofs_up_to_the_newest_final_block(make_rig: MakeRig) -> None:
    """Verify proofs from genesis to the newest final block, and count the sets."""
    rig = await grown(make_rig)
    client = Client(rig, honest=None)
    trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash
    assert trust.authorities == voter_set(KEYS[1:], 2)
    assert client.progress.sets == 3
    assert client.progress.line() == (
        f"⏩ Warping, Downloading finality proofs, 3 sets, {client.progress.size / 2**20:.2f} MiB"
    )


@pytest.mark.parametrize("edit", [forge_last, skip_one, repeat_one])
async def test_a_peer_with_an_invalid_proof_is_dropped_and_another_one_asked(
    make_rig: MakeRig, edit: object
) -> None:
    """Drop a peer with an invalid proof, and finish with another one."""
    rig = await grown(make_rig)
    client = Client(rig, liar=lambda protocol, request, answer: edited(answer, edit), honest=None)
    trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash
    assert [(peer, change) for peer, change, _ in client.network.reports] == [("liar", reputation.BAD_PROOF)]
    assert "liar" not in client.network.peers


async def test_valid_fragments_before_an_invalid_one_are_kept(make_rig: MakeRig) -> None:
    """Keep the valid fragments before an invalid one: the next peer continues there."""
    rig = await grown(make_rig)
    client = Client(rig, liar=lambda protocol, request, answer: edited(answer, forge_last), honest=None)
    await client.sync.run()
    asked = [request for peer, _, request in client.network.asked if peer == "honest"]
    assert asked == [rig.chain.hash_at(2)]


@pytest.mark.parametrize("answer", [b"", b"\x00\x01", b"\x00\x00", b"\xff" * 100, None])
async def test_after_empty_and_malformed_answers_the_next_peer_is_asked(
    make_rig: MakeRig, answer: bytes | None
) -> None:
    """Ask the next peer after an empty or malformed answer."""
    rig = await grown(make_rig)
    client = Client(rig, useless=lambda *_: answer, honest=None)
    trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash


async def test_a_peer_without_finality_says_nothing_about_the_chain(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Wait, without a charge, for a peer that has something new when others are still at genesis."""
    rig = await grown(make_rig)

    def nothing_new(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        def only_genesis(fragments: list[WarpFragment]) -> None:
            fragments[:] = [WarpFragment(client.genesis.header, fragments[0].justification)]

        return edited(answer, only_genesis)

    client = Client(rig, behind=lambda *_: b"\x00\x01", liar=nothing_new)
    with trio.move_on_after(62) as waiting:
        await client.sync.run()
    assert waiting.cancelled_caught
    for name in ("behind", "liar"):
        assert f"{name}: it has no final block after #0 yet" in client.progress.waiting_for
    assert not client.network.reports
    client.add("honest", None, 9)
    trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash


async def test_a_proof_in_parts_is_assembled(make_rig: MakeRig) -> None:
    """Assemble a proof that comes in parts."""
    rig = await grown(make_rig)

    def first_only(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        assert answer is not None
        proof = WarpProof.decode(answer)
        return answer if len(proof.fragments) == 1 else WarpProof(proof.fragments[:1], False).encode()

    client = Client(rig, slow=first_only)
    trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash
    assert len(client.network.asked) == 3


async def test_without_peers_the_sync_waits_and_reports_it(
    make_rig: MakeRig, autojump_clock: MockClock
) -> None:
    """Report that there is no peer, and continue when one connects."""
    rig = await grown(make_rig)
    client = Client(rig)

    async def come_later() -> None:
        await trio.sleep(40)
        assert client.progress.waiting_for == "no peer is connected yet"
        client.add("late", None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(come_later)
        trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash


async def test_a_restart_uses_the_cached_set(make_rig: MakeRig, tmp_path: Path) -> None:
    """Begin at the cached set after a restart, and prove no earlier one again."""
    rig = await grown(make_rig)
    memory = AuthoritySetCache(tmp_path / "sets", rig.chain.genesis_hash)
    first = await Client(rig, memory, honest=None).sync.run()
    again = Client(rig, memory, honest=None)
    assert await again.sync.run() == first
    assert [request for _, _, request in again.network.asked] == [first.header.hash]
    assert again.progress.sets == 0


async def test_a_cached_set_that_no_peer_continues_is_dropped(
    make_rig: MakeRig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Drop a cached set that no peer continues, and begin at genesis."""
    rig = await grown(make_rig)
    memory = AuthoritySetCache(tmp_path / "sets", rig.chain.genesis_hash)
    memory.save(TrustedSet(Header(bytes(32), 999, bytes(32), bytes(32)), voter_set(KEYS, 7)))
    trust = await Client(rig, memory, honest=None).sync.run()
    assert trust.header.hash == rig.chain.finalized.hash
    assert "No peer continues from block #999" in caplog.text


async def test_a_cached_set_outlives_a_request_whose_connection_ended(
    make_rig: MakeRig, tmp_path: Path, patient_clock: MockClock
) -> None:
    """Keep a cached set when a connection ends during the request."""
    rig = await grown(make_rig)
    memory = AuthoritySetCache(tmp_path / "sets", rig.chain.genesis_hash)
    first = await Client(rig, memory, honest=None).sync.run()
    failures = [RequestFailed("the connection ended")]

    def fails_once(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        if failures:
            raise failures.pop()
        return answer

    again = Client(rig, memory, honest=fails_once)
    assert await again.sync.run() == first
    assert [request for _, _, request in again.network.asked] == [first.header.hash] * 2
    assert memory.load() == first


def test_a_damaged_cache_and_another_chains_are_ignored(tmp_path: Path) -> None:
    """Ignore a damaged cache and one of another chain."""
    path, trust = (
        tmp_path / "sets",
        TrustedSet(Header(bytes(32), 5, bytes(32), bytes(32)), voter_set(KEYS, 7)),
    )
    memory = AuthoritySetCache(path, b"g" * 32)
    assert memory.load() is None
    memory.save(trust)
    assert memory.load() == trust
    assert AuthoritySetCache(path, b"h" * 32).load() is None
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :])
        assert memory.load() is None


async def test_no_corrupted_byte_makes_a_false_block_trusted(make_rig: MakeRig) -> None:
    """Trust no false block for any corrupted byte of a proof."""
    rig = await grown(make_rig)
    client = Client(rig, honest=None)
    answer = await client.network.request("honest", "sync/warp", rig.chain.genesis_hash)
    true = {rig.chain.hash_at(number) for number in range(4)}
    for at in range(0, len(answer), 7):
        spoilt = answer[:at] + bytes((answer[at] ^ 1,)) + answer[at + 1 :]
        assert follow_answer(spoilt, client.genesis).trusted.header.hash in true
