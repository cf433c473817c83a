"""What can go wrong with what is kept on disk, in words for the person who runs the node.

`StoreError` and what derives from it end the process (exit code 4): the disk, the files or the base path need
a person. The others answer a single question, and the node goes on.
"""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot be used, or not any more; the text says what was wrong, where, and what to do."""

    exit_code = 4


class BasePathError(StoreError):
    """The base path cannot be used as it is; nothing in it has been changed."""


class UnknownBlock(LookupError):  # the words that clients see
    """No block of this hash is known (or its state has not been computed yet)."""

    def __init__(self, block: bytes) -> None:
        super().__init__(block)
        self.block = block

    def __str__(self) -> str:
        return f"no block 0x{self.block.hex()} in the store"


class StateDiscarded(LookupError):  # the words that clients see
    """The block is known, but its state has been pruned or has lost against a finalized block."""

    def __init__(self, block: bytes) -> None:
        super().__init__(block)
        self.block = block

    def __str__(self) -> str:
        return f"state already discarded for 0x{self.block.hex()}"
