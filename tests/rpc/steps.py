"""Longest step for which a task of the server holds the event loop.

In processor time, compared with the time of a known amount of work in the same run: neither a busy machine
nor a slow one fails a test. Steps of the test's own tasks are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from time import thread_time

import trio

MEASURE = bytes(4 << 20)
"""Hashing it takes 5 to 7 ms where the server's longest step is to stay below 50 ms."""
MAX_STEP = 10.0
"""Times of that work. The longest step today, malformed hex of 15 MiB, takes seven to eight of them."""


class LongestStep(trio.abc.Instrument):
    """Times the steps of the tasks below `serve_table` or `serve`. `length`: of the longest, in MEASUREs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.length = 0.0
        self.task = ""
        self._started = 0.0
        self._is_server: dict[trio.lowlevel.Task, bool] = {}

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note that the task runs now."""
        self._started = thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note that the task has given others their turn."""
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
    """Measure steps until the end of the block."""
    steps = LongestStep()
    trio.lowlevel.add_instrument(steps)
    try:
        yield steps
    finally:
        trio.lowlevel.remove_instrument(steps)
    steps.length = steps.seconds / min(_measure() for _ in range(3))


def _measure() -> float:
    began = thread_time()
    blake2b(MEASURE).digest()
    return thread_time() - began
