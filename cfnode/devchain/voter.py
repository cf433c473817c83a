"""Finality of a development chain: GRANDPA justifications signed with all authorities' keys.

One process has the keys of all authorities and signs GRANDPA justifications for them (Polkadot spec,
"Finality"): it finalizes the best chain `lag` blocks behind its head, like the real chain, unless finality is
held. A vote never goes past a block that changes the authorities: the old ones finalize that block first.
Authorities can be silenced; if the others do not have more than two thirds of the weight, nothing becomes
final. If all keys of this process together have too little weight, it votes in rounds with the other
authorities (`round_voter.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import AuthoritySet, Commit, Justification, Precommit, sign_payload, threshold
from cfnode.core.keys import Keypair
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.errors import FinalityRefused, NotInTree
from cfnode.node.chain.events import BestChanged
from cfnode.runtime.calls import RuntimeCallError

log = logging.getLogger("cfnode.grandpa")


class NoMajority(FinalityRefused):
    """Too little weight of the authorities that vote."""

    def __init__(self, weight: int, needed: int, total: int) -> None:
        super().__init__(
            f"the authorities that vote have a weight of {weight}, {needed} of {total} is needed: "
            "let silent ones vote"
        )


class Voter:
    """The voters of a development chain.

    `keys`: their ed25519 key pairs by public key; `silent`: indices in the present authority set that do not
    vote; `lag`: how many blocks automatic finality stays behind the best block.
    """

    def __init__(
        self, chain: NodeChain, keys: Mapping[bytes, Keypair], *, lag: int = 2, silent: Iterable[int] = ()
    ) -> None:
        self._chain = chain
        self._keys = dict(keys)
        self._lag = lag
        self._silent = frozenset(silent)
        self._held = False
        self._round = 0
        self._set_id: int | None = None
        self.signing = trio.Lock()
        """The lock of signing votes and applying them."""

    @property
    def is_held(self) -> bool:
        """Whether automatic finality is stopped."""
        return self._held

    @property
    def silent(self) -> frozenset[int]:
        """The indices of the silent authorities."""
        return self._silent

    def hold(self) -> None:
        """Stop automatic finality; `finalize` still works."""
        self._held = True

    def restore(self, held: bool, silent: frozenset[int]) -> None:
        """Set whether finality is held, and which authorities are silent."""
        self._held, self._silent = held, silent

    async def release(self) -> None:
        """Resume automatic finality, and catch up."""
        self._held = False
        await self.follow()

    def silence(self, indices: Iterable[int]) -> None:
        """Silence exactly these authorities from now on."""
        self._silent = frozenset(indices)

    async def run(self) -> None:
        """Follow the best chain until cancelled."""
        while True:
            with self._chain.subscribe() as events:
                await self.follow()
                async for event in events:
                    if isinstance(event, BestChanged):
                        await self.follow()

    async def follow(self) -> None:
        """Finalize the block `lag` blocks behind the best one, unless finality is held."""
        if self._held:
            return
        number = self._chain.best.number - self._lag
        target = self._chain.hash_at(number) if number > self._chain.finalized.number else None
        if target is None:
            return
        try:
            await self.finalize(target)
        except NoMajority as error:
            log.debug("No block becomes final: %s", error)
        except (FinalityRefused, RuntimeCallError) as error:  # the next block tries again
            log.warning("Block #%d is not final yet: %s", number, error)

    async def finalize(self, block_hash: bytes) -> None:
        """Finalize a block now, after each set change before it. Raises FinalityRefused."""
        async with self.signing:
            if self._is_final(block_hash):
                return
            if not self._chain.descends_from_finalized(block_hash):
                raise NotInTree(block_hash)
            while (change := self._chain.next_set_change(block_hash)) and change.hash != block_hash:
                await self._justify(change)
            block = self._chain.block_ref(block_hash)
            assert block is not None
            await self._justify(block)

    def _is_final(self, block_hash: bytes) -> bool:
        """Return whether the block is final already: a later one may have been finalized while it waited."""
        block = self._chain.block_ref(block_hash)
        return (
            block is not None
            and block.number <= self._chain.finalized.number
            and self._chain.is_canonical(block)
        )

    async def _justify(self, block: BlockRef) -> None:
        voters = await self._chain.voters()
        if voters.set_id != self._set_id:
            self._set_id, self._round = voters.set_id, 0
        self._round += 1
        justification = self.justification(block, voters, self._round)
        await self._chain.finalize(block.hash, justification.encode())

    def justification(self, block: BlockRef, voters: AuthoritySet, round_number: int) -> Justification:
        """Sign the votes of all authorities that are not silent, each for `block`. Raises NoMajority."""
        voting = [
            (self._keys[key], weight)
            for index, (key, weight) in enumerate(voters.authorities)
            if index not in self._silent and key in self._keys
        ]
        total = sum(weight for _, weight in voters.authorities)
        weight = sum(weight for _, weight in voting)
        if weight < threshold(total):
            raise NoMajority(weight, threshold(total), total)
        payload = sign_payload(block.hash, block.number, round_number, voters.set_id)
        precommits = tuple(
            Precommit(block.hash, block.number, key.sign(payload), key.public) for key, _ in voting
        )
        return Justification(round_number, Commit(block.hash, block.number, precommits), ())
