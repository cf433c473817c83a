"""Checkpoint: a block that the operator trusts as the beginning of the proofs.

A checkpoint is the hash of a block that announces a change of authorities, and the id of the set that begins
with it. Any peer can provide the header, which is verified by its hash and holds the keys. Only the set id
cannot be checked before the first proof from there. Authorities that retired long ago risk nothing by signing
another chain. So the age of the checkpoint is logged, and an old one gets a prominent warning.
"""

from __future__ import annotations

import logging

from cfnode.core.aura import SLOT_MS, AuraError, slot_of
from cfnode.core.grandpa import AuthoritySet, scheduled_change
from cfnode.core.header import Header
from cfnode.node.asking.asker import AllPeersFailed, Asker
from cfnode.node.asking.block_requests import headers_up_to
from cfnode.node.asking.progress import Phase, SyncProgress, no_peers_reason
from cfnode.node.config import Checkpoint
from cfnode.node.informant import short
from cfnode.node.sync.warping.authority_set_cache import TrustedSet

__all__ = ["BadCheckpoint", "load_checkpoint"]

log = logging.getLogger("cfnode.sync")

CHECKPOINT_RETRY_S = 5.0
OLD_DAYS = 30
DAY_MS = 24 * 3_600 * 1_000


class BadCheckpoint(Exception):
    """A block that cannot be a checkpoint; the text gives the reason, and which blocks can."""


async def load_checkpoint(
    asker: Asker, checkpoint: Checkpoint, progress: SyncProgress, slot_now: int
) -> TrustedSet:
    """Return the block and its authorities, as soon as a peer provides the header. Raise BadCheckpoint."""
    name = f"0x{checkpoint.block.hex()}"
    progress.enter(Phase.PROOFS, f"the header of the checkpoint {name}")
    question, peer_set = headers_up_to(checkpoint.block, 1, known=True), asker.peer_set
    while True:
        try:
            header = (await asker.ask(question)).value[-1].header
        except AllPeersFailed:
            unknown = f"no peer provides the checkpoint {name}: is it a block of this chain?"
            progress.waiting_for = unknown if len(peer_set) else no_peers_reason(asker.network)
            await peer_set.wait_changed(CHECKPOINT_RETRY_S)
        else:
            _log_age(header, slot_now)
            return TrustedSet(header, _authorities(header, checkpoint.set_id))


def _authorities(header: Header, set_id: int) -> AuthoritySet:
    try:
        change = scheduled_change(header)
        if change is not None:
            return AuthoritySet(set_id, change.authorities)
    except ValueError as error:
        raise BadCheckpoint(f"the checkpoint's change of authorities is malformed: {error}") from error
    raise BadCheckpoint(
        f"the checkpoint, block #{header.number} (0x{header.hash.hex()}), changes no authorities: "
        "--checkpoint takes a block whose header announces the next set, and that set's id"
    )


def _log_age(header: Header, slot_now: int) -> None:
    block = f"#{header.number} ({short(header.hash)})"
    try:
        days = (slot_now - slot_of(header)) * SLOT_MS / DAY_MS
    except AuraError:
        log.warning("The checkpoint %s has no slot: its age is unknown", block)
        return
    if days < 0:
        log.warning(
            "The checkpoint %s lies %.1f days in the future: check this machine's clock", block, -days
        )
    elif days > OLD_DAYS:
        log.warning("THE CHECKPOINT %s IS %.0f DAYS OLD: the authorities of that time can sign another chain "
                    "today without risk. Use a newer one, from a source you trust", block, days)  # fmt: skip
    else:
        log.info("The checkpoint %s is %.1f days old", block, days)
