"""Errors of the disk, in words for the operator of the node, and errors of a single call.

`StoreError` and its subclasses end the process (exit code 4): the disk, the files or the base path need a
person. The other errors are the result of a single call, and the node goes on.
"""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot be used, or no longer; the text names the fault, the place and the remedy."""

    exit_code = 4


class BasePathError(StoreError):
    """The base path cannot be used; nothing in it has been changed."""


class UnknownBlock(LookupError):  # clients receive this text
    """No block of this hash is known (or its state has not been computed yet)."""

    def __init__(self, block: bytes) -> None:
        super().__init__(block)
        self.block = block

    def __str__(self) -> str:
        """Return the message with the block's hash in hex."""
        return f"no block 0x{self.block.hex()} in the store"


class StateDiscarded(LookupError):  # clients receive this text
    """The block is known, but its state has been pruned or has lost against a finalized block."""

    def __init__(self, block: bytes) -> None:
        super().__init__(block)
        self.block = block

    def __str__(self) -> str:
        """Return the message with the block's hash in hex."""
        return f"state already discarded for 0x{self.block.hex()}"
