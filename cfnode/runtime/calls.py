"""Types of runtime calls: state sources, runtimes, and the errors of a call.

The node calls an entry point of the runtime by Substrate's own names (`Core_execute_block`,
`BlockBuilder_apply_extrinsic`, …) on a state source: the state of a block, or the part of a state in a proof.
A `Runtime` answers one call synchronously over a journal. The code in the state decides which `Runtime` that
is; the rest of the node does not know which.

A call fails in one of two ways, which must never be confused. A *verdict* is the chain's own answer: every
node that makes the same call gets it, so a block that fails by a verdict is bad, and the peer that sent it is
charged. A *local fault* is this node's: the call may succeed later, or on another node, and no peer is
charged.
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
    "ExecutorMessageTooLarge",
    "HostFault",
    "InherentData",
    "LocalFault",
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
    """The part of the state `root` that these trie nodes and values prove; `code` is its `:code`."""

    root: bytes
    nodes: list[bytes]
    code: bytes


StateSource = BlockSource | ProofSource

InherentData = list[tuple[bytes, bytes]]
"""Inherent data of the author: identifiers of 8 bytes with SCALE data."""


class Runtime(Protocol):
    """The chain's logic."""

    def version(self) -> bytes:
        """Return the SCALE RuntimeVersion."""
        ...

    def call(self, function: str, args: bytes, journal: Journal) -> bytes:
        """Return the SCALE output of an entry point; writes go to the journal.

        Raises UnknownFunction, and RuntimeTrap where a runtime in WebAssembly would trap. A MissingNode,
        which the journal raises over a proof, must not be caught.
        """
        ...


RuntimeFactory = Callable[[bytes], Runtime]
"""A function from the `:code` of a state to its runtime. Raises UnsupportedCode."""


@runtime_checkable
class Prepares(Protocol):
    """A runtime that can prepare for the next call."""

    def prepare(self) -> None:
        """Do the work that the next call would begin with."""
        ...


@dataclass(frozen=True, slots=True)
class BuiltBlock:
    """A block without its seal. `refused`: the hash of each rejected candidate, and why."""

    header: Header
    body: list[bytes]
    changes: Changes
    refused: list[tuple[bytes, str]]


# --- how a call can fail


class RuntimeCallError(Exception):
    """A runtime call without a result: a Verdict, or a LocalFault."""


class Verdict(RuntimeCallError):
    """The chain's own answer to this input: every node that makes the same call gets it."""


class LocalFault(RuntimeCallError):
    """A failure of this node to make the call; the input is not to blame, and a retry may succeed."""


# Verdicts


class RuntimeTrap(Verdict):
    """The runtime panicked on this input; the text is its own."""


class UnknownFunction(Verdict):
    """The runtime has no entry point of this name."""

    def __init__(self, function: str) -> None:
        super().__init__(f"the runtime has no function {function}")
        self.function = function


class BlockRefused(Verdict):
    """The execution of the block does not match its header, or it cannot be built; the text says why."""


class Missing(Verdict):
    """The proof lacks an entry that the call reads: one for `key` is needed too."""

    def __init__(self, key: bytes, child: bytes = b"") -> None:
        super().__init__(f"the proof does not cover key 0x{key.hex()}")
        self.key = key
        self.child = child


class ProofRefused(Verdict):
    """The proof contains a malformed trie node."""


# Local faults


class UnsupportedCode(LocalFault):
    """The state's `:code` is missing, or of a kind that this build cannot run."""


class ExecutorDied(LocalFault):
    """The executor process ended during the call, or cannot be started; a new one replaces it."""


class Deadline(LocalFault):
    """The call exceeded its time limit and was ended, if necessary with the executor process."""

    def __init__(self, function: str, seconds: float) -> None:
        super().__init__(f"{function} took longer than {seconds:g} s and was ended")
        self.function = function
        self.seconds = seconds


class OutOfMemory(LocalFault):
    """A lack of memory on this machine for the call. A runtime that exceeds its own heap traps instead."""


class ExecutorMessageTooLarge(LocalFault):
    """The request or its answer exceeds the message size between node and executor process."""


class StoreFault(LocalFault):
    """The database cannot be read or written now: it is full, damaged, or at a limit of the system."""


class HostFault(LocalFault):
    """A bug in this node, outside of the runtime: please report it."""


class Unanswerable(LocalFault):
    """A call without input from peers failed, or its answer has a form unknown to this build."""
