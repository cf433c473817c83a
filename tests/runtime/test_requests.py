"""A request to the executor process knows how its answer is read."""

from __future__ import annotations

import pytest

from cfnode.core.state import Changes
from cfnode.runtime import frames
from cfnode.runtime.calls import HostFault
from cfnode.runtime.requests import ExecutorRequest, changes, outputs

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
