"""Reads and runtime calls at a proven block whose state is still being downloaded.

A read is a walk over a growing proof: when the proof lacks a node, the node is requested from peers, and the
walk starts again. A runtime call runs in our own executor, over a peer's proof of everything that the call
reads. If that proof is incomplete, another peer is asked for one; a single peer is asked for the missing keys
one by one. Calls that read nothing (versions, metadata) need no peer. So every answer is computed by this
node, from the state root that the finality proof has led to.

The block does not change meanwhile, so outputs are cached: a repeated call needs no peer.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

from cfnode.core.block import BlockRef
from cfnode.core.bounded import SizedCache
from cfnode.core.header import Header
from cfnode.core.state import CODE, HEAP_PAGES, BlockState
from cfnode.core.trie import MissingNode, ProofState
from cfnode.node.asking.ask_proofs import ProofAsker
from cfnode.node.asking.asker import Asker
from cfnode.node.threads import convert_in_thread
from cfnode.runtime.calls import Missing, ProofSource, UnsupportedCode
from cfnode.runtime.executor import Executor
from cfnode.store import StateDiscarded

__all__ = ["EarlyState"]

log = logging.getLogger("cfnode.sync")

T = TypeVar("T")

EARLY_READ_TIMEOUT_S = 25.0
"""Seconds for an answer, including all requests to peers."""

MAX_QUESTIONS = 8
"""Reads and calls that ask peers at a time; others wait."""

MAX_ROUNDS = 64
"""How often a walk or a call may find something missing."""

MAX_EARLY_CACHE_BYTES = 16 << 20
"""Bytes of cached outputs, and of proofs that reads have fetched."""

MAX_EARLY_KEYS = 256
"""The maximum number of keys of one request, and of branches that a long walk requests."""


class EarlyState:
    """A proven block whose state peers have (`cfnode.node.chain.states.RemoteState`)."""

    def __init__(self, asker: Asker, executor: Executor, header: Header, body: list[bytes]) -> None:
        self.block = BlockRef(header.hash, header.number)
        self.header = header
        self.body = body
        self._executor = executor
        self._proofs = ProofAsker(asker, self.block, header.state_root)
        self._asking = trio.CapacityLimiter(MAX_QUESTIONS)
        self._loading = trio.Lock()
        self._known = ProofState(header.state_root, [])
        self._learned = 0
        self._code: tuple[bytes, list[bytes]] | None = None
        self._outputs = SizedCache[tuple[str, bytes], bytes](MAX_EARLY_CACHE_BYTES, _cost)

    async def call_all(self, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """Return the outputs of runtime functions.

        Raise RuntimeCallError; StateDiscarded if no peer helps.
        """
        return [await self._call(function, args) for function, args in calls]

    async def _call(self, function: str, args: bytes) -> bytes:
        output = self._outputs.get((function, args))
        if output is None:
            async with self._with_timeout(function):
                output = await self._run(function, args)
            self._outputs.add((function, args), output)
        return output

    async def read(self, walk: Callable[[BlockState], T], keys: Sequence[bytes], child: bytes) -> T:
        """Return the result of `walk`.

        Raise StateDiscarded if no peer helps in time, or it reads too much.
        """
        async with self._with_timeout("a read"):
            for start in range(0, len(keys), MAX_EARLY_KEYS):
                await self._learn(list(keys[start : start + MAX_EARLY_KEYS]), child)
            for rounds in range(MAX_ROUNDS):
                known_state = self._known
                try:
                    return await convert_in_thread(walk, known_state)
                except MissingNode as missing:
                    ahead = (
                        min(4**rounds, MAX_EARLY_KEYS) if rounds else 0
                    )  # further branches, for a long walk
                    further = known_state.unknown_after(missing.key, ahead, missing.child) if ahead else []
                    await self._learn([missing.key, *further], missing.child)
        raise StateDiscarded(self.block.hash)

    @asynccontextmanager
    async def _with_timeout(self, what: str) -> AsyncIterator[None]:
        """Hold a slot inside the `with`; wait and work may take `EARLY_READ_TIMEOUT_S` together.

        Raise StateDiscarded after that time.
        """
        try:
            with trio.fail_after(EARLY_READ_TIMEOUT_S):
                async with self._asking:
                    yield
        except trio.TooSlowError:
            log.warning(
                "No peer has proven %s at block #%d in %d s", what, self.block.number, EARLY_READ_TIMEOUT_S
            )
            raise StateDiscarded(self.block.hash) from None
        log.debug("%s at block #%d was answered with a proof", what, self.block.number)

    # --- reads

    async def _learn(self, keys: list[bytes], child: bytes) -> None:
        proof = await self._proofs.read(list(dict.fromkeys(keys)), child)
        if self._learned > MAX_EARLY_CACHE_BYTES:
            self._known, self._learned = ProofState(self.header.state_root, []), 0
        self._known.add(proof)
        self._learned += sum(map(len, proof))

    # --- calls

    async def _run(self, function: str, args: bytes) -> bytes:
        code, nodes = await self._load()
        peer = None
        for _ in range(MAX_ROUNDS):
            try:
                return await self._executor.call(
                    ProofSource(self.header.state_root, nodes, code), function, args
                )
            except Missing as missing:
                if peer is None or self._proofs.is_incomplete(peer, missing.key):
                    peer, proof = await self._proofs.call(function, args)
                else:
                    proof = await self._proofs.read([missing.key], missing.child)
                nodes = [*nodes, *proof]
        raise StateDiscarded(self.block.hash)

    async def _load(self) -> tuple[bytes, list[bytes]]:
        """Return the code, and the proof of how much memory it may have.

        Peers leave the latter out of their proofs.
        """
        async with self._loading:
            if self._code is None:
                proof = await self._proofs.read([CODE, HEAP_PAGES])
                code = ProofState(self.header.state_root, proof).get(CODE)
                if code is None:
                    raise UnsupportedCode(f"the state of block #{self.block.number} holds no code")
                self._code = code, [entry for entry in proof if entry != code]
            return self._code


def _cost(call: tuple[str, bytes], output: bytes) -> int:
    return len(call[1]) + len(output)
