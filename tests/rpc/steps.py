"""How long does the server hold the event loop? The longest step of any of its tasks, in processor time.

Processor time, so that a busy machine does not fail a test; steps of the test's own tasks are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

import trio

MAX_STEP_S = 0.05


class LongestStep(trio.abc.Instrument):
    """Times the steps of the tasks below `serve_table` or `serve`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.task = ""
        self._started = 0.0
        self._is_server: dict[trio.lowlevel.Task, bool] = {}

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """The task runs now."""
        self._started = thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """It has given others their turn."""
        took = thread_time() - self._started
        if took > self.seconds and self._belongs(task):
            self.seconds, self.task = took, repr(task)

    def _belongs(self, task: trio.lowlevel.Task) -> bool:
        if task not in self._is_server:
            parent = task.parent_nursery
            own = ".serve" in task.name
            self._is_server[task] = own or (parent is not None and self._belongs(parent.parent_task))
        return self._is_server[task]


@contextmanager
def longest_step() -> Iterator[LongestStep]:
    """Measures until the end of the block."""
    steps = LongestStep()
    trio.lowlevel.add_instrument(steps)
    try:
        yield steps
    finally:
        trio.lowlevel.remove_instrument(steps)
