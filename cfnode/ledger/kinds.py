"""Owner of a swap request: a customer, or the chain itself, which swaps its fees."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

__all__ = ["Owner", "is_of_customer"]


class Owner(StrEnum):
    """Owner of a swap request."""

    CUSTOMER = "customer"
    CHAIN = "chain"
    """The State Chain, which swaps the fees of the network and of foreign chains."""


def is_of_customer(columns: Any) -> ColumnElement[bool]:
    """Return the condition that a row of `requests` is a customer's: kind Regular, or a variant of it."""
    condition: ColumnElement[bool] = columns.kind.startswith("Regular")
    return condition
