"""Proofs of single state values from peers, for a node without a state.

The node requests keys, or everything that a runtime call reads, and gets trie nodes and values (`light/2`).
An entry that the state root does not commit to, directly or through other nodes, must not be in an answer,
and a requested entry must not be missing. A peer that fails either check is disconnected, and another one is
asked. A peer that refuses is asked last.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from cfnode.core.block import BlockRef
from cfnode.core.state import TOP
from cfnode.core.trie import ProofState
from cfnode.core.wire.light import SUFFIX, LightResponse, RemoteCall, RemoteRead
from cfnode.network.interface import PeerRequestRefused
from cfnode.node.asking.asker import AllPeersFailed, Asker
from cfnode.node.asking.question import Question
from cfnode.node.asking.reputation import NO_ANSWER, PeerFailure
from cfnode.store import StateDiscarded

__all__ = ["ProofAsker"]

log = logging.getLogger("cfnode.sync")

PROOF_RETRY_S = 2.0
"""Seconds after which peers that could not help are asked again."""

MAX_REQUEST = 1 << 20
"""Bytes of a request: peers penalize a larger one."""

ERROR_PREFIX = "an invalid proof"

Check = Callable[[ProofState], None]
"""A function that raises MissingNode where a proof omits a requested entry."""


class ProofAsker:
    """Requests to the peers of a peer set about the state of one block, whose root is trusted."""

    def __init__(self, asker: Asker, block: BlockRef, root: bytes) -> None:
        self._asker = asker
        self._peer_set = asker.peer_set
        self._block = block
        self._root = root

    async def read(self, keys: Sequence[bytes], child: bytes = TOP) -> list[bytes]:
        """Return nodes and values that prove the values, or the absence, of all these keys; wait for a peer.

        Raise StateDiscarded, as `call` does, for a request that is too long.
        """

        def check(proven: ProofState) -> None:
            for key in keys:
                proven.get(key, child)

        _, proof = await self._ask(RemoteRead(self._block.hash, tuple(keys), child).encode(), check)
        return proof

    async def call(self, function: str, args: bytes) -> tuple[str, list[bytes]]:
        """Return a peer, and its proof of what a runtime call reads.

        Whether the proof is complete is known only once the call has been executed. Raise StateDiscarded for
        a request that is too long.
        """
        return await self._ask(RemoteCall(self._block.hash, function, args).encode(), lambda proven: None)

    def is_incomplete(self, peer: str, key: bytes) -> bool:
        """Charge a peer whose proof of a call lacks a key; return whether there is another peer to ask.

        The only peer is kept: it is asked key by key, and cannot omit anything then.
        """
        reason = f"its proof of a call lacks key 0x{key.hex()}"
        if len(self._peer_set) > 1:
            self._asker.fail(peer, PeerFailure.BAD_PROOF, f"{ERROR_PREFIX}: {reason}")
            return True
        self._asker.network.report(peer, NO_ANSWER, reason)
        return False

    async def _ask(self, request: bytes, check: Check) -> tuple[str, list[bytes]]:
        if len(request) > MAX_REQUEST:
            raise StateDiscarded(self._block.hash)
        question = Question(
            SUFFIX,
            request,
            lambda answer: read_answer(answer, self._root, check),
            error_prefix=ERROR_PREFIX,
            lenient=True,
        )
        while True:
            try:
                answer = await self._asker.ask(question)
                return answer.peer, answer.value
            except AllPeersFailed as error:
                log.debug("No proof about #%d: %s", self._block.number, error)
            await self._peer_set.wait_changed(PROOF_RETRY_S)


def read_answer(answer: bytes, root: bytes, check: Check) -> list[bytes]:
    """Return the proof in a light answer; it contains the requested entries, and nothing else.

    Raise RequestRefused where the peer has no proof; WireError, TrieError or MissingNode for an invalid one.
    Slow for a large one: call it in a thread.
    """
    proof = LightResponse.decode(answer).proof
    if proof is None:
        raise PeerRequestRefused("it has no proof")
    proven = ProofState(root, proof)
    proven.check_needed()
    check(proven)
    return list(proof)
