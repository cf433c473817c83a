"""Rows of the method table: names, parameters, access, and the handler of a method.

A method takes its parameters by position or by name. Names are in snake_case or lowerCamelCase; a trailing
optional parameter may be missing or `null`; surplus parameters are ignored. These are the rules of the
servers in Substrate nodes, so that a client written for those needs no change.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from cfnode.core.jsonrpc import ErrorCode, InvalidParams, RpcError
from cfnode.rpc.table.serde import Misread, duplicate_field, missing_field
from cfnode.rpc.table.serde_members import members


class SlowReader(Exception):
    """The client left too much unread, or could not keep up with the chain: it is cut off.

    A stream that follows the chain raises it when its events end, as they do if they are not read in time.
    """


TOO_MANY = RpcError(ErrorCode.TOO_MANY_SUBSCRIPTIONS, "Too many subscriptions on the connection")


class Access(Enum):
    """The clients that may call a row."""

    SAFE = "safe"
    """Any client that reaches the port."""
    UNSAFE = "unsafe"
    """A client only where --rpc-methods allows it: these methods reveal or change things of the operator."""
    BROKER = "broker"
    """Methods of the broker, who pays: any program, unless --rpc-broker-clients names networks or
    --rpc-auth-token-file tokens, and those web pages whose origin --rpc-cors lists by name."""
    LP = "lp"
    """Methods of the liquidity provider, who pays: open and closed by the rules of the broker's methods."""


_OWN: Final = "dev_"
"""The prefix of the methods that the official node lacks."""
SIGNING: Final = (Access.BROKER, Access.LP)
"""The methods of accounts whose key the node holds."""


class FixedBy(Enum):
    """The part of a block that fixes the answer to a call about the block.

    Such answers are kept (`kept_answers.py`).
    """

    HEADER = "header"
    """The header; the answer is null as long as the block is unknown."""
    STATE = "state"
    """The state; a call about a block without a state fails."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of a JSON value as a handler's argument.

    `read` raises ValueError with a text that fits after the parameter's name, or Misread with the official
    node's text.
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
    """Further names that clients use; a name of another parameter stays that parameter's."""

    @property
    def names(self) -> tuple[str, str]:
        """The name in snake_case and in lowerCamelCase."""
        head, *words = self.name.split("_")
        return self.name, head + "".join(word.capitalize() for word in words)

    def convert(self, value: Any) -> Any:
        """Return the converted value. Raises Misread, or InvalidParams with this parameter's name."""
        if value is None and self.optional:
            return None
        try:
            return self.reader.read(value)
        except Misread:
            raise
        except ValueError as error:
            raise InvalidParams(f"{self.name}: {error}") from None


class MissingParam(InvalidParams):
    """A parameter by position that is missing, with the official node's text."""

    def __init__(self, param: Param) -> None:
        super().__init__("No more params")
        self.param = param


@dataclass(frozen=True)
class Row:
    """The fields that methods and subscriptions have in common."""

    name: str
    handler: Callable[..., Any]
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    params: tuple[Param, ...] = field(default=(), kw_only=True)
    access: Access = field(default=Access.SAFE, kw_only=True)
    unsafe_if: Callable[[Sequence[Any]], bool] | None = field(default=None, kw_only=True)
    """A function of a safe row that returns whether these arguments make the call unsafe."""
    submits: bool = field(default=False, kw_only=True)
    """Whether it signs or submits: refused while the node is syncing."""
    takes_connection: bool = field(default=False, kw_only=True)
    """Whether its handler takes, after the node, the ConnectionState (None over HTTP)."""

    @property
    def awaits_block(self) -> bool:
        """Whether the answer waits for a block: the node signs a transaction, and reads its events."""
        return self.submits and self.access in SIGNING

    @property
    def doc(self) -> str:
        """The first paragraph of the handler's docstring."""
        return inspect.cleandoc(self.handler.__doc__ or "").split("\n\n")[0].replace("\n", " ")

    @property
    def is_own(self) -> bool:
        """Whether only cfnode has the method; the errors of others have the official node's texts."""
        return self.name.startswith(_OWN)

    def param_of(self, error: Misread) -> Param | None:
        """Return the parameter that an error is about; None for one that names it (a missing field)."""
        step = error.path[0] if error.path else None
        if isinstance(step, int):
            return self.params[step]
        return next((param for param in self.params if step in (*param.names, *param.also)), None)

    def bind(self, arguments: list[Any] | dict[str, Any]) -> list[Any]:
        """Return the handler's arguments after the node. Raises Misread or InvalidParams."""
        if isinstance(arguments, dict):
            return _by_name(self.params, arguments)
        return [_by_position(param, arguments, index) for index, param in enumerate(self.params)]


def _by_name(params: Sequence[Param], arguments: dict[str, Any]) -> list[Any]:
    """Return the arguments of parameters by name. Members are read in the order of the document."""
    params_by_name = {name: param for param in params for name in param.also}
    params_by_name |= {name: param for param in params for name in param.names}
    values: dict[str, Any] = {}
    names_seen: set[str] = set()
    for name, value in members(arguments):
        if (param := params_by_name.get(name)) is not None:
            if param.name in values:
                raise duplicate_field(param.name, name, is_same=name in names_seen)
            values[param.name] = _convert(param, value, name)
            names_seen.add(name)
    for param in params:
        if param.name not in values and not param.optional:
            raise missing_field(param.name)
    return [values.get(param.name) for param in params]


def _by_position(param: Param, arguments: list[Any], index: int) -> Any:
    if index < len(arguments):
        return _convert(param, arguments[index], index)
    if param.optional:
        return None
    raise MissingParam(param)


def _convert(param: Param, value: Any, step: int | str) -> Any:
    try:
        return param.convert(value)
    except Misread as error:
        raise error.inside(step) from None


@dataclass(frozen=True)
class Method(Row):
    """One call, one answer. `handler(node, *arguments)` returns a JSON value, or a coroutine for it."""

    fixed_by: FixedBy | None = field(default=None, kw_only=True)
    """The part of a block that fixes the answer, if any does; only for a safe method."""
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        """Note whether the handler returns a coroutine."""
        object.__setattr__(self, "is_async", inspect.iscoroutinefunction(self.handler))


@dataclass(frozen=True)
class Subscription(Row):
    """A stream of messages over a WebSocket.

    `await handler(node, *arguments)` checks, opens and returns the stream; with `takes_connection` it takes
    the subscription's id too, before the arguments.
    """

    handler: Callable[..., Awaitable[AsyncGenerator[Any, None]]]
    notification: str = field(kw_only=True)
    unsubscribe: str = field(kw_only=True)
    unsubscribe_aliases: tuple[str, ...] = field(default=(), kw_only=True)
    patient: bool = field(default=False, kw_only=True)
    """Whether the stream waits for a slow client; otherwise a client with too much unread is cut off."""
    max_per_connection: int | None = field(default=None, kw_only=True)
    """The number of these that one connection may open, if fewer than of other subscriptions."""
    too_many: RpcError = field(default=TOO_MANY, kw_only=True)
    """The error for one more."""


@dataclass(frozen=True)
class Unsubscribe:
    """The method that ends a subscription; the table creates it from the subscription's row."""

    name: str
    subscription: Subscription


AnyRow = Method | Subscription | Unsubscribe


class Table:
    """All rows that a node offers, by every name."""

    def __init__(self, rows: Iterable[Method | Subscription]) -> None:
        self.rows = tuple(rows)
        self.by_name: dict[str, AnyRow] = {}
        for row in self.rows:
            self._add(row)
        self.names = sorted(self.by_name)

    def _add(self, row: Method | Subscription) -> None:
        entries: list[tuple[str, AnyRow]] = [(name, row) for name in (row.name, *row.aliases)]
        if isinstance(row, Subscription):
            end = Unsubscribe(row.unsubscribe, row)
            entries += [(name, end) for name in (row.unsubscribe, *row.unsubscribe_aliases)]
        for name, entry in entries:
            if name in self.by_name:
                raise ValueError(f"two methods are named {name}")
            self.by_name[name] = entry
