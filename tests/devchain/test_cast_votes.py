"""What an authority remembers of its votes, so that it does not vote twice after a restart."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import PRECOMMIT, PREVOTE, AuthoritySet, CatchUp, Vote, sign_payload
from cfnode.core.keys import Keypair
from cfnode.devchain.cast_votes import CastVotes, CastVotesError
from cfnode.devchain.round_voter import RoundVoter
from cfnode.node.grandpa.rounds import Rounds
from tests.support.node.peers import KEYS

ALICE, BOB = (keys.grandpa for keys in KEYS[:2])
BLOCK = bytes([7]) * 32


def vote(number: int, stage: int, set_id: int = 3, key: Keypair = ALICE) -> Vote:
    """Return a signed vote."""
    payload = sign_payload(BLOCK, 1, number, set_id, stage)
    return Vote(number, set_id, stage, BLOCK, 1, key.sign(payload), key.public)


def test_a_vote_is_cast_once_and_not_in_an_earlier_round(tmp_path: Path) -> None:
    """Allow each vote once, and none in an earlier round or set, after loading the record again."""
    path = tmp_path / "cast-votes"
    record = CastVotes.load(path)
    assert record.allows(0, 1, PREVOTE, ALICE.public)
    over = CatchUp(3, 5, (vote(5, PREVOTE).signed(),), (vote(5, PRECOMMIT).signed(),), BLOCK, 1)
    record.add([vote(6, PREVOTE)], over)
    loaded = CastVotes.load(path)
    assert (loaded.votes, loaded.completed, loaded.place) == ((vote(6, PREVOTE),), over, (3, 6))
    asked = [
        (3, 6, PREVOTE, ALICE), (3, 6, PRECOMMIT, ALICE), (3, 6, PREVOTE, BOB), (3, 5, PRECOMMIT, ALICE),
        (3, 7, PREVOTE, ALICE), (2, 9, PREVOTE, ALICE), (4, 1, PREVOTE, ALICE),
    ]  # fmt: skip
    allowed = [loaded.allows(set_id, number, stage, key.public) for set_id, number, stage, key in asked]
    assert allowed == [False, True, True, False, True, False, True]

    loaded.add([vote(6, PRECOMMIT), vote(6, PRECOMMIT, key=BOB)], over)
    assert len(CastVotes.load(path).votes) == 3
    loaded.add([vote(1, PREVOTE, 4)], None)
    last = CastVotes.load(path)
    assert (last.votes, last.completed) == ((vote(1, PREVOTE, 4),), None)


@pytest.mark.parametrize("content", [b"", b"\x00", b"nonsense", b"\x00\x04\x01"])
def test_a_damaged_record_is_refused(tmp_path: Path, content: bytes) -> None:
    """Refuse a damaged record: an authority without it could vote twice."""
    path = tmp_path / "cast-votes"
    path.write_bytes(content)
    with pytest.raises(CastVotesError, match=r"is damaged .* purge the chain"):
        CastVotes.load(path)


OTHER = bytes([8]) * 32


class Tree:
    """Two blocks on genesis, which is final."""

    finalized = BlockRef(bytes(32), 0)

    def parent(self, block: bytes) -> bytes | None:
        """Return genesis for the two blocks."""
        return bytes(32) if block in (BLOCK, OTHER) else None

    def header(self, block_hash: bytes) -> None:
        """Return none: no header is needed here."""

    def descends_from_finalized(self, block: bytes) -> bool:
        """Return whether it is one of the two blocks."""
        return block in (BLOCK, OTHER)

    def block_ref(self, block: bytes) -> BlockRef:
        """Return genesis."""
        return self.finalized


class Gossip:
    """Keeps what is cast."""

    def __init__(self) -> None:
        self.rounds, self.sent = Rounds(Tree()), list[Vote]()
        self.rounds.commits_end_rounds = False
        self.rounds.begin(AuthoritySet(3, ((ALICE.public, 1), (BOB.public, 1))))

    def cast(self, vote: Vote) -> None:
        """Keep a vote, and add it to the rounds."""
        self.sent.append(vote)
        self.rounds.add(vote, vote.encode())
        self.rounds.advance()


async def started(path: Path) -> tuple[RoundVoter, Gossip]:
    """Return Alice's voter, from what is on disk."""
    gossip, voter = Gossip(), SimpleNamespace(is_held=False, silent=frozenset[int]())
    chain: Any = Tree()
    alice = RoundVoter(chain, cast(Any, voter), {ALICE.public: ALICE}, cast(Any, gossip), 2, path)
    alice._record = CastVotes.load(path)
    alice._resume()
    return alice, gossip


async def test_after_a_restart_the_same_votes_are_cast_in_the_same_round(tmp_path: Path) -> None:
    """Cast after a restart the votes of before in their rounds, and none for another block."""
    path = tmp_path / "cast-votes"
    alice, gossip = await started(path)
    for stage in (PREVOTE, PRECOMMIT):
        await alice._cast(gossip.rounds.round(1), stage, BlockRef(BLOCK, 1))
        gossip.cast(vote(1, stage, key=BOB))
    assert gossip.rounds.current == 2
    await alice._cast(gossip.rounds.round(2), PREVOTE, BlockRef(BLOCK, 1))
    (before,) = [vote for vote in gossip.sent if vote.round == 2]

    alice, gossip = await started(path)
    assert (gossip.rounds.current, gossip.sent) == (2, [before])
    for number, stage in ((1, PREVOTE), (1, PRECOMMIT), (2, PREVOTE)):
        await alice._cast(Gossip().rounds.round(number), stage, BlockRef(OTHER, 1))
    assert gossip.sent == [before]
    await alice._cast(gossip.rounds.round(2), PRECOMMIT, BlockRef(BLOCK, 1))
    assert [vote.stage for vote in gossip.sent] == [PREVOTE, PRECOMMIT]
