"""Runtime APIs: classes whose methods answer the node's calls of the runtime.

    class SwappingApi(RuntimeApi):
        api = "CustomRuntimeApi"

        @method("Option<u128>", asset="Asset")
        def cf_max_swap_amount(self, asset: str) -> int | None:
            '''The largest amount of one chunk.'''
            return self.other(SwappingStorage).MaximumSwapAmount.get(asset)

A method gets its arguments decoded and returns a value; both follow the expressions, which are also what
metadata V15 lists. Several classes may add to one API (`api`), whose version is in `Release.api_versions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from .errors import RuntimeTrap
from .pallet import PalletRuntime
from .span import ALWAYS, Span

F = TypeVar("F", bound=Callable[..., object])
P = TypeVar("P")
_METHOD = "__frame_method__"


@dataclass(frozen=True, slots=True)
class MethodDef:
    """One method: arguments (name → expression), result expression; `raw` if it handles the bytes itself."""

    name: str
    arguments: Mapping[str, str]
    output: str
    raw: bool
    docs: tuple[str, ...]
    span: Span


def method(output: str, span: Span = ALWAYS, /, **arguments: str) -> Callable[[F], F]:
    """Mark a method of a runtime API: expression of the result, span, expressions of the arguments.

    A trailing `_` of an argument name is dropped in the metadata.
    """
    return _mark(output, arguments, span, raw=False)


def raw_method(output: str, /, **arguments: str) -> Callable[[F], F]:
    """Mark a method of a runtime API that gets the argument bytes and returns the result's bytes.

    Expressions of the result and of the arguments are given for the metadata.
    """
    return _mark(output, arguments, ALWAYS, raw=True)


def _mark(output: str, arguments: Mapping[str, str], span: Span, *, raw: bool) -> Callable[[F], F]:
    def mark(function: F) -> F:
        docs = tuple(line.strip() for line in (function.__doc__ or "").strip().splitlines())
        setattr(function, _METHOD, MethodDef(function.__name__, arguments, output, raw, docs, span))
        return function

    return mark


def _method_of(function: object) -> MethodDef | None:
    mark: object = getattr(function, _METHOD, None)
    return mark if isinstance(mark, MethodDef) else None


class RuntimeApi:
    """Base of all runtime API classes."""

    api: ClassVar[str]
    methods: ClassVar[dict[str, MethodDef]] = {}

    def __init_subclass__(cls) -> None:
        """Add the declared methods of the subclass to the inherited ones."""
        attributes: Mapping[str, object] = vars(cls)
        cls.methods = cls.methods | {
            method.name: method for attribute in attributes.values() if (method := _method_of(attribute))
        }

    def __init__(self, runtime: PalletRuntime) -> None:
        self.runtime = runtime
        self.offered = {
            name: method for name, method in self.methods.items() if method.span.covers(runtime.release)
        }
        for method in self.offered.values():
            for text in (*method.arguments.values(), method.output):
                runtime.types.id(text)

    def other(self, kind: type[P]) -> P:
        """Return a pallet of the runtime, or a part of one."""
        return self.runtime.pallet(kind)

    def call(self, name: str, data: bytes) -> bytes:
        """Answer one call: SCALE in, SCALE out. Raises RuntimeTrap if the bytes are not the arguments."""
        defined = self.methods[name]
        if defined.raw:
            answer: Callable[[bytes], bytes] = getattr(self, name)
            return answer(data)
        function: Callable[..., object] = getattr(self, name)
        arguments = self._arguments(defined, data)
        return self.runtime.codec_of(defined.output).encode(function(**arguments))

    def _arguments(self, defined: MethodDef, data: bytes) -> dict[str, object]:
        offset, arguments = 0, dict[str, object]()
        for name, text in defined.arguments.items():
            try:
                arguments[name], offset = self.runtime.codec_of(text).decode_from(data, offset)
            except ValueError as error:
                raise RuntimeTrap(f"{self.api}_{defined.name}: argument {name!r}: {error}") from None
        if offset != len(data):
            raise RuntimeTrap(f"{self.api}_{defined.name}: {len(data) - offset} bytes follow the arguments")
        return arguments
