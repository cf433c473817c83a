"""What can an order or a swap be refused for?"""

from __future__ import annotations

__all__ = ["OrderRefused", "OutOfLiquidity"]


class OutOfLiquidity(Exception):
    """The pool has no price in the direction of the swap, before or after it."""


class OrderRefused(Exception):
    """An order cannot be changed like this; the text is the name of the pools pallet's error."""
