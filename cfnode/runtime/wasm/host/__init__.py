"""The host functions: what a runtime in WebAssembly can ask of the node around it.

They are plain methods over bytes and numbers, on a journal; how arguments come out of WebAssembly memory is
not their business. The allocator is missing here: it lives beside the memory.
"""

from __future__ import annotations

from collections.abc import Callable

from cfnode.core.trie import EMPTY_ROOT, ProofState
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.host.crypto import Crypto, Hashing
from cfnode.runtime.wasm.host.misc import Misc, Tries
from cfnode.runtime.wasm.host.signature import HostError, Signature, host_functions
from cfnode.runtime.wasm.host.storage import ChildStorage, Storage

__all__ = ["HOST_FUNCTIONS", "Host", "HostError", "Signature"]


class Host(Storage, ChildStorage, Crypto, Hashing, Tries, Misc):
    """All host functions, over the journal of one call after the other."""

    def __init__(self, version_of: Callable[[bytes], bytes | None]) -> None:
        super().__init__()
        self.version_of = version_of
        self.leave()

    def enter(self, journal: Journal) -> None:
        """A call begins on this journal."""
        self.journal, self.floor = journal, journal.depth
        self.batch = None
        self.words.clear()

    def leave(self) -> None:
        """The call is over: nothing of its state is kept."""
        self.enter(Journal(ProofState(EMPTY_ROOT, [])))


HOST_FUNCTIONS = host_functions(Host)
"""Name to signature."""
