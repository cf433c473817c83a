"""Pallets of the development runtime: one class a file, indices and types as in runtime 2.2."""

from __future__ import annotations

from cfnode.devchain.runtime import types

__all__ = ["types"]
