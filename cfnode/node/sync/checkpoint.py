"""How does a block that a person vouches for become the place where proofs begin?

A checkpoint is the hash of a block that signals a change of authorities, and the id of the set that it
starts. Its header comes from any peer and is what its hash says, so it holds the keys; only the id cannot be
checked before the first proof from there. Authorities who have left long ago risk nothing any more by
signing another chain, so the checkpoint's age is said, and an old one loudly.
"""

from __future__ import annotations

import logging

from cfnode.core.aura import SLOT_MS, AuraError, slot_of
from cfnode.core.grandpa import AuthoritySet, scheduled_change
from cfnode.core.header import Header
from cfnode.network.model import Network
from cfnode.node.config import Checkpoint
from cfnode.node.informant import short
from cfnode.node.sync.asker import Asker, NobodyHelps
from cfnode.node.sync.authority_set_cache import TrustedSet
from cfnode.node.sync.blocks import headers_up_to
from cfnode.node.sync.peer_set import PeerSet
from cfnode.node.sync.progress import Phase, Progress, alone

__all__ = ["BadCheckpoint", "trust_checkpoint"]

log = logging.getLogger("cfnode.sync")

AGAIN_S = 5.0
OLD_DAYS = 30
DAY_MS = 24 * 3_600 * 1_000


class BadCheckpoint(Exception):
    """The block cannot be a checkpoint; the text says why and what can."""


async def trust_checkpoint(
    network: Network, book: PeerSet, checkpoint: Checkpoint, progress: Progress, slot_now: int
) -> TrustedSet:
    """The block and its authorities, as soon as a peer gives the header. Raises BadCheckpoint."""
    name = f"0x{checkpoint.block.hex()}"
    progress.enter(Phase.PROOFS, f"the header of the checkpoint {name}")
    question, asker = headers_up_to(checkpoint.block, 1, known=True), Asker(network, book)
    while True:
        try:
            header = (await asker.ask(question)).value[-1].header
        except NobodyHelps:
            unknown = f"no peer gives the checkpoint {name}: is it a block of this chain?"
            progress.waiting_for = unknown if len(book) else alone(network)
            await book.changed(AGAIN_S)
        else:
            _tell_age(header, slot_now)
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


def _tell_age(header: Header, slot_now: int) -> None:
    block = f"#{header.number} ({short(header.hash)})"
    try:
        days = (slot_now - slot_of(header)) * SLOT_MS / DAY_MS
    except AuraError:
        log.warning("The checkpoint %s names no slot: its age is not known", block)
        return
    if days < 0:
        log.warning("The checkpoint %s lies %.1f days ahead: is this machine's clock right?", block, -days)
    elif days > OLD_DAYS:
        log.warning("THE CHECKPOINT %s IS %.0f DAYS OLD: who was an authority then may sign another chain "
                    "today without risk. Take a newer one, from somebody you trust", block, days)  # fmt: skip
    else:
        log.info("The checkpoint %s is %.1f days old", block, days)
