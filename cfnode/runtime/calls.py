"""Through which door does everything pass that the chain itself decides?

On one side stands the node: it asks an entry point of the runtime (Substrate's own names,
`Core_execute_block`, `BlockBuilder_apply_extrinsic`, …) on the state of a block, or on what a proof shows of
a state. On the other side stands a `Runtime`, which answers one call synchronously over a journal. Which one
that is, is decided by the code in the state and known to nobody in the node.

This module holds what both sides speak of: where a call runs, what a runtime is, and how a call can fail. A
call fails in one of two ways, and they must never be confused. A *verdict* is the chain's own answer: every
node that makes the same call gets it, so a block that fails by one is bad, and its sender answers for it. A
*local fault* is this node's: the call may succeed later, or elsewhere, and nobody else pays for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import msgspec

from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.runtime.journal import Journal

__all__ = [
    "BlockRefused",
    "BlockSource",
    "BuiltBlock",
    "Deadline",
    "ExecutorDied",
    "HostFault",
    "InherentData",
    "LocalFault",
    "MessageTooLarge",
    "Missing",
    "OutOfMemory",
    "Prepares",
    "ProofRefused",
    "ProofSource",
    "Runtime",
    "RuntimeCallError",
    "RuntimeFactory",
    "RuntimeTrap",
    "StateSource",
    "StoreFault",
    "Unanswerable",
    "UnknownFunction",
    "UnsupportedCode",
    "Verdict",
]


class BlockSource(msgspec.Struct, frozen=True, tag="block"):
    """The state after the block of this hash."""

    hash: bytes


class ProofSource(msgspec.Struct, frozen=True, tag="proof"):
    """The part of the state `root` that these trie nodes and values show; `code` is its `:code`."""

    root: bytes
    nodes: list[bytes]
    code: bytes


StateSource = BlockSource | ProofSource

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


RuntimeFactory = Callable[[bytes], Runtime]
"""From the `:code` of a state to its runtime; raises UnsupportedCode."""


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


class RuntimeCallError(Exception):
    """A call to the runtime that has no result: a Verdict, or a LocalFault."""


class Verdict(RuntimeCallError):
    """The chain's own answer to this input: every node that makes the same call gets it."""


class LocalFault(RuntimeCallError):
    """This node could not make the call; it says nothing of the input, and may succeed when tried again."""


# Verdicts


class RuntimeTrap(Verdict):
    """The runtime gave up on this input (a panic); the text is its own."""


class UnknownFunction(Verdict):
    """The runtime has no entry point of this name."""

    def __init__(self, function: str) -> None:
        super().__init__(f"the runtime has no function {function}")
        self.function = function


class BlockRefused(Verdict):
    """The block's execution does not give what its header says, or it cannot be built; the text says why."""


class Missing(Verdict):
    """The proof does not show what the call reads. A proof for `key` as well would lead further."""

    def __init__(self, key: bytes, child: bytes = b"") -> None:
        super().__init__(f"the proof does not cover key 0x{key.hex()}")
        self.key = key
        self.child = child


class ProofRefused(Verdict):
    """The proof leads to bytes that are no trie."""


# Local faults


class UnsupportedCode(LocalFault):
    """The state's `:code` is missing, or of a kind that this build cannot run."""


class ExecutorDied(LocalFault):
    """The executor process ended during the call, or cannot be started; a new one takes its place."""


class Deadline(LocalFault):
    """The call took longer than it may and was ended, if need be with the executor process."""

    def __init__(self, function: str, seconds: float) -> None:
        super().__init__(f"{function} took longer than {seconds:g} s and was ended")
        self.function = function
        self.seconds = seconds


class OutOfMemory(LocalFault):
    """This machine has no memory left for the call. A runtime that wants more than its heap traps instead."""


class MessageTooLarge(LocalFault):
    """The question or its answer is larger than what node and executor process exchange."""


class StoreFault(LocalFault):
    """The database cannot be read or written now: it is full, damaged, or at a limit of the system."""


class HostFault(LocalFault):
    """A mistake of this node's own, around the runtime: please report it."""


class Unanswerable(LocalFault):
    """A call without any input of a stranger failed, or its answer has a form unknown to this build."""
