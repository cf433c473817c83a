"""How does a runtime API become a row of the method table?

    method("cf_pool_info", "What a pool has earned and taken in.", params=(BASE, QUOTE)),

The row takes its parameters and, as the last, the block `at`; it asks the runtime API of the same name with
the parameters of the same names, and shows the answer by its type. What differs is said: another API or
function, other names, amounts as numbers (`bare`), or a last touch (`then`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.addresses import NETWORKS
from cfnode.node.runtime_api import LARGE_ANSWER, ApiAnswer, ApiMissing, Question, ask, ask_all
from cfnode.rpc.blocks import AT, CLIENT_CALLS, at_or_best
from cfnode.rpc.cf.json_encoder import JsonEncoder
from cfnode.rpc.cf.json_overrides import OVERRIDES
from cfnode.rpc.cf.params import one_of
from cfnode.rpc.table import Method, Param

if TYPE_CHECKING:
    from cfnode.node.node import Node
    from cfnode.node.runtime_info import RuntimeInfo

__all__ = [
    "CUSTOM",
    "Given",
    "answers",
    "custom",
    "method",
    "if_available",
    "own",
    "own_by_choice",
    "query",
    "same",
    "to_json",
    "value",
]

CUSTOM: Final = "CustomRuntimeApi"
NETWORK: Final = f"{CUSTOM}_cf_network_environment"

Given = Mapping[str, Any]
"""The parameters of a call by name, converted."""

MAX_TOGETHER: Final = 64
"""Questions that go to the runtime in one message: what they take together, the next one waits."""

MAX_ENCODERS: Final = 8
_encoders: dict[tuple[bytes, bytes], JsonEncoder] = {}


async def encoder_at(node: Node, block: bytes) -> JsonEncoder:
    """The encoder of a block's runtime, made once for each runtime of a chain."""
    runtime = await node.chain.runtime_at(block)
    key = node.chain.genesis_hash, runtime.code_hash
    found = _encoders.get(key)
    if found is None:
        network = await _network(node, block, runtime)
        found = JsonEncoder(runtime.metadata.registry, NETWORKS.get(network), OVERRIDES)
        while len(_encoders) >= MAX_ENCODERS:
            del _encoders[next(iter(_encoders))]
        _encoders[key] = found
    return found


async def _network(node: Node, block: bytes, runtime: RuntimeInfo) -> str:
    """Mainnet, Testnet or Development: it stands in the genesis state and never changes."""
    if not runtime.metadata.has_api(NETWORK):
        return ""
    network: str = (await ask(node.chain, block, NETWORK, {})).value
    return network


async def to_json(node: Node, block: bytes, given: ApiAnswer, *, bare: bool = False) -> Any:
    """An answer as JSON has it; a long one is put together in a thread."""
    present = (await encoder_at(node, block)).of(given.type_id, bare)
    if given.size > LARGE_ANSWER:
        return await trio.to_thread.run_sync(present, given.value)
    return present(given.value)


async def answer(node: Node, block: bytes, function: str, arguments: Given) -> ApiAnswer:
    """What a runtime API answers to a client. Few of those calls run or wait at a time."""
    async with CLIENT_CALLS:
        return await ask(node.chain, block, function, arguments)


async def answers(node: Node, block: bytes, questions: Sequence[Question]) -> list[ApiAnswer]:
    """The same for many questions at one block: together, but not so many that others wait for long."""
    found = []
    for start in range(0, len(questions), MAX_TOGETHER):
        async with CLIENT_CALLS:
            found += await ask_all(node.chain, block, questions[start : start + MAX_TOGETHER])
    return found


async def value(node: Node, block: bytes, function: str, /, **arguments: Any) -> Any:
    """The decoded answer of a method of the CustomRuntimeApi."""
    return (await answer(node, block, f"{CUSTOM}_{function}", arguments)).value


async def query(node: Node, block: bytes, function: str, /, *, bare: bool = False, **arguments: Any) -> Any:
    """The answer of a method of the CustomRuntimeApi as JSON has it."""
    return await to_json(node, block, await answer(node, block, f"{CUSTOM}_{function}", arguments), bare=bare)


async def if_available(asked: Awaitable[Any], otherwise: Any) -> Any:
    """What is asked, or `otherwise` where the runtime has no such method."""
    try:
        return await asked
    except ApiMissing:
        return otherwise


def method(
    name: str,
    doc: str,
    *,
    params: Sequence[Param] = (),
    api: str = CUSTOM,
    function: str | None = None,
    aliases: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    arguments: Callable[[Given], Given] | None = None,
    bare: bool = False,
    at: bool = True,
    then: Callable[[Any, Given], Any] | None = None,
) -> Method:
    """A row that asks one runtime API.

    `names`: parameters that the API calls otherwise. `arguments`: the API's arguments from the parameters,
    where that is more than names. `then(result, given)` gives the result.
    """
    entry, renamed = f"{api}_{function or name}", names or {}

    async def handler(node: Node, *values: Any) -> Any:
        given = {param.name: each for param, each in zip(params, values, strict=False)}
        block = at_or_best(node, values[-1] if at else None)
        asked = arguments(given) if arguments else {renamed.get(key, key): given[key] for key in given}
        result = await to_json(node, block, await answer(node, block, entry, asked), bare=bare)
        return result if then is None else then(result, given)

    handler.__doc__ = doc
    return Method(name, handler, aliases=tuple(aliases), params=(*params, AT) if at else tuple(params))


def custom(
    name: str, handler: Callable[..., Any], *params: Param, aliases: Sequence[str] = (), at: bool = True
) -> Method:
    """A row that is put together from several answers: `handler(node, *params, at)`."""
    return Method(name, handler, aliases=tuple(aliases), params=(*params, AT) if at else params)


def own(row: Method, name: str, *aliases: str) -> Method:
    """The broker's form of a row: its first parameter, the broker, is the node's own account."""

    async def handler(node: Node, *values: Any) -> Any:
        assert node.broker is not None  # the rows are in the table only then
        return await row.handler(node, node.broker.account, *values, None)

    return _renamed(row, name, aliases, handler, row.params[1:-1])


def own_by_choice(row: Method, name: str, *aliases: str) -> Method:
    """The broker's form of a row that takes one account or none: `Mine` or `All`."""

    async def handler(node: Node, choice: str) -> Any:
        assert node.broker is not None
        return await row.handler(node, node.broker.account if choice == "Mine" else None, None)

    return _renamed(row, name, aliases, handler, (Param("query", one_of("All", "Mine")),))


def same(row: Method, name: str, *aliases: str) -> Method:
    """The broker's form of a row that takes nothing but the block: it takes nothing."""

    async def handler(node: Node) -> Any:
        return await row.handler(node, None)

    return _renamed(row, name, aliases, handler, ())


def _renamed(
    row: Method, name: str, aliases: tuple[str, ...], handler: Callable[..., Any], params: tuple[Param, ...]
) -> Method:
    handler.__doc__ = row.doc
    return Method(name, handler, aliases=aliases, params=params)
