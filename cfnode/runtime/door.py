"""Through which door does everything pass that the chain itself decides?

On one side stands the node: it asks an entry point of the runtime (Substrate's own names,
`Core_execute_block`, `BlockBuilder_apply_extrinsic`, …) on the state of a block, or on what a proof shows of
a state. On the other side stands a `Runtime`, which answers one call synchronously over a journal. Which one
that is, is decided by the code in the state and known to nobody in the node.

This module holds what both sides speak of: where a call runs, what a runtime is, and how a call can fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import msgspec

from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.runtime.journal import Journal

__all__ = [
    "AtBlock",
    "BlockRefused",
    "BuiltBlock",
    "Deadline",
    "DoorError",
    "ExecutorDied",
    "InherentData",
    "Missing",
    "OnProof",
    "Prepares",
    "ProofRefused",
    "Runtime",
    "RuntimeTrap",
    "StateRef",
    "UnknownFunction",
    "UnsupportedCode",
]


class AtBlock(msgspec.Struct, frozen=True, tag="block"):
    """The state after the block of this hash."""

    hash: bytes


class OnProof(msgspec.Struct, frozen=True, tag="proof"):
    """The part of the state `root` that these trie nodes and values show; `code` is its `:code`."""

    root: bytes
    nodes: list[bytes]
    code: bytes


StateRef = AtBlock | OnProof

InherentData = list[tuple[bytes, bytes]]
"""What the author tells the block: identifiers of 8 bytes with SCALE data."""


class Runtime(Protocol):
    """The chain's logic."""

    def version(self) -> bytes:
        """SCALE RuntimeVersion."""
        ...

    def call(self, function: str, args: bytes, journal: Journal) -> bytes:
        """The SCALE output of an entry point; writes go to the journal.

        Raises UnknownFunction, and RuntimeTrap where a runtime in WebAssembly would trap. MissingNode, which
        the journal raises over a proof, must pass.
        """
        ...


@runtime_checkable
class Prepares(Protocol):
    """A runtime that can use the time between two calls."""

    def prepare(self) -> None:
        """Do what the next call would begin with."""
        ...


@dataclass(frozen=True, slots=True)
class BuiltBlock:
    """A block without its seal. `refused`: the hash of each candidate left out for good, and why."""

    header: Header
    body: list[bytes]
    changes: Changes
    refused: list[tuple[bytes, str]]


# --- how a call can fail


class DoorError(Exception):
    """A call to the runtime that has no result."""


class RuntimeTrap(DoorError):
    """The runtime gave up on this input (a panic); the text is its own."""


class UnknownFunction(DoorError):
    """The runtime has no entry point of this name."""

    def __init__(self, function: str) -> None:
        super().__init__(f"the runtime has no function {function}")
        self.function = function


class UnsupportedCode(DoorError):
    """The state's `:code` is missing, or of a kind that this build cannot run."""


class BlockRefused(DoorError):
    """The block's execution does not give what its header says, or it cannot be built; the text says why."""


class Missing(DoorError):
    """The proof does not show what the call reads. A proof for `key` as well would lead further."""

    def __init__(self, key: bytes, child: bytes = b"") -> None:
        super().__init__(f"the proof does not cover key 0x{key.hex()}")
        self.key = key
        self.child = child


class ProofRefused(DoorError):
    """The proof leads to bytes that are no trie."""


class ExecutorDied(DoorError):
    """The executor process ended during the call; a new one takes its place."""


class Deadline(DoorError):
    """The call took longer than it may and was ended, if need be with the executor process."""

    def __init__(self, function: str, seconds: float) -> None:
        super().__init__(f"{function} took longer than {seconds:g} s and was ended")
        self.function = function
        self.seconds = seconds
