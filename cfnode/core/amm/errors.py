"""Errors of orders and swaps that a pool refuses."""

from __future__ import annotations

__all__ = ["OrderRefused", "OutOfLiquidity"]


class OutOfLiquidity(Exception):
    """The pool has no price in the direction of the swap, before or after it."""


class OrderRefused(Exception):
    """A change of an order is refused; the text is the name of the pools pallet's error."""
