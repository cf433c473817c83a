"""Types that are declared once, as classes: Python value, SCALE codec, storage type and metadata follow.

    @declared("cf_traits::SwapLimits")
    class SwapLimits:
        max_swap_retry_duration_blocks: u32
        max_swap_request_duration_blocks: u32

The class becomes a frozen, slotted dataclass with keyword arguments. An annotation is a number type of this
module, another class of the chain's values, a sequence, a tuple or an optional of these, or any Python type
with an expression: `Annotated[dict[str, dict[str, int]], "AssetMap<Permill>"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from cfnode.devchain.runtime.values import FORMS

from .expressions import TypeLanguageError
from .types import COMMON, Catalog

__all__ = ["declared", "u8", "u16", "u32", "u64", "u128"]

T = TypeVar("T")
u8: TypeAlias = Annotated[int, "u8"]
u16: TypeAlias = Annotated[int, "u16"]
u32: TypeAlias = Annotated[int, "u32"]
u64: TypeAlias = Annotated[int, "u64"]
u128: TypeAlias = Annotated[int, "u128"]
_PLAIN: dict[object, str] = {bool: "bool", str: "str", bytes: "Bytes"}
_NAMES: dict[object, str] = {}
"""The names of the classes that were declared here."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def declared(
    path: str, *, name: str | None = None, catalog: Catalog = COMMON
) -> Callable[[type[T]], type[T]]:
    """Declare a class as a type: its path in the metadata, and its name in expressions if it is another."""

    def declare(kind: type[T]) -> type[T]:
        made: type[T] = dataclass(frozen=True, slots=True, kw_only=True)(kind)
        hints = get_type_hints(made, include_extras=True)
        fields = {field: expression_of(hint) for field, hint in hints.items()}
        _NAMES[made] = catalog.struct(path, name=name, **fields)
        catalog.take_form(_NAMES[made], made)
        return made

    return declare


def expression_of(hint: object) -> str:
    """Return the type expression of an annotation. Raises TypeLanguageError if it has none."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    name = _NAMES.get(hint) or next((name for name, form in FORMS.items() if form is hint), None)
    if name is not None:
        return name
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return str(arguments[1])
    if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        (item,) = (argument for argument in arguments if argument is not NoneType)
        return f"Option<{expression_of(item)}>"
    if origin is Sequence:
        return f"Vec<{expression_of(arguments[0])}>"
    if origin is tuple:
        return f"({', '.join(map(expression_of, arguments))})"
    raise TypeLanguageError(f"{hint!r} has no type expression: give one with Annotated[…]")
