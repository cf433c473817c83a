"""Reading the arguments of a call by the parameters of its row, with the official node's errors."""

from __future__ import annotations

from typing import Any

import trio

from cfnode.core.jsonrpc import InvalidParams, RpcCall
from cfnode.flow.turns import take_turn
from cfnode.rpc.answering.client import ServedNode
from cfnode.rpc.table.rows import MissingParam, Row
from cfnode.rpc.table.runtime_names import read_with_runtime
from cfnode.rpc.table.serde import Misread, located
from cfnode.rpc.table.serde_members import arguments_of

__all__ = ["read_arguments", "read_arguments_in_turns"]


def read_arguments(row: Row, call: RpcCall) -> list[Any]:
    """Return the arguments of a row's handler. Raises InvalidParams, or RuntimeNeeded."""
    return _bind(row, call, arguments_of(call))


async def read_arguments_in_turns(node: ServedNode, row: Row, call: RpcCall) -> list[Any]:
    """Return the arguments of a row's handler, read with the names of the block's runtime where needed.

    Other clients get a turn between the steps of reading a large call. Raises InvalidParams.
    """
    if not row.params:
        return []
    if not call.is_large:
        return await _bind_with_runtime(node, row, call, arguments_of(call))
    await take_turn()
    raw_arguments = call.arguments()
    await take_turn()
    arguments = await _bind_with_runtime(node, row, call, raw_arguments)
    await trio.lowlevel.checkpoint()
    return arguments


async def _bind_with_runtime(
    node: ServedNode, row: Row, call: RpcCall, params: list[Any] | dict[str, Any]
) -> list[Any]:
    return await read_with_runtime(node, row, params, lambda: _bind(row, call, params))


def _bind(row: Row, call: RpcCall, params: list[Any] | dict[str, Any]) -> list[Any]:
    """Return the arguments of a row's handler.

    Raises InvalidParams with the official node's text, line and column; of a method that only cfnode has, the
    text begins with the parameter's name.
    """
    try:
        return row.bind(params)
    except Misread as error:
        text, param = located(error, bytes(call.params)), row.param_of(error)
        raise InvalidParams(f"{param.name}: {text}" if row.is_own and param is not None else text) from None
    except MissingParam as error:
        if not row.is_own:
            raise
        raise InvalidParams(f"{error.param.name}: the parameter is missing") from None
