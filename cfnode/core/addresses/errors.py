"""What is wrong with an address?"""

from __future__ import annotations

__all__ = ["AddressError"]


class AddressError(ValueError):
    """A malformed address; the text names the rule that it breaks."""
