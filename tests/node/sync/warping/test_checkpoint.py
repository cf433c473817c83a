"""Proofs begin at a block that the operator trusts: its header holds the keys, its age is logged."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.aura import slot_of
from cfnode.core.wire.blocks import BlockResponse
from cfnode.node.config import Checkpoint
from cfnode.node.sync.service import ChainSync
from cfnode.node.sync.warping.authority_set_cache import TrustedSet
from cfnode.node.sync.warping.checkpoint import BadCheckpoint, load_checkpoint
from cfnode.node.sync.warping.warp import WarpSync
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, voter_set
from tests.support.node.net import MemoryNetwork
from tests.support.node.warp import KEYS, Client, grown
from tests.support.waiting import LIMIT_S

SLOTS_A_DAY = 24 * 600


def block(rig: Rig, number: int) -> bytes:
    """Return the hash of a block."""
    block_hash = rig.chain.hash_at(number)
    assert block_hash is not None
    return block_hash


async def trusted(client: Client, checkpoint: Checkpoint, days: float = 1) -> TrustedSet:
    """Return TrustedSet in the checkpoint, so many days after it was made."""
    header = client.rig.store.header(client.rig.chain.finalized.hash)
    assert header is not None
    now = slot_of(header) + int(days * SLOTS_A_DAY)
    return await load_checkpoint(client.asker, checkpoint, client.progress, now)


async def test_proofs_continue_from_a_checkpoint_whose_header_holds_the_keys(
    make_rig: MakeRig, caplog: pytest.LogCaptureFixture
) -> None:
    """Continue proofs from a checkpoint whose header holds the keys, and log its age."""
    rig = await grown(make_rig)
    client = Client(rig, honest=None)
    with caplog.at_level("INFO", "cfnode.sync"):
        trust = await trusted(client, Checkpoint(block(rig, 1), 1))
    assert (trust.number, trust.authorities) == (1, voter_set(KEYS[:2], 1))
    assert "The checkpoint #1 " in caplog.text
    assert "is 1.0 days old" in caplog.text
    warp = WarpSync(client.asker, trust, None, client.progress)
    reached = await warp.run()
    assert reached.header.hash == rig.chain.finalized.hash
    assert reached.authorities == voter_set(KEYS[1:], 2)
    assert client.progress.sets == 2, "the change before the checkpoint was not proven again"


@pytest.mark.parametrize(("days", "words"), [(45, "IS 45 DAYS OLD"), (-2, "check this machine's clock")])
async def test_an_implausible_age_of_a_checkpoint_is_warned_of(
    make_rig: MakeRig, caplog: pytest.LogCaptureFixture, days: float, words: str
) -> None:
    """Warn of a checkpoint that is too old or from the future."""
    rig = await grown(make_rig)
    await trusted(Client(rig, honest=None), Checkpoint(block(rig, 1), 1), days)
    loud = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(loud) == 1
    assert words in loud[0]


async def test_a_checkpoint_that_changes_no_authorities_is_refused(make_rig: MakeRig) -> None:
    """Refuse a checkpoint whose block changes no authorities."""
    rig = await grown(make_rig)
    with pytest.raises(BadCheckpoint, match=r"block #3 .* changes no authorities: --checkpoint takes"):
        await trusted(Client(rig, honest=None), Checkpoint(block(rig, 3), 2))


async def test_a_wrong_set_id_proves_nothing_and_is_named_as_the_reason(
    make_rig: MakeRig, caplog: pytest.LogCaptureFixture, patient_clock: MockClock
) -> None:
    """Name a wrong set id as the reason why no proof continues."""
    rig = await grown(make_rig)
    client = Client(rig, honest=None)
    trust = await trusted(client, Checkpoint(block(rig, 1), 7))
    with trio.move_on_after(60):
        await WarpSync(client.asker, trust, None, client.progress).run()
    assert "is the set id of --checkpoint right?" in caplog.text


async def test_a_peer_that_sends_a_header_with_another_hash_is_dropped_and_the_next_one_asked(
    make_rig: MakeRig,
) -> None:
    """Drop a peer that sends a header with another hash, and ask the next one."""
    rig = await grown(make_rig)

    def another(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        assert answer is not None
        data = BlockResponse.decode(answer).blocks[0]
        header = rig.store.header(block(rig, 2))
        return BlockResponse((replace(data, header=header),)).encode()

    client = Client(rig, liar=another, absent=lambda *_: None, honest=None)
    trust = await trusted(client, Checkpoint(block(rig, 1), 1))
    assert trust.number == 1
    assert [peer for peer, _, _ in client.network.reports] == ["liar"]
    assert "liar" not in client.network.peers


async def test_the_wait_for_an_unknown_checkpoint_is_logged(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Report the wait for an unknown checkpoint with its hash."""
    rig = await grown(make_rig)
    client = Client(rig, honest=None)
    with trio.move_on_after(20):
        await trusted(client, Checkpoint(b"\x07" * 32, 1))
    assert client.progress.waiting_for == (
        f"no peer provides the checkpoint 0x{'07' * 32}: is it a block of this chain?"
    )


async def test_a_node_begins_at_the_checkpoint_it_was_given(make_rig: MakeRig) -> None:
    """Begin the proofs at the checkpoint, and import the state of the newest final block."""
    rig, own = await grown(make_rig), await make_rig("own", authorities=KEYS)
    client = Client(rig, honest=None)
    network = MemoryNetwork("light")
    checkpoint = Checkpoint(block(rig, 1), 1)
    light = ChainSync(network, own.chain, own.store, beginning=client.genesis, checkpoint=checkpoint)
    light.peer_set.update("honest", 3, rig.chain.best.hash)
    network.others["honest"] = client.network.others["honest"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(light.run)
        with trio.fail_after(LIMIT_S), own.chain.subscribe() as events:
            await events.__anext__()
        nursery.cancel_scope.cancel()
    assert own.chain.finalized == rig.chain.finalized
    begins = [data for _, protocol, data in network.asked if protocol == "sync/warp"]
    assert begins == [checkpoint.block]
