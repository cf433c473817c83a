"""Execution proofs: the trie nodes and values that a peer without the state needs for a runtime call.

A proof has all that the call reads, except the code. Substrate, execution proofs.
"""

from __future__ import annotations

from contextlib import suppress

from cfnode.core.state import BlockState
from cfnode.core.trie import Recorder, TrieError
from cfnode.runtime.calls import ExecutorMessageTooLarge, Runtime, RuntimeTrap
from cfnode.runtime.journal import Journal

__all__ = ["MAX_EXECUTION_PROOF_BYTES", "prove_call"]

MAX_EXECUTION_PROOF_BYTES = 15 << 20
"""Bytes of a proof: the limit of an answer over the network, less its framing."""


def prove_call(runtime: Runtime, state: BlockState, function: str, args: bytes) -> list[bytes]:
    """Return the proof of everything that a call reads.

    A call that traps has a proof too: the peer's call then traps as well. Raises UnknownFunction, and
    ExecutorMessageTooLarge.
    """
    recorder = Recorder(state)
    with suppress(RuntimeTrap):
        runtime.call(function, args, Journal(recorder))
    try:
        return recorder.proof(MAX_EXECUTION_PROOF_BYTES)
    except TrieError as error:
        raise ExecutorMessageTooLarge(f"the proof of {function}: {error}") from error
