"""What is wrong with an address?"""

from __future__ import annotations

__all__ = ["AddressError"]


class AddressError(ValueError):
    """An address that its chain does not have; the text says which rule it breaks."""
