"""Which methods are there? One row each: names, parameters, who may call it, and the function that answers.

A method takes its parameters by position or by name. By name they are written in snake_case or
lowerCamelCase; a trailing optional one may be missing or `null`; surplus ones are ignored: the rules of the
servers that Substrate nodes use, so that a client written for those needs no change.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from cfnode.core.jsonrpc import ErrorCode, InvalidParams, RpcError
from cfnode.rpc.serde import Misread, missing_field


class SlowReader(Exception):
    """The client left too much unread, or could not be told as fast as the chain went: it is cut off.

    A stream that follows the chain raises it when its events end, as they do when nobody takes them in time.
    """


TOO_MANY = RpcError(ErrorCode.TOO_MANY_SUBSCRIPTIONS, "Too many subscriptions on the connection")


class Access(Enum):
    """Who may call a row."""

    SAFE = "safe"
    """Everybody who reaches the port."""
    UNSAFE = "unsafe"
    """Only where --rpc-methods allows it: they reveal or change what belongs to the operator."""
    BROKER = "broker"
    """They spend the broker's funds: everybody, unless --rpc-broker-clients names networks."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a JSON value becomes what a handler takes. `read` raises ValueError with words that fit after the
    name, or Misread in the official node's.
    """

    shape: str
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter; an optional one that is absent or null is None."""

    name: str
    reader: Reader
    optional: bool = False
    also: tuple[str, ...] = ()
    """Further names that clients use."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it may be given by: snake_case, lowerCamelCase, and the further ones."""
        head, *rest = self.name.split("_")
        return self.name, head + "".join(word.capitalize() for word in rest), *self.also

    def convert(self, value: Any) -> Any:
        """The converted value; raises Misread, or InvalidParams naming this parameter."""
        if value is None and self.optional:
            return None
        try:
            return self.reader.read(value)
        except Misread:
            raise
        except ValueError as error:
            raise InvalidParams(f"{self.name}: {error}") from None


@dataclass(frozen=True)
class Row:
    """What methods and subscriptions share."""

    name: str
    handler: Callable[..., Any]
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    params: tuple[Param, ...] = field(default=(), kw_only=True)
    access: Access = field(default=Access.SAFE, kw_only=True)
    unsafe_if: Callable[[Sequence[Any]], bool] | None = field(default=None, kw_only=True)
    """For a safe row: the arguments with which it is unsafe all the same."""
    submits: bool = field(default=False, kw_only=True)
    """Whether it signs or submits: refused while the node is syncing."""
    takes_connection: bool = field(default=False, kw_only=True)
    """Whether its handler takes, after the node, what the connection holds (None over HTTP)."""

    @property
    def awaits_block(self) -> bool:
        """Whether the answer comes with a block: the node signs, and looks what became of it."""
        return self.submits and self.access is Access.BROKER

    @property
    def doc(self) -> str:
        """The first paragraph of the handler's docstring."""
        return inspect.cleandoc(self.handler.__doc__ or "").split("\n\n")[0].replace("\n", " ")

    def bind(self, arguments: list[Any] | dict[str, Any]) -> list[Any]:
        """The handler's arguments after the node. Raises Misread or InvalidParams."""
        if isinstance(arguments, dict):
            return _by_name(self.params, arguments)
        return [_by_position(param, arguments, index) for index, param in enumerate(self.params)]


def _by_name(params: Sequence[Param], arguments: dict[str, Any]) -> list[Any]:
    """Members are read in the order in which they stand there."""
    named = {name: param for param in params for name in param.names}
    found = {
        named[name].name: _convert(named[name], value, name)
        for name, value in arguments.items()
        if name in named
    }
    for param in params:
        if param.name not in found and not param.optional:
            raise missing_field(param.name)
    return [found.get(param.name) for param in params]


def _by_position(param: Param, arguments: list[Any], index: int) -> Any:
    if index < len(arguments):
        return _convert(param, arguments[index], index)
    if param.optional:
        return None
    raise InvalidParams("No more params")


def _convert(param: Param, value: Any, step: int | str) -> Any:
    try:
        return param.convert(value)
    except Misread as error:
        raise error.inside(step) from None


@dataclass(frozen=True)
class Method(Row):
    """One call, one answer. `handler(node, *arguments)` gives a JSON value, at once or as a coroutine."""

    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_async", inspect.iscoroutinefunction(self.handler))


@dataclass(frozen=True)
class Subscription(Row):
    """A stream of messages over a WebSocket. `await handler(node, *arguments)` checks, opens and gives the
    stream; with `takes_connection` it takes the subscription's id too, before the arguments.
    """

    handler: Callable[..., Awaitable[AsyncGenerator[Any, None]]]
    notification: str = field(kw_only=True)
    unsubscribe: str = field(kw_only=True)
    unsubscribe_aliases: tuple[str, ...] = field(default=(), kw_only=True)
    patient: bool = field(default=False, kw_only=True)
    """Whether the stream waits for a slow reader; else one who leaves too much unread is cut off."""
    max_per_connection: int | None = field(default=None, kw_only=True)
    """How many of these one connection may hold, where that is less than of others."""
    too_many: RpcError = field(default=TOO_MANY, kw_only=True)
    """The refusal of one more."""


@dataclass(frozen=True)
class Unsubscribe:
    """The end of a subscription; made by the table from its row."""

    name: str
    subscription: Subscription


AnyRow = Method | Subscription | Unsubscribe


class Table:
    """All rows that a node offers, by every name they have."""

    def __init__(self, rows: Iterable[Method | Subscription]) -> None:
        self.rows = tuple(rows)
        self.by_name: dict[str, AnyRow] = {}
        for row in self.rows:
            self._add(row)
        self.names = sorted(self.by_name)

    def _add(self, row: Method | Subscription) -> None:
        named: list[tuple[str, AnyRow]] = [(name, row) for name in (row.name, *row.aliases)]
        if isinstance(row, Subscription):
            end = Unsubscribe(row.unsubscribe, row)
            named += [(name, end) for name in (row.unsubscribe, *row.unsubscribe_aliases)]
        for name, entry in named:
            if name in self.by_name:
                raise ValueError(f"two methods are named {name}")
            self.by_name[name] = entry
