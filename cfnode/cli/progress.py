"""How does a command indicate that it is waiting? With a line on standard error, on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cfnode.core.messages import without_controls

__all__ = ["waiting"]


@contextmanager
def waiting(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Displays `text`, which may repeat a server's, with the elapsed seconds until the end of the block."""
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
