"""How does a node without a state learn single things of it from peers, so that nobody can lie to it?

It asks for keys, or for all that a runtime call reads, and gets nodes and values (`light/2`). What the state
root does not name, directly or through others, has no place in an answer; what was asked for and is not in
it was left out. Either costs the peer its place, and another one is asked. Who cannot tell is asked last.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from cfnode.core.block import BlockRef
from cfnode.core.state import TOP
from cfnode.core.trie import ProofState
from cfnode.core.wire.light import SUFFIX, LightResponse, RemoteCall, RemoteRead
from cfnode.network.model import Network, RequestFailed
from cfnode.node.sync.asker import Asker, NobodyHelps
from cfnode.node.sync.peer_set import PeerSet
from cfnode.node.sync.question import Question
from cfnode.node.sync.reputation import SILENT, Failure
from cfnode.store import StateDiscarded

__all__ = ["ProofAsker"]

log = logging.getLogger("cfnode.sync")

AGAIN_S = 2.0
"""Seconds after which those who could not help are asked again."""

MAX_REQUEST = 1 << 20
"""Bytes that a peer takes: more would be held against us."""

WORDS = "a proof that does not hold"

Check = Callable[[ProofState], None]
"""Raises MissingNode where a proof leaves out what was asked for."""


class ProofAsker:
    """Asks the peers of a book about the state of one block, whose root is trusted."""

    def __init__(self, network: Network, book: PeerSet, block: BlockRef, root: bytes) -> None:
        self._asker = Asker(network, book)
        self._book = book
        self._block = block
        self._root = root

    async def read(self, keys: Sequence[bytes], child: bytes = TOP) -> list[bytes]:
        """Nodes and values that show the values, or the absence, of all these keys, once a peer helps.

        Raises StateDiscarded, as `call` does, for what is too long to be asked.
        """

        def check(shown: ProofState) -> None:
            for key in keys:
                shown.get(key, child)

        _, proof = await self._ask(RemoteRead(self._block.hash, tuple(keys), child).encode(), check)
        return proof

    async def call(self, function: str, args: bytes) -> tuple[str, list[bytes]]:
        """A peer and what a call reads, as it says: only the call itself can tell whether that is all."""
        return await self._ask(RemoteCall(self._block.hash, function, args).encode(), lambda shown: None)

    def incomplete(self, peer: str, key: bytes) -> bool:
        """A call has not found all that it needs in this peer's proof. Is there anybody else to ask for one?

        The only peer is kept: the same question to it, key by key, leaves it no way to leave anything out.
        """
        reason = f"its proof of a call leaves out key 0x{key.hex()}"
        if len(self._book) > 1:
            self._asker.fail(peer, Failure.BAD_PROOF, f"{WORDS}: {reason}")
            return True
        self._asker.network.report(peer, SILENT, reason)
        return False

    async def _ask(self, request: bytes, check: Check) -> tuple[str, list[bytes]]:
        if len(request) > MAX_REQUEST:
            raise StateDiscarded(self._block.hash)
        question = Question(
            SUFFIX, request, lambda answer: read_answer(answer, self._root, check), words=WORDS, gentle=True
        )
        while True:
            try:
                answer = await self._asker.ask(question)
                return answer.peer, answer.value
            except NobodyHelps as error:
                log.debug("No proof about #%d: %s", self._block.number, error)
            await self._book.changed(AGAIN_S)


def read_answer(answer: bytes, root: bytes, check: Check) -> list[bytes]:
    """The proof in a light answer; it holds what was asked for, and nothing else.

    Raises RequestFailed where the peer cannot tell, WireError, TrieError or MissingNode where it lies. Takes
    long for a large one: call it in a thread.
    """
    proof = LightResponse.decode(answer).proof
    if proof is None:
        raise RequestFailed("it cannot tell")
    shown = ProofState(root, proof)
    shown.check_needed()
    check(shown)
    return list(proof)
