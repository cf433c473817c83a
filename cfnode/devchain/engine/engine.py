"""The engine: the first transactions of each block, which answer what the chain waits for.

The author asks before it builds a block (`Author`, `opening`). Wishes of a test, such as a deposit, are
answered the same way: they wait here until a block of the best chain includes them, since only the engine
knows the nonces of its authorities.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from cfnode.core.aura import SLOT_MS
from cfnode.core.extrinsic import extrinsic_hash
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from cfnode.core.state import BlockState
from cfnode.devchain.engine.answers import Answer, Signers, own_authorities
from cfnode.devchain.engine.block import BlockView
from cfnode.devchain.engine.events import funding
from cfnode.devchain.engine.signing import SCHEMES
from cfnode.devchain.engine.situation import HeldBack, Situation
from cfnode.devchain.engine.waiting import MAX_ANSWERS, PARTS, key_of
from cfnode.node.chain.runtime_info import RuntimeInfo

__all__ = ["Engine", "Wish"]

log = logging.getLogger("cfnode.engine")

MAX_SAID = 100
"""Texts that are logged, once each: an error may contain a number that is never the same."""
FUNDS_ATOMS = 1_000 * 10**18
"""FLIP atoms that a broker's or provider's account gets when it has none."""


class EngineChain(Protocol):
    """What the engine reads of a chain: see `NodeChain`."""

    @property
    def genesis_hash(self) -> bytes:
        """The hash of the first block."""
        ...

    async def runtime_at(self, block_hash: bytes, /) -> RuntimeInfo:
        """Return version and metadata of a block's runtime."""
        ...

    def state(self, block_hash: bytes, /) -> AbstractContextManager[BlockState]:
        """Return the storage of a block."""
        ...

    def header(self, block_hash: bytes, /) -> Header | None:
        """Return the header of a block."""
        ...

    def body(self, block_hash: bytes, /) -> list[bytes] | None:
        """Return the extrinsics of a block."""
        ...

    def slot_of(self, block_hash: bytes, /) -> int | None:
        """Return the slot of a block; None for genesis."""
        ...


@dataclass(slots=True, eq=False)
class Wish:
    """A wish of a test: answers to be given once. `extrinsic`: the hash of its last transaction, once built.

    `refusal`: why it cannot be built on this runtime.
    """

    answers: Callable[[Situation], Iterable[Answer]]
    extrinsic: bytes | None = None
    refusal: str | None = None


class Engine:
    """The engines of a chain's authorities, as far as we have their keys.

    `keys`: sr25519 key pairs by public key. `funded`: accounts that get FLIP if they do not exist.
    """

    def __init__(
        self, chain: EngineChain, keys: Mapping[bytes, Keypair], funded: Iterable[bytes] = ()
    ) -> None:
        self._chain = chain
        self._keys = keys
        self._funded = tuple(funded)
        self._orders = list[Wish]()
        self._said = set[str]()
        self.holds = HeldBack()

    @contextmanager
    def ordered(self, answers: Callable[[Situation], Iterable[Answer]]) -> Iterator[Wish]:
        """Give these answers in the next blocks, until a block includes them or the context ends."""
        order = Wish(answers)
        self._orders.append(order)
        try:
            yield order
        finally:
            self._orders.remove(order)

    async def opening(self, parent: bytes) -> list[bytes]:
        """Return the first transactions of a block on `parent`.

        Raises UnknownBlock or StateDiscarded.
        """
        runtime = await self._chain.runtime_at(parent)
        with self._chain.state(parent) as state:
            try:
                situation = self._situation(parent, BlockView(runtime.metadata, state))
            except (ScaleError, LookupError, TypeError) as error:
                self._say(f"the engine cannot read this chain: {error!r}", logging.WARNING)
                return []
            return [] if situation is None else list(self._transactions(parent, runtime, situation))

    def _situation(self, parent: bytes, block: BlockView) -> Situation | None:
        epoch, authorities = own_authorities(block, self._keys)
        if not authorities:
            self._say("the engine has the key of no authority of this chain")
            return None
        if not _is_ours(block):
            self._say(
                "the aggregate keys of this chain are not the engine's: make it with build-spec --engine"
            )
            return None
        before = self._chain.header(parent)
        slots = (
            None if before is None else self._chain.slot_of(before.parent_hash),
            self._chain.slot_of(parent),
        )
        since_ms, until_ms = ((slot or 0) * SLOT_MS for slot in slots)
        return Situation(block, epoch, authorities, since_ms, until_ms, self.holds)

    def _transactions(self, parent: bytes, runtime: RuntimeInfo, situation: Situation) -> Iterator[bytes]:
        signers = Signers(
            situation.block,
            self._keys,
            self._chain.genesis_hash,
            runtime.version,
            situation.epoch,
            situation.authorities,
        )
        for answer in islice(self._answers(situation), MAX_ANSWERS):
            try:
                yield from list(signers.transactions([answer]))
            except ScaleError as error:
                self._say(f"the runtime does not take an answer of the engine: {error}", logging.WARNING)
        included = {extrinsic_hash(extrinsic) for extrinsic in self._chain.body(parent) or ()}
        for order in self._orders:
            if order.extrinsic not in included and order.refusal is None:
                yield from self._built(order, signers, situation)

    def _built(self, order: Wish, signers: Signers, situation: Situation) -> Iterator[bytes]:
        try:
            for transaction in signers.transactions(order.answers(situation)):
                order.extrinsic = extrinsic_hash(transaction)
                yield transaction
        except ScaleError as error:
            order.refusal = str(error)

    def _answers(self, situation: Situation) -> Iterator[Answer]:
        for part in (*PARTS, self._fundings):
            try:
                yield from part(situation)
            except (ScaleError, LookupError, TypeError) as error:
                self._say(f"the engine leaves {part.__name__.strip('_')} out: {error!r}", logging.WARNING)

    def _fundings(self, situation: Situation) -> Iterator[Answer]:
        for account in self._funded:
            if situation.block.stored("Flip", "Account", account) is None:
                yield funding(situation, account, FUNDS_ATOMS)

    def _say(self, text: str, level: int = logging.INFO) -> None:
        """Log a text once; `MAX_SAID` texts at most."""
        if text not in self._said and len(self._said) < MAX_SAID:
            self._said.add(text)
            log.log(level, "%s", text)


def _is_ours(block: BlockView) -> bool:
    """Return whether the present EVM key is one that the engine can sign with."""
    epoch, key = key_of(block, "EvmThresholdSigner")
    return epoch is not None and key == SCHEMES["Evm"].generated(epoch)
