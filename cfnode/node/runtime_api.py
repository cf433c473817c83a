"""How does the node ask a runtime API of which it knows only the name?

The metadata of the block's own runtime says which parameters there are and what comes back (metadata V15,
`apis`), so a parameter or a field that a newer runtime adds needs no code here. Arguments are given by name.
A parameter that the caller does not know is sent as None where its type allows that.

What goes wrong is one of three: the runtime does not offer the method, it refuses (the `Err` of a
`Result<_, DispatchErrorWithMessage>`), or it traps (the door's own errors).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import trio

from cfnode.core.scale import Codec, ScaleError
from cfnode.core.scale.metadata import ApiFunction
from cfnode.core.scale.types import Variants
from cfnode.node.chain import Chain
from cfnode.node.runtime_info import RuntimeInfo

__all__ = ["LARGE_ANSWER", "ApiAnswer", "ApiMissing", "ApiRefused", "ask"]

LARGE_ANSWER: Final = 32 * 1024
"""Bytes of an answer from which on it is decoded in a thread."""


class ApiMissing(Exception):
    """The block's runtime does not offer this method, or not with these parameters."""


class ApiRefused(Exception):
    """The runtime answered `Err`. `text` is its message, None where it gave no readable one."""

    def __init__(self, function: str, error: Any) -> None:
        self.text = _message(error)
        super().__init__(f"{function}: {error if self.text is None else self.text}")


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What a runtime API gave: the decoded value, its type in the metadata, and the bytes it had."""

    value: Any
    type_id: int
    size: int
    runtime: RuntimeInfo


async def ask(chain: Chain, block: bytes, function: str, arguments: Mapping[str, Any]) -> ApiAnswer:
    """Call `function` (`CustomRuntimeApi_cf_…`) at a block; a `Result` is opened.

    Raises ApiMissing, ApiRefused, the door's errors, and the store's for a block without state.
    """
    runtime = await chain.runtime_at(block)
    method = _method(runtime, function)
    output = await chain.queries.call(block, function, _encode(method, arguments))
    if len(output) > LARGE_ANSWER:
        value = await trio.to_thread.run_sync(method.decode, output)
    else:
        value = method.decode(output)
    return _opened(function, ApiAnswer(value, method.method.output, len(output), runtime))


def _method(runtime: RuntimeInfo, function: str) -> ApiFunction:
    if runtime.metadata.has_api(function):
        return runtime.metadata.api_method(function)
    version = runtime.version.spec_version
    if not runtime.metadata.apis:
        raise ApiMissing(
            f"runtime {version} does not describe its APIs (metadata V15); {function} needs that"
        )
    raise ApiMissing(f"runtime {version} has no {function}")


def _encode(method: ApiFunction, arguments: Mapping[str, Any]) -> bytes:
    parts = []
    for name, codec in method.inputs:
        if name in arguments:
            parts.append(codec.encode(arguments[name]))
        else:
            parts.append(_absent(method, name, codec))
    return b"".join(parts)


def _absent(method: ApiFunction, name: str, codec: Codec) -> bytes:
    try:
        return codec.encode(None)
    except ScaleError:
        raise ApiMissing(
            f"{method.function} of this runtime wants {name}, which this node does not know"
        ) from None


def _opened(function: str, answer: ApiAnswer) -> ApiAnswer:
    row = answer.runtime.metadata.registry.type(answer.type_id)
    if row.path != ("Result",) or not isinstance(row.definition, Variants):
        return answer
    name, payload = answer.value if isinstance(answer.value, tuple) else (answer.value, ())
    if name == "Err":
        raise ApiRefused(function, payload)
    fields = next(case.fields for case in row.definition.variants if case.name == "Ok")
    return ApiAnswer(payload, fields[0].type, answer.size, answer.runtime)


def _message(error: Any) -> str | None:
    if isinstance(error, tuple) and error[0] in ("Module", "RawMessage") and isinstance(error[1], bytes):
        try:
            return error[1].decode()
        except UnicodeDecodeError:
            return None
    return None
