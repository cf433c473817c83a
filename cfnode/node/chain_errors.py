"""Why did the chain not take a block or a justification?"""

from __future__ import annotations


class ChainRefusal(Exception):
    """The chain does not do what was asked of it; the text says why."""


class ImportRefused(ChainRefusal):
    """The block is not added; the text says which rule it breaks."""


class UnknownParent(ImportRefused):
    """Its parent is not in the tree of blocks that can still win."""

    def __init__(self, parent: bytes) -> None:
        super().__init__(f"the parent 0x{parent.hex()} is not known, or can no longer be built on")
        self.parent = parent


class WrongNumber(ImportRefused):
    """Its number does not follow its parent's."""


class BadDigest(ImportRefused):
    """Its digest names no slot, or announces authorities that cannot be read."""


class BadSlot(ImportRefused):
    """Its slot is not later than its parent's."""


class FutureSlot(ImportRefused):
    """It is sealed by an authority, but its slot has not begun: the author's clock is wrong, or ours is."""


class BadSeal(ImportRefused):
    """It is not sealed by the author whose slot it is."""


class ExecutionFailed(ImportRefused):
    """The runtime refused it: an invalid extrinsic, or another state root."""


class FinalityRefused(ChainRefusal):
    """The block does not become final; the text says why."""


class NotInTree(FinalityRefused):
    """It is not among the blocks that can still become final."""

    def __init__(self, block_hash: bytes) -> None:
        super().__init__(f"block 0x{block_hash.hex()} is not among the blocks that can become final")


class PastSetChange(FinalityRefused):
    """A block on the way changes the authorities: it has to be finalized first, by the old ones."""

    def __init__(self, number: int) -> None:
        super().__init__(f"block #{number} changes the authorities and has to be finalized first")
        self.number = number


class PastForcedChange(FinalityRefused):
    """A forced change of the authorities rules the block: who votes on it is not known to this node."""

    def __init__(self, number: int) -> None:
        super().__init__(f"a forced change of the authorities rules from block #{number} on")
        self.number = number


class BadJustification(FinalityRefused):
    """The justification does not prove that more than two thirds of the weight voted for the block."""
