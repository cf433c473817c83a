"""Download of the newest final block and its state, without executing the blocks before it.

The steps are: proofs, the target block, its state; then the chain continues from there. A node with an empty
database starts like this. So does a node that has fallen too far behind; it answers for its old blocks until
the new state is imported. When peers no longer provide the state of the target, a newer target is proven, and
the downloaded part of the state is kept (`state_download.py`). Proofs begin at genesis, at a checkpoint, or
at the cached set of an earlier run. Peers may refute the cached set (`cross_check.py`): then the proofs start
again at the beginning.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import trio

from cfnode.core.grandpa import ENGINE
from cfnode.node.asking.asker import AllPeersFailed, Asker
from cfnode.node.asking.block_requests import FetchedBlock, whole_up_to
from cfnode.node.asking.progress import Phase, SyncProgress
from cfnode.node.chain.chain import NodeChain
from cfnode.node.informant import short
from cfnode.node.sync.warping.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.sync.warping.cross_check import CrossCheck
from cfnode.node.sync.warping.early_reads import EarlyState
from cfnode.node.sync.warping.state_download import StateSync, TargetLost
from cfnode.node.sync.warping.warp import WarpSync
from cfnode.runtime.calls import LocalFault
from cfnode.store import Store

__all__ = ["Download"]

log = logging.getLogger("cfnode.sync")

NEW_TARGET_RETRY_S = 5.0
"""Seconds before the next search for a newer target."""

TARGET_BODY_TIMEOUT_S = 60.0
"""Seconds within which one of the peers has to provide the body of the target."""


class Download:
    """The download of proofs and state, from a block whose authorities are trusted, the `beginning`."""

    def __init__(
        self, asker: Asker, chain: NodeChain, store: Store,
        beginning: TrustedSet, set_cache: AuthoritySetCache | None, progress: SyncProgress,
    ) -> None:  # fmt: skip
        self._asker = asker
        self._chain = chain
        self._above = chain.finalized.number
        self._beginning = beginning
        self._progress = progress
        self._cross_check: CrossCheck | None = None
        self._state_import = store.import_state()
        self._state = StateSync(asker, self._state_import, progress)
        self._warp = WarpSync(asker, beginning, set_cache, progress)

    async def run(self) -> None:
        """Run until the chain continues from a proven block."""
        cached = await self._warp.cached_set()
        if cached is None:
            await self._sync()
            return
        self._cross_check = cross_check = CrossCheck(self._asker, self._beginning, cached)
        if not await self._sync_unless_refuted(cross_check):
            if not self._warp.cache_dropped:
                log.warning("Two peers prove another chain than that of block #%d, which an earlier run "
                            "proved: beginning at #%d", cached.number, self._beginning.number)  # fmt: skip
            await self._warp.drop_cache(ask_first=cross_check.against)  # again, if that was interrupted
            await self._sync()

    async def _sync_unless_refuted(self, cross_check: CrossCheck) -> bool:
        """Continue from the cached set; return False if it has been refuted first."""
        synced = False
        async with trio.open_nursery() as nursery:

            async def sync() -> None:
                nonlocal synced
                await self._sync()
                synced = True
                nursery.cancel_scope.cancel()

            nursery.start_soon(sync)
            await cross_check.wait_refuted()
            if not self._warp.cache_dropped:
                nursery.cancel_scope.cancel()
        self._cross_check = None
        return synced or (self._chain.finalized.number > self._above and self._chain.states.remote is None)

    @property
    def _active_cross_check(self) -> CrossCheck | None:
        """The cross-check of the cached set; None if no cached set is in use, or not any more."""
        return None if self._warp.cache_dropped else self._cross_check

    async def _sync(self) -> None:
        trusted: TrustedSet | None = None
        lost_number = 0
        while True:
            trusted = await self._warp.run(trusted)
            if trusted.number <= self._above:
                self._progress.waiting_for = f"a proof of a later block than #{self._above}"
                await trio.sleep(NEW_TARGET_RETRY_S)
                continue
            if trusted.number > lost_number:
                log.info("⏩ Proven: block #%d (%s), set %d", trusted.number, short(trusted.header.hash),
                         trusted.authorities.set_id)  # fmt: skip
            try:
                await self._finish(trusted)
                return
            except TargetLost as error:
                self._progress.waiting_for = f"a newer block than #{trusted.number}: {error}"
                if trusted.number > lost_number:
                    log.warning("%s: looking for a newer one", error)
                else:
                    await trio.sleep(NEW_TARGET_RETRY_S)
                lost_number = trusted.number

    async def _finish(self, trusted: TrustedSet) -> None:
        target = await self._target_block(trusted)
        keys = await self._download(trusted, target)
        if (cross_check := self._active_cross_check) is not None:
            await cross_check.wait_answered()
        votes = [] if trusted.votes is None else [(ENGINE, trusted.votes)]
        await self._chain.import_state(self._state_import, trusted.header, target.body, votes)
        self._progress.enter(Phase.BLOCKS, "blocks after the downloaded state")
        await self._compare_authorities(trusted)
        log.info("State of block #%d (%s) is complete: %d keys",
                 trusted.number, short(trusted.header.hash), keys)  # fmt: skip

    async def _compare_authorities(self, trusted: TrustedSet) -> None:
        try:
            voters = await self._chain.voters()
        except LocalFault as fault:  # the authorities are read again when votes come
            log.error("The authorities in the state of block #%d cannot be read: %s", trusted.number, fault)
            return
        if voters != trusted.authorities:
            log.error("The state of block #%d names other authorities (set %d) than its proof (set %d)",
                      trusted.number, voters.set_id, trusted.authorities.set_id)  # fmt: skip

    async def _download(self, trusted: TrustedSet, target: FetchedBlock) -> int:
        """Download the state, while peers answer about it; return the number of its keys.

        Raise TargetLost.
        """
        outcome: int | TargetLost
        if self._above:  # the first piece of the state replaces the present chain
            await self._set_early_anchor(trusted, target)
        async with trio.open_nursery() as nursery:
            if not self._above:
                nursery.start_soon(self._set_early_anchor, trusted, target)
            try:
                outcome = await self._state.run(trusted.header)
            except TargetLost as error:  # raised below, outside of the nursery's exception group
                outcome = error
            nursery.cancel_scope.cancel()
        if isinstance(outcome, TargetLost):
            raise outcome
        return outcome

    async def _set_early_anchor(self, trusted: TrustedSet, target: FetchedBlock) -> None:
        """Make the target the anchor of the chain, as soon as the cross-check has no objection."""
        if (cross_check := self._active_cross_check) is not None:
            await cross_check.wait_undisputed()
        executor = self._chain.states.executor
        early = EarlyState(self._asker, executor, trusted.header, target.body)
        await self._chain.set_anchor(early, trusted.votes)
        log.info(
            "⚡ Answering about block #%d with proofs from peers until its state is complete", trusted.number
        )

    async def _target_block(self, trusted: TrustedSet) -> FetchedBlock:
        """Return the proven block with its body, from any peer. Raise TargetLost."""
        self._progress.enter(Phase.TARGET, f"the body of #{trusted.number}")
        question = replace(whole_up_to(trusted.header.hash, 1), may_lack=True)
        try:
            return (await self._asker.ask(question, seconds=TARGET_BODY_TIMEOUT_S)).value[0]
        except AllPeersFailed as error:
            log.debug("No peer sent block #%d: %s", trusted.number, error)
            raise TargetLost(f"no peer provides block #{trusted.number}") from None
