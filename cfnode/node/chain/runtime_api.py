"""Runtime APIs called by name, with arguments and answers by the metadata of the block's own runtime.

The encoding is in `core/runtime_api.py`. A call can fail in four ways: the runtime does not have the method,
it refuses (the `Err` of a `Result`), it returns None where today's runtimes return an error, or it traps
(RuntimeCallError). Calls that are made together go to the runtime in one message; the first failure is the
error of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.runtime_api import (
    ApiMissing,
    ApiRefused,
    ApiReturnedNone,
    api_function,
    encode_arguments,
    opened,
)
from cfnode.core.scale.metadata import ApiFunction
from cfnode.node.chain.runtime_info import RuntimeInfo
from cfnode.node.chain.view import ChainView
from cfnode.node.threads import convert_in_thread

__all__ = [
    "LARGE_ANSWER",
    "ApiAnswer",
    "ApiCall",
    "ApiMissing",
    "ApiRefused",
    "ApiReturnedNone",
    "ask",
    "ask_all",
]

ApiCall = tuple[str, Mapping[str, Any]]
"""A function (`CustomRuntimeApi_cf_…`) and its arguments by name."""

LARGE_ANSWER: Final = 32 * 1024
"""Bytes from which on an answer is decoded in a thread."""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The answer of a runtime API: the decoded value, its type in the metadata, and its encoded size."""

    value: Any
    type_id: int
    size: int
    runtime: RuntimeInfo


async def ask(chain: ChainView, block: bytes, function: str, arguments: Mapping[str, Any]) -> ApiAnswer:
    """Call a function at a block, and return the answer; a `Result` is unwrapped.

    Raise ApiMissing, ApiRefused, ApiReturnedNone, RuntimeCallError, and the store's errors for a block
    without state.
    """
    (answer,) = await ask_all(chain, block, [(function, arguments)])
    return answer


async def ask_all(chain: ChainView, block: bytes, questions: Sequence[ApiCall]) -> list[ApiAnswer]:
    """Return the answers to one or more calls at a block, in their order.

    Raise ApiMissing, ApiRefused, ApiReturnedNone, RuntimeCallError, and the store's errors for a block
    without state.
    """
    runtime = await chain.runtime_at(block)
    version = runtime.version.spec_version
    methods = [api_function(runtime.metadata, version, function) for function, _ in questions]
    calls = [
        (method.function, encode_arguments(method, arguments))
        for method, (_, arguments) in zip(methods, questions, strict=True)
    ]
    outputs = await chain.queries.call_all(block, calls)
    return [await _read(runtime, *pair) for pair in zip(methods, outputs, strict=True)]


async def _read(runtime: RuntimeInfo, method: ApiFunction, output: bytes) -> ApiAnswer:
    if len(output) > LARGE_ANSWER:
        value = await convert_in_thread(method.decode, output)
    else:
        value = method.decode(output)
    value, type_id = opened(runtime.metadata, method.function, method.method.output, value)
    return ApiAnswer(value, type_id, len(output), runtime)
