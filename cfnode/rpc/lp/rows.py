"""The rows of the `lp_*` methods: those that submit a call, and those that only read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfnode.rpc.table.rows import Access, Method, Param

__all__ = ["reading", "submitting"]


def submitting(name: str, handler: Callable[..., Any], *params: Param) -> Method:
    """Return the row of a method that signs a call of the liquidity provider."""
    return Method(name, handler, params=params, access=Access.LP, submits=True)


def reading(name: str, handler: Callable[..., Any], *params: Param, alias: str | None = None) -> Method:
    """Return the row of a method that signs nothing; it belongs to the operator's business nevertheless."""
    return Method(name, handler, aliases=(alias,) if alias else (), params=params, access=Access.LP)
