"""Progress display of a waiting command, on standard error of a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cfnode.core.safe_text import without_controls

__all__ = ["counting", "waiting"]


@contextmanager
def waiting(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Display `text`, which may repeat a server's, and the elapsed seconds until the end of the block."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(without_controls(text))
        yield


@contextmanager
def counting(text: str, *, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Display `text` and the elapsed seconds, and a bar from the first call of the yielded function on.

    The function takes what has been done, in words, its count and the total count.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda step, count, maximum: None
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(without_controls(text), total=None)

        def advance(step: str, count: int, maximum: int) -> None:
            description = without_controls(f"{text}: {step}")
            progress.update(task, description=description, completed=count, total=maximum)

        yield advance
