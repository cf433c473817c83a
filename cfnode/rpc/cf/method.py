"""Rows of the method table that call a runtime API, and the queries and encoders that they share.

    method("cf_pool_info", "What a pool has earned and taken in.", params=(BASE, QUOTE)),

A row takes its parameters and, as the last, the block `at`. It calls the runtime API of the same name with
the parameters of the same names, and encodes the answer by its type. Arguments of `method` state the
differences: another API or function, other names, amounts as numbers (`plain_numbers`), or a final conversion
(`reshape`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.addresses import NETWORKS, BitcoinNetwork
from cfnode.core.bounded import BoundedDict
from cfnode.node.chain.runtime_api import LARGE_ANSWER, ApiAnswer, ApiCall, ApiMissing, ask, ask_all
from cfnode.node.threads import convert_in_thread
from cfnode.rpc.cf.json_encoder import JsonEncoder
from cfnode.rpc.cf.json_overrides import OVERRIDES
from cfnode.rpc.cf.params import one_of
from cfnode.rpc.table.blocks import AT, CLIENT_CALLS, block_asked
from cfnode.rpc.table.per_node import PerNode
from cfnode.rpc.table.rows import FixedBy, Method, Param

if TYPE_CHECKING:
    from cfnode.node.chain.runtime_info import RuntimeInfo
    from cfnode.node.node import Node

__all__ = [
    "CUSTOM",
    "Arguments",
    "address_network",
    "answers",
    "at_best_block",
    "custom",
    "for_own_account",
    "for_own_account_or_all",
    "if_available",
    "method",
    "query",
    "to_json",
    "value",
]

CUSTOM: Final = "CustomRuntimeApi"
NETWORK: Final = f"{CUSTOM}_cf_network_environment"

Arguments = Mapping[str, Any]
"""The parameters of a call by name, converted."""

MAX_QUESTIONS_PER_MESSAGE: Final = 64
"""Questions that go to the executor in one message: the next message waits for all of them."""

MAX_ENCODERS: Final = 8
_ENCODERS: Final = PerNode(lambda: BoundedDict[bytes, JsonEncoder](MAX_ENCODERS))


async def encoder_at(node: Node, block: bytes) -> JsonEncoder:
    """Return the encoder of a block's runtime, built once for each runtime of a node's chain."""
    runtime = await node.chain.runtime_at(block)
    encoders = _ENCODERS.of(node)
    encoder = encoders.get(runtime.code_hash)
    if encoder is None:
        network = await _network(node, block, runtime)
        encoder = JsonEncoder(runtime.metadata.registry, NETWORKS.get(network), OVERRIDES)
        encoders[runtime.code_hash] = encoder
    return encoder


async def address_network(node: Node, block: bytes) -> BitcoinNetwork:
    """Return the kind of network that addresses belong to.

    Raises ApiMissing for a runtime that does not name it.
    """
    network = NETWORKS.get(await _network(node, block, await node.chain.runtime_at(block)))
    if network is None:
        raise ApiMissing("this runtime does not name its network, to which Bitcoin addresses belong")
    return network


async def _network(node: Node, block: bytes, runtime: RuntimeInfo) -> str:
    """Return Mainnet, Testnet or Development: fixed in the genesis state.

    Empty if the runtime does not name its network.
    """
    if not runtime.metadata.has_api(NETWORK):
        return ""
    network: str = (await ask(node.chain, block, NETWORK, {})).value
    return network


async def to_json(node: Node, block: bytes, api_answer: ApiAnswer, *, plain_numbers: bool = False) -> Any:
    """Return an answer as JSON; a large one is encoded in a thread."""
    encode = (await encoder_at(node, block)).of(api_answer.type_id, plain_numbers)
    if api_answer.size > LARGE_ANSWER:
        return await convert_in_thread(encode, api_answer.value)
    return encode(api_answer.value)


async def answer(node: Node, block: bytes, function: str, arguments: Arguments) -> ApiAnswer:
    """Return the answer of a runtime API for a client. The number of queued calls is limited."""
    async with CLIENT_CALLS.of(node):
        return await ask(node.chain, block, function, arguments)


async def answers(node: Node, block: bytes, questions: Sequence[ApiCall]) -> list[ApiAnswer]:
    """Return the answers of runtime APIs to questions at one block, in batches of MAX_QUESTIONS_PER_MESSAGE.

    The number of queued calls is limited.
    """
    api_answers = []
    for start in range(0, len(questions), MAX_QUESTIONS_PER_MESSAGE):
        async with CLIENT_CALLS.of(node):
            api_answers += await ask_all(
                node.chain, block, questions[start : start + MAX_QUESTIONS_PER_MESSAGE]
            )
    return api_answers


async def value(node: Node, block: bytes, function: str, /, **arguments: Any) -> Any:
    """Return the decoded answer of a method of the CustomRuntimeApi."""
    return (await answer(node, block, f"{CUSTOM}_{function}", arguments)).value


async def query(
    node: Node, block: bytes, function: str, /, *, plain_numbers: bool = False, **arguments: Any
) -> Any:
    """Return the answer of a method of the CustomRuntimeApi as JSON."""
    return await to_json(
        node, block, await answer(node, block, f"{CUSTOM}_{function}", arguments), plain_numbers=plain_numbers
    )


async def if_available(answer: Awaitable[Any], default: Any) -> Any:
    """Return the answer, or `default` if the runtime lacks the method."""
    try:
        return await answer
    except ApiMissing:
        return default


def method(
    name: str,
    doc: str,
    *,
    params: Sequence[Param] = (),
    api: str = CUSTOM,
    function: str | None = None,
    aliases: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    arguments: Callable[[Arguments], Arguments] | None = None,
    plain_numbers: bool = False,
    at: bool = True,
    reshape: Callable[[Any, Arguments], Any] | None = None,
) -> Method:
    """Return a row that calls one runtime API.

    `names`: the API's names for renamed parameters. `arguments`: converts the parameters to the API's
    arguments, where renaming is not enough. `reshape(result, arguments)`: converts the JSON result.
    """
    entry, renamed = f"{api}_{function or name}", names or {}

    async def handler(node: Node, *values: Any) -> Any:
        by_name = {param.name: argument for param, argument in zip(params, values, strict=False)}
        block = block_asked(node, values[-1] if at else None)
        api_arguments = (
            arguments(by_name) if arguments else {renamed.get(key, key): by_name[key] for key in by_name}
        )
        result = await to_json(
            node, block, await answer(node, block, entry, api_arguments), plain_numbers=plain_numbers
        )
        return result if reshape is None else reshape(result, by_name)

    handler.__doc__ = doc
    return _by_state(name, handler, params, aliases, at)


def custom(
    name: str, handler: Callable[..., Any], *params: Param, aliases: Sequence[str] = (), at: bool = True
) -> Method:
    """Return a row with a handler of its own, which reads nothing but the state.

    The handler is called as `handler(node, *params, at)`.
    """
    return _by_state(name, handler, params, aliases, at)


def _by_state(
    name: str, handler: Callable[..., Any], params: Sequence[Param], aliases: Sequence[str], at: bool
) -> Method:
    """Return a row whose answer the state of the block fixes: the text of the answer is kept."""
    row_params = (*params, AT) if at else tuple(params)
    return Method(name, handler, aliases=tuple(aliases), params=row_params, fixed_by=FixedBy.STATE)


def for_own_account(row: Method, name: str, *aliases: str) -> Method:
    """Return the `broker_*` form of a row whose first parameter is the broker.

    That parameter is fixed to the node's own account.
    """

    async def handler(node: Node, *values: Any) -> Any:
        assert node.broker is not None  # the rows are in the table only then
        return await row.handler(node, node.broker.account, *values, None)

    return _renamed(row, name, aliases, handler, row.params[1:-1])


def for_own_account_or_all(row: Method, name: str, *aliases: str) -> Method:
    """Return the `broker_*` form of a row with one optional account: it takes `Mine` or `All`."""

    async def handler(node: Node, choice: str) -> Any:
        assert node.broker is not None
        return await row.handler(node, node.broker.account if choice == "Mine" else None, None)

    return _renamed(row, name, aliases, handler, (Param("query", one_of("All", "Mine")),))


def at_best_block(row: Method, name: str, *aliases: str) -> Method:
    """Return the `broker_*` form of a row whose only parameter is the block: it has no parameter."""

    async def handler(node: Node) -> Any:
        return await row.handler(node, None)

    return _renamed(row, name, aliases, handler, ())


def _renamed(
    row: Method, name: str, aliases: tuple[str, ...], handler: Callable[..., Any], params: tuple[Param, ...]
) -> Method:
    handler.__doc__ = row.doc
    return Method(name, handler, aliases=aliases, params=params)
