"""GRANDPA finality: authorities, votes, justifications, warp proofs, and their checks."""

from __future__ import annotations

from cfnode.core.grandpa.authorities import (
    PRECOMMIT,
    PREVOTE,
    PROPOSE,
    Authority,
    AuthoritySet,
    encode_authorities,
    read_authorities,
    sign_payload,
    threshold,
)
from cfnode.core.grandpa.ballots import (
    CATCH_UP,
    CATCH_UP_REQUEST,
    VOTE,
    VOTE_SIZE,
    CatchUp,
    CatchUpRequest,
    Vote,
)
from cfnode.core.grandpa.changes import ENGINE, ForcedChange, ScheduledChange, forced_change, scheduled_change
from cfnode.core.grandpa.messages import (
    COMMIT,
    NEIGHBOR,
    Commit,
    CommitMessage,
    EncodedJustification,
    Justification,
    NeighborPacket,
    Precommit,
)
from cfnode.core.grandpa.plausible import check_plausible
from cfnode.core.grandpa.round import Round, RoundState
from cfnode.core.grandpa.verify import FinalityError, verify_commit, verify_justification
from cfnode.core.grandpa.warp import (
    PackedWarpProof,
    WarpFragment,
    WarpProof,
    WarpTarget,
    follow_warp_proof,
    verify_warp_proof,
)

__all__ = [
    "CATCH_UP",
    "CATCH_UP_REQUEST",
    "COMMIT",
    "ENGINE",
    "NEIGHBOR",
    "PRECOMMIT",
    "PREVOTE",
    "PROPOSE",
    "VOTE",
    "VOTE_SIZE",
    "Authority",
    "AuthoritySet",
    "CatchUp",
    "CatchUpRequest",
    "Commit",
    "CommitMessage",
    "EncodedJustification",
    "FinalityError",
    "ForcedChange",
    "Justification",
    "NeighborPacket",
    "PackedWarpProof",
    "Precommit",
    "Round",
    "RoundState",
    "ScheduledChange",
    "Vote",
    "WarpFragment",
    "WarpProof",
    "WarpTarget",
    "check_plausible",
    "encode_authorities",
    "follow_warp_proof",
    "forced_change",
    "read_authorities",
    "scheduled_change",
    "sign_payload",
    "threshold",
    "verify_commit",
    "verify_justification",
    "verify_warp_proof",
]
