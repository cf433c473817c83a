"""How does a node come to stand on a proven block whose state it does not have?

Proofs → the target block → its state → the chain adopts it. A node that has nothing of the chain begins so,
and one that has fallen too far behind begins anew: it answers for the old blocks until it stands on the new
one. When the state of the target is no longer to be had, a newer target is proven; what came of the state
stays (`state.py`). Proofs begin at genesis, at a checkpoint, or where an earlier run has come to, which peers
may refute (`doubt.py`): then all of it begins again at the beginning.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import trio

from cfnode.core.grandpa import ENGINE
from cfnode.network.model import Network
from cfnode.node.chain import Chain
from cfnode.node.informant import short
from cfnode.node.sync.asker import Asker, NobodyHelps
from cfnode.node.sync.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.sync.blocks import FetchedBlock, whole_up_to
from cfnode.node.sync.cross_check import CrossCheck
from cfnode.node.sync.early import EarlyState
from cfnode.node.sync.peer_set import PeerSet
from cfnode.node.sync.progress import Phase, Progress
from cfnode.node.sync.state import StateSync, TargetLost
from cfnode.node.sync.warp import WarpSync
from cfnode.runtime.calls import LocalFault
from cfnode.store import Store

__all__ = ["Download"]

log = logging.getLogger("cfnode.sync")

RETRY_S = 5.0
"""Seconds until a newer target is looked for again."""

TARGET_S = 60.0
"""Seconds in which some peer has to give the body of the target."""


class Download:
    """The way from a block whose authorities are known, the `beginning`, to the present."""

    def __init__(
        self, network: Network, book: PeerSet, chain: Chain, store: Store,
        beginning: TrustedSet, memory: AuthoritySetCache | None, progress: Progress,
    ) -> None:  # fmt: skip
        self._network = network
        self._book = book
        self._chain = chain
        self._above = chain.finalized.number
        self._beginning = beginning
        self._progress = progress
        self._doubt: CrossCheck | None = None
        self._adoption = store.import_state()
        self._state = StateSync(network, book, self._adoption, progress)
        self._warp = WarpSync(network, book, beginning, memory, progress)

    async def run(self) -> None:
        """Until the chain stands on a proven block."""
        memory = await self._warp.remembered()
        if memory is None:
            await self._arrive()
            return
        self._doubt = doubt = CrossCheck(self._network, self._book, self._beginning, memory)
        if not await self._arrive_unless_refuted(doubt):
            if not self._warp.forgotten:
                log.warning("Two peers prove another chain than block #%d, which an earlier run was led to: "
                            "beginning at #%d", memory.number, self._beginning.number)  # fmt: skip
            await self._warp.forget(ask_first=doubt.against)  # again, if that was interrupted
            await self._arrive()

    async def _arrive_unless_refuted(self, doubt: CrossCheck) -> bool:
        """Go on from what is remembered; False when it has been refuted first."""
        arrived = False
        async with trio.open_nursery() as nursery:

            async def arrive() -> None:
                nonlocal arrived
                await self._arrive()
                arrived = True
                nursery.cancel_scope.cancel()

            nursery.start_soon(arrive)
            await doubt.confirmed()
            if not self._warp.forgotten:
                nursery.cancel_scope.cancel()
        self._doubt = None
        return arrived or (self._chain.finalized.number > self._above and self._chain.states.remote is None)

    @property
    def _doubt_left(self) -> CrossCheck | None:
        """None where nothing remembered is in use, or not any more."""
        return None if self._warp.forgotten else self._doubt

    async def _arrive(self) -> None:
        trust: TrustedSet | None = None
        lost = 0
        while True:
            trust = await self._warp.run(trust)
            if trust.number <= self._above:
                self._progress.waiting_for = f"a proof of a later block than #{self._above}"
                await trio.sleep(RETRY_S)
                continue
            if trust.number > lost:
                log.info("⏩ Proven: block #%d (%s), set %d", trust.number, short(trust.header.hash),
                         trust.authorities.set_id)  # fmt: skip
            try:
                await self._adopt(trust)
                return
            except TargetLost as error:
                self._progress.waiting_for = f"a newer block than #{trust.number}: {error}"
                if trust.number > lost:
                    log.warning("%s: a newer one is looked for", error)
                else:
                    await trio.sleep(RETRY_S)
                lost = trust.number

    async def _adopt(self, trust: TrustedSet) -> None:
        target = await self._target_block(trust)
        keys = await self._download(trust, target)
        if (doubt := self._doubt_left) is not None:
            await doubt.settled()
        votes = [] if trust.votes is None else [(ENGINE, trust.votes)]
        await self._chain.adopt(self._adoption, trust.header, target.body, votes)
        self._progress.enter(Phase.BLOCKS, "blocks after the downloaded state")
        await self._compare_authorities(trust)
        log.info("State of block #%d (%s) is here: %d keys",
                 trust.number, short(trust.header.hash), keys)  # fmt: skip

    async def _compare_authorities(self, trust: TrustedSet) -> None:
        try:
            voters = await self._chain.voters()
        except LocalFault as fault:  # they are asked for again when votes come
            log.error("The authorities in the state of block #%d cannot be read: %s", trust.number, fault)
            return
        if voters != trust.authorities:
            log.error("The state of block #%d names other authorities (set %d) than its proof (set %d)",
                      trust.number, voters.set_id, trust.authorities.set_id)  # fmt: skip

    async def _download(self, trust: TrustedSet, target: FetchedBlock) -> int:
        """Have the state here, peers answering meanwhile: how many keys it has. Raises TargetLost."""
        done: int | TargetLost
        if self._above:  # the chain that is here goes away with the first piece of the state
            await self._answer_early(trust, target)
        async with trio.open_nursery() as nursery:
            if not self._above:
                nursery.start_soon(self._answer_early, trust, target)
            try:
                done = await self._state.run(trust.header)
            except TargetLost as error:  # raised outside, where it is not one of a group
                done = error
            nursery.cancel_scope.cancel()
        if isinstance(done, TargetLost):
            raise done
        return done

    async def _answer_early(self, trust: TrustedSet, target: FetchedBlock) -> None:
        """Let the chain stand on the target as soon as nobody doubts it."""
        if (doubt := self._doubt_left) is not None:
            await doubt.undisputed()
        executor = self._chain.states.executor
        early = EarlyState(self._network, self._book, executor, trust.header, target.body)
        await self._chain.set_anchor(early, trust.votes)
        log.info("⚡ Answers about block #%d rest on proofs of peers until its state is here", trust.number)

    async def _target_block(self, trust: TrustedSet) -> FetchedBlock:
        """The proven block with its body, from whoever has it. Raises TargetLost."""
        self._progress.enter(Phase.TARGET, f"the body of #{trust.number}")
        question = replace(whole_up_to(trust.header.hash, 1), may_lack=True)
        try:
            return (await Asker(self._network, self._book).ask(question, seconds=TARGET_S)).value[0]
        except NobodyHelps as error:
            log.debug("Block #%d does not come: %s", trust.number, error)
            raise TargetLost(f"no peer gives the block #{trust.number}") from None
