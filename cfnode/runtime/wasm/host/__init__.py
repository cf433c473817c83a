"""The host functions that a runtime in WebAssembly can call.

They are plain methods over bytes and numbers, on a journal; `signature.py` and `binding.py` transfer their
arguments from WebAssembly memory. The allocator is not among them: it is in the shim.
"""

from __future__ import annotations

from collections.abc import Callable

from cfnode.core.trie import EMPTY_ROOT, ProofState
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.host.crypto import Crypto, Hashing
from cfnode.runtime.wasm.host.environment import HostEnvironment
from cfnode.runtime.wasm.host.signature import HostError, HostSignature, host_functions
from cfnode.runtime.wasm.host.storage import ChildStorage, Storage
from cfnode.runtime.wasm.host.tries import Tries

__all__ = ["HOST_FUNCTIONS", "HostError", "HostFunctions", "HostSignature"]


class HostFunctions(Storage, ChildStorage, Crypto, Hashing, Tries, HostEnvironment):
    """All host functions, over the journal of one call after the other."""

    def __init__(self, version_of: Callable[[bytes], bytes | None]) -> None:
        super().__init__()
        self.version_of = version_of
        self.leave()

    def enter(self, journal: Journal) -> None:
        """Begin a call on this journal."""
        self.journal, self.floor = journal, journal.depth
        self.batch = None
        self.messages.clear()

    def leave(self) -> None:
        """End the call, and drop its state."""
        self.enter(Journal(ProofState(EMPTY_ROOT, [])))


HOST_FUNCTIONS = host_functions(HostFunctions)
"""The signatures of the host functions by name."""
