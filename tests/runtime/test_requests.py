"""A request to the executor process knows how its answer is read."""

from __future__ import annotations

import pytest

from cfnode.core.state import Changes
from cfnode.runtime import frames
from cfnode.runtime.calls import (
    BlockRefused,
    Deadline,
    ExecutorMessageTooLarge,
    HostFault,
    OutOfMemory,
    ProofRefused,
    RuntimeTrap,
    StoreFault,
    UnknownFunction,
    UnsupportedCode,
)
from cfnode.runtime.failures import raised, reported
from cfnode.runtime.requests import ExecutorRequest, changes, outputs
from cfnode.store import StateDiscarded, UnknownBlock

ROOT = bytes(32)


async def test_the_answer_is_read_as_what_was_asked_for() -> None:
    """Read the answer as the kind that was asked for."""
    request = ExecutorRequest[Changes](1, "Core_execute_block", 1, [], changes)
    request.conclude(frames.Changed(1, ROOT), frames.Assembly())
    assert (await request.answer()).root == ROOT


async def test_another_answer_is_a_fault_of_this_node() -> None:
    """Report an answer of another kind as a fault of this node."""
    request = ExecutorRequest[list[bytes]](1, "Core_version", 1, [], outputs)
    request.conclude(frames.Changed(1, ROOT), frames.Assembly())
    with pytest.raises(HostFault, match="was asked for outputs, and answers Changed"):
        await request.answer()


@pytest.mark.parametrize(
    "error",
    [
        RuntimeTrap("a panic"),
        BlockRefused("another state root"),
        ProofRefused("a malformed node"),
        UnsupportedCode("no code"),
        StoreFault("a damaged page"),
        OutOfMemory("no memory is left"),
        ExecutorMessageTooLarge("a message of 70000000 bytes"),
        HostFault("no such file"),
        Deadline("Core_version", 2.5),
        UnknownFunction("Core_none"),
        UnknownBlock(ROOT),
        StateDiscarded(ROOT),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_the_process_is_raised_in_the_node(error: Exception) -> None:
    """Raise the error that the process reports, as the same class with the same text."""
    again = raised(reported(1, error))
    assert (type(again), str(again)) == (type(error), str(error))
