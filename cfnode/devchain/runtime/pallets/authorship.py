"""Author of the current block.

Authorship (13): the validator account behind the Aura key whose turn it is. Known only while the block runs.
"""

from __future__ import annotations

from cfnode.devchain.runtime.frame import OptionalValue, Pallet

from .aura import Aura
from .session import Session


class Authorship(Pallet):
    """The author of the block at hand."""

    index = 13

    Author = OptionalValue[bytes]("AccountId32")

    def on_initialize(self, number: int) -> None:
        """Store the validator whose slot the block is in."""
        validators = self.other(Session).Validators.get()
        if validators:
            self.Author.put(validators[self.other(Aura).author_index() % len(validators)])

    def on_finalize(self, number: int) -> None:
        """Remove the author, which is known during the block only."""
        self.Author.kill()
