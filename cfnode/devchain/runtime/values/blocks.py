"""Frozen dataclasses of the chain's values: blocks.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.core.scale import PythonForm

__all__ = ["Block"]

Extrinsic = TypeVar("Extrinsic", covariant=True)
Header = TypeVar("Header", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Generic[Header, Extrinsic]):
    """`sp_runtime::Block`."""

    header: Header
    extrinsics: Sequence[Extrinsic]


FORMS: Mapping[str, PythonForm] = {
    "Block": Block,
}
