"""Classes of the values of an enum, by variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .values import FORMS

__all__ = ["classes_of"]


def classes_of(name: str) -> Mapping[str, Any]:
    """Return the class of each variant with fields of a declared enum: by chain, for enums of chains."""
    form = FORMS.get(name, {})
    assert isinstance(form, Mapping)
    return form
