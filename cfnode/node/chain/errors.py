"""Errors for blocks and justifications that the chain refuses."""

from __future__ import annotations


class ChainRefusal(Exception):
    """The chain's refusal of an operation; the text gives the reason."""


class ImportRefused(ChainRefusal):
    """The refusal to add a block; the text gives the rule that the block breaks."""


class UnknownParent(ImportRefused):
    """A block whose parent is not in the tree: the parent is unknown, or conflicts with finality."""

    def __init__(self, parent: bytes) -> None:
        super().__init__(f"the parent 0x{parent.hex()} is unknown, or can no longer be built on")
        self.parent = parent


class WrongNumber(ImportRefused):
    """A block whose number does not follow its parent's."""


class BadDigest(ImportRefused):
    """A block whose digest has no slot, or announces malformed authorities."""


class BadSlot(ImportRefused):
    """A block whose slot is not later than its parent's."""


class FutureSlot(ImportRefused):
    """A block sealed for a slot that has not begun: the author's clock is wrong, or ours is."""


class BadSeal(ImportRefused):
    """A block that is not sealed by the author of its slot."""


class ExecutionFailed(ImportRefused):
    """A block that the runtime refused: an invalid extrinsic, or another state root."""


class FinalityRefused(ChainRefusal):
    """The refusal to make a block final; the text gives the reason."""


class NotInTree(FinalityRefused):
    """A block that is not among those that can still become final."""

    def __init__(self, block_hash: bytes) -> None:
        super().__init__(f"block 0x{block_hash.hex()} is not among the blocks that can become final")


class PastSetChange(FinalityRefused):
    """A block after one that changes the authorities, which the old ones have to finalize first."""

    def __init__(self, number: int) -> None:
        super().__init__(f"block #{number} changes the authorities and has to be finalized first")
        self.number = number


class PastForcedChange(FinalityRefused):
    """A block to which a forced change of the authorities applies: this node does not know its voters."""

    def __init__(self, number: int) -> None:
        super().__init__(f"a forced change of the authorities applies from block #{number} on")
        self.number = number


class BadJustification(FinalityRefused):
    """A justification that does not prove that more than two thirds of the weight voted for the block."""
