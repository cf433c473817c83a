"""Changes of the authorities above the finalized block: at once, delayed, and forced."""

from __future__ import annotations

import pytest

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import ENGINE, ScheduledChange, encode_authorities
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.devchain.authorities import well_known
from cfnode.node.chain.authority_changes import AuthorityChanges
from cfnode.node.chain.errors import PastForcedChange, PastSetChange
from tests.node.mini import Rig, tx, u32

KEYS = well_known(2)
AUTHORITIES = tuple((key.grandpa.public, 1) for key in KEYS)
FORCED = b"\x02" + u32(0) + encode_authorities(AUTHORITIES)


def block(number: int) -> BlockRef:
    """Return a block of this number."""
    return BlockRef(number.to_bytes(32), number)


def header(number: int, *items: DigestItem) -> Header:
    """Return a header with these digest items."""
    return Header(bytes(32), number, bytes(32), bytes(32), items)


def forced_item(delay: int) -> DigestItem:
    """Return the digest item of a forced change."""
    return DigestItem(DigestKind.CONSENSUS, ENGINE, FORCED + u32(delay))


PATH = [block(number) for number in range(1, 9)]


def test_a_scheduled_change_begins_after_its_delay_and_survives_the_finality_of_its_announcement() -> None:
    """Begin a scheduled change after its delay, even if its announcement became final before."""
    changes = AuthorityChanges()
    assert changes.first(PATH) is None
    changes.add(header(2, ScheduledChange(AUTHORITIES, 3).item()), block(2))
    assert changes.first(PATH) == block(5)
    assert changes.first(PATH[:4]) is None  # it ends before
    changes.finalized(PATH[:3], {block.hash for block in PATH[3:]})
    assert changes.first(PATH[3:]) == block(5)
    changes.finalized(PATH[3:5], {block.hash for block in PATH[5:]})
    assert changes.first(PATH[5:]) is None


def test_a_change_on_a_fork_that_loses_is_forgotten() -> None:
    """Forget a change on a fork that finality has cut off."""
    changes = AuthorityChanges()
    changes.add(header(2, ScheduledChange(AUTHORITIES).item()), BlockRef(b"fork" * 8, 2))
    changes.add(header(3, forced_item(0)), BlockRef(b"more" * 8, 3))
    assert changes.first(PATH) is changes.forced(PATH) is None
    assert changes.reason is not None
    changes.finalized(PATH[:2], {block.hash for block in PATH[2:]})
    assert changes.reason is None


def test_a_forced_change_applies_from_its_delay_on_even_if_its_announcement_is_final() -> None:
    """Apply a forced change from its delay on, even if its announcement is final."""
    changes = AuthorityChanges()
    changes.add(header(2, forced_item(4)), block(2))
    assert changes.forced(PATH) == 6
    assert changes.forced(PATH[:5]) is None
    changes.finalized(PATH[:3], {block.hash for block in PATH[3:]})
    assert changes.forced(PATH[3:]) == 6
    assert changes.forced(PATH[3:5]) is None
    changes.clear()
    assert changes.forced(PATH) is changes.reason is None


def test_a_malformed_announcement_is_ignored() -> None:
    """Ignore a malformed announcement: any author could stop finality with one otherwise."""
    changes = AuthorityChanges()
    changes.add(header(2, DigestItem(DigestKind.CONSENSUS, ENGINE, b"\x02\xff")), block(2))
    assert changes.reason is None


async def test_votes_do_not_count_past_a_forced_change_and_the_log_names_the_remedy(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """Refuse votes past a forced change, and log the remedy."""
    await rig.block()
    announcing = await rig.block(tx("alice", 0, b"announce " + FORCED + u32(2)))
    blocks = await rig.blocks(3)
    assert "Block #2 announces a forced change of the authorities from block #4 on: nothing" in caplog.text
    assert "cfnode purge-chain" in caplog.text
    await rig.finality.finalize(announcing)
    await rig.finality.finalize(blocks[0])
    for past in blocks[1:]:
        with pytest.raises(PastForcedChange, match="applies from block #4 on"):
            await rig.finality.finalize(past)
    assert rig.chain.finalized.hash == blocks[0]
    assert rig.chain.changes.reason is not None
    assert rig.chain.changes.reason.startswith("a forced change of the authorities from block #4 on")


async def test_votes_do_not_reach_past_a_delayed_change(rig: Rig) -> None:
    """Refuse votes past a delayed change; its own block becomes final by the old voters."""
    item = ScheduledChange(AUTHORITIES, 2).item()
    announcing = await rig.block(tx("alice", 0, b"announce " + item.data))
    blocks = await rig.blocks(3)
    at = {ref.number: ref for ref in rig.chain.path(blocks[-1])}
    voters = await rig.chain.voters()
    justification = rig.finality.justification(at[4], voters, 1).encode()
    with pytest.raises(PastSetChange, match="block #3 changes the authorities"):
        await rig.chain.finalize(blocks[-1], justification)
    await rig.finality.finalize(announcing)
    with pytest.raises(PastSetChange, match="block #3 changes the authorities"):
        await rig.chain.finalize(blocks[-1], justification)
    assert rig.chain.next_set_change(blocks[-1]) == at[3]
    await rig.finality.finalize(blocks[-1])
    assert rig.chain.finalized == at[4]
