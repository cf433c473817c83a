"""How does the node call a runtime API of which it knows only the name?

The metadata of the block's own runtime describes parameters and result (metadata V15, `apis`), so a parameter
or a field that a newer runtime adds needs no code here. Arguments are given by name. A parameter that the
caller does not know is sent as None if its type allows that. The names of older runtimes are in `older_apis`;
a value that does not fit the runtime's type is unsupported there.

A call can fail in four ways: the runtime does not have the method, it refuses (the `Err` of a `Result`), it
returns None where today's runtimes return an error, or it traps (RuntimeCallError). Calls that are made
together go to the runtime in one message; the first failure is the error of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import trio

from cfnode.core.scale import Codec, ScaleError
from cfnode.core.scale.metadata import ApiFunction
from cfnode.core.scale.types import Variants
from cfnode.node import older_apis
from cfnode.node.chain_view import ChainView
from cfnode.node.runtime_info import RuntimeInfo

__all__ = [
    "LARGE_ANSWER",
    "ApiAnswer",
    "ApiMissing",
    "ApiRefused",
    "ApiReturnedNone",
    "Question",
    "ask",
    "ask_all",
]

Question = tuple[str, Mapping[str, Any]]
"""A function (`CustomRuntimeApi_cf_…`) and its arguments by name."""

LARGE_ANSWER: Final = 32 * 1024
"""Bytes from which on an answer is decoded in a thread."""


class ApiMissing(Exception):
    """The block's runtime does not have this method, or not with these parameters."""


class ApiRefused(Exception):
    """The runtime answered `Err`. `text` is its message, None where it gave no readable one."""

    def __init__(self, function: str, error: Any) -> None:
        self.text = _message(error)
        super().__init__(f"{function}: {error if self.text is None else self.text}")


class ApiReturnedNone(Exception):
    """An older runtime returned None where today's return an error; `str()` is all that is known."""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The answer of a runtime API: the decoded value, its type in the metadata, and its encoded size."""

    value: Any
    type_id: int
    size: int
    runtime: RuntimeInfo


async def ask(chain: ChainView, block: bytes, function: str, arguments: Mapping[str, Any]) -> ApiAnswer:
    """Call a function at a block; a `Result` is unwrapped.

    Raises ApiMissing, ApiRefused, ApiReturnedNone, RuntimeCallError, and the store's errors for a block
    without state.
    """
    (answer,) = await ask_all(chain, block, [(function, arguments)])
    return answer


async def ask_all(chain: ChainView, block: bytes, questions: Sequence[Question]) -> list[ApiAnswer]:
    """The answers to one or more calls at a block, in their order; raises as `ask`."""
    runtime = await chain.runtime_at(block)
    methods = [_method(runtime, function) for function, _ in questions]
    calls = [
        (method.function, _encode(method, arguments))
        for method, (_, arguments) in zip(methods, questions, strict=True)
    ]
    outputs = await chain.queries.call_all(block, calls)
    return [await _read(runtime, *each) for each in zip(methods, outputs, strict=True)]


async def _read(runtime: RuntimeInfo, method: ApiFunction, output: bytes) -> ApiAnswer:
    if len(output) > LARGE_ANSWER:
        value = await trio.to_thread.run_sync(method.decode, output)
    else:
        value = method.decode(output)
    return _opened(method.function, ApiAnswer(value, method.method.output, len(output), runtime))


def _method(runtime: RuntimeInfo, function: str) -> ApiFunction:
    for name in (function, older_apis.FUNCTIONS.get(function, function)):
        if runtime.metadata.has_api(name):
            return runtime.metadata.api_method(name)
    version = runtime.version.spec_version
    if not runtime.metadata.apis:
        raise ApiMissing(
            f"runtime {version} does not describe its APIs (metadata V15); {function} needs that"
        )
    raise ApiMissing(f"runtime {version} has no {function}")


def _encode(method: ApiFunction, arguments: Mapping[str, Any]) -> bytes:
    parts = []
    for name, codec in method.inputs:
        known = name if name in arguments else older_apis.PARAMETERS.get(name, name)
        if known in arguments:
            parts.append(_given(method, name, codec, arguments[known]))
        else:
            parts.append(_absent(method, name, codec))
    return b"".join(parts)


def _given(method: ApiFunction, name: str, codec: Codec, value: Any) -> bytes:
    """An encoded argument. The caller has validated it, so a value that does not fit is unknown to this
    runtime."""
    try:
        return codec.encode(value)
    except ScaleError as error:
        wanted = f"requires {name}" if value is None else f"accepts no such {name}: {error}"
        raise ApiMissing(f"{method.function} of this runtime {wanted}") from None


def _absent(method: ApiFunction, name: str, codec: Codec) -> bytes:
    try:
        return codec.encode(None)
    except ScaleError:
        raise ApiMissing(
            f"{method.function} of this runtime requires {name}, which this node does not know"
        ) from None


def _opened(function: str, answer: ApiAnswer) -> ApiAnswer:
    """The value inside of a `Result`, and of an older runtime's `Option` around it or in place of it."""
    case = answer.value[0] if isinstance(answer.value, tuple) else answer.value
    path = answer.runtime.metadata.registry.type(answer.type_id).path
    if path == ("Option",) and function in older_apis.NEVER_NONE:
        if answer.value is None:
            raise ApiReturnedNone(f"{function} returned None: this runtime has no such pool, or cannot")
        return _opened(function, _inner(answer, "Some", answer.value))
    if path != ("Result",):
        return answer
    payload = answer.value[1] if isinstance(answer.value, tuple) else ()
    if case == "Err":
        raise ApiRefused(function, _named(answer.runtime, payload))
    return _inner(answer, "Ok", payload)


def _inner(answer: ApiAnswer, case: str, payload: Any) -> ApiAnswer:
    definition = answer.runtime.metadata.registry.type(answer.type_id).definition
    assert isinstance(definition, Variants)
    fields = next(each.fields for each in definition.variants if each.name == case)
    return ApiAnswer(payload, fields[0].type, answer.size, answer.runtime)


def _named(runtime: RuntimeInfo, error: Any) -> Any:
    """A module's error by its name; older APIs returned its numbers."""
    if not (isinstance(error, tuple) and error[0] == "Module" and isinstance(error[1], dict)):
        return error
    try:
        _, name, _ = runtime.metadata.error(error[1]["index"], error[1]["error"])
    except ScaleError:
        return error
    return "Module", name.encode()


def _message(error: Any) -> str | None:
    if isinstance(error, tuple) and error[0] in ("Module", "RawMessage") and isinstance(error[1], bytes):
        try:
            return error[1].decode()
        except UnicodeDecodeError:
            return None
    return None
