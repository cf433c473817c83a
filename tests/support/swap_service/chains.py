"""A chain that is not that of the books."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cfnode.testing import DevChain, running_node


@contextmanager
def another_chain(folder: Path) -> Iterator[str]:
    """Yield a node that knows nothing of the day: its chain has only the genesis in common."""
    with running_node(folder) as node, DevChain(node.url) as chain:
        chain.new_block(2)
        chain.finalize()
        yield node.url
