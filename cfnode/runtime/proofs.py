"""What does somebody without our state need in order to make a runtime call himself, and to believe it?

The nodes and values that the call reads. Substrate, execution proofs; the code is not among them.
"""

from __future__ import annotations

from contextlib import suppress

from cfnode.core.state import State
from cfnode.core.trie import Recorder, TrieError
from cfnode.runtime.calls import MessageTooLarge, Runtime, RuntimeTrap
from cfnode.runtime.journal import Journal

__all__ = ["MAX_BYTES", "prove_call"]

MAX_BYTES = 15 << 20
"""Bytes of a proof: what an answer over the network may have, less its framing."""


def prove_call(runtime: Runtime, state: State, function: str, args: bytes) -> list[bytes]:
    """The proof of all that a call reads, also of one that traps: whoever makes it then sees it trap.

    Raises UnknownFunction, and MessageTooLarge.
    """
    recorder = Recorder(state)
    with suppress(RuntimeTrap):
        runtime.call(function, args, Journal(recorder))
    try:
        return recorder.proof(MAX_BYTES)
    except TrieError as error:
        raise MessageTooLarge(f"the proof of {function}: {error}") from error
