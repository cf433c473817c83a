"""Why did the chain refuse a block or a justification?"""

from __future__ import annotations


class ChainRefusal(Exception):
    """The chain refused an operation; the text says why."""


class ImportRefused(ChainRefusal):
    """The block is not added; the text says which rule it breaks."""


class UnknownParent(ImportRefused):
    """Its parent is not in the tree: it is unknown, or conflicts with finality."""

    def __init__(self, parent: bytes) -> None:
        super().__init__(f"the parent 0x{parent.hex()} is unknown, or can no longer be built on")
        self.parent = parent


class WrongNumber(ImportRefused):
    """Its number does not follow its parent's."""


class BadDigest(ImportRefused):
    """Its digest has no slot, or announces malformed authorities."""


class BadSlot(ImportRefused):
    """Its slot is not later than its parent's."""


class FutureSlot(ImportRefused):
    """It is sealed by an authority, but its slot has not begun: the author's clock is wrong, or ours is."""


class BadSeal(ImportRefused):
    """It is not sealed by the author of its slot."""


class ExecutionFailed(ImportRefused):
    """The runtime refused it: an invalid extrinsic, or another state root."""


class FinalityRefused(ChainRefusal):
    """The block does not become final; the text says why."""


class NotInTree(FinalityRefused):
    """It is not among the blocks that can still become final."""

    def __init__(self, block_hash: bytes) -> None:
        super().__init__(f"block 0x{block_hash.hex()} is not among the blocks that can become final")


class PastSetChange(FinalityRefused):
    """A block before it changes the authorities: that one has to be finalized first, by the old ones."""

    def __init__(self, number: int) -> None:
        super().__init__(f"block #{number} changes the authorities and has to be finalized first")
        self.number = number


class PastForcedChange(FinalityRefused):
    """A forced change of the authorities applies to the block: this node does not know its voters."""

    def __init__(self, number: int) -> None:
        super().__init__(f"a forced change of the authorities applies from block #{number} on")
        self.number = number


class BadJustification(FinalityRefused):
    """The justification does not prove that more than two thirds of the weight voted for the block."""
