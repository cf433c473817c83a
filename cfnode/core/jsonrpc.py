"""JSON-RPC 2.0 of a server, as bytes: parsing of requests and encoding of answers.

It follows the JSON-RPC 2.0 specification (jsonrpc.org/specification) and, where that leaves a choice, the
answers that clients of Substrate nodes know: the codes of `ErrorCode`, a batch answered in its own order, ids
written back byte for byte as they came. Integers are exact at any size up to 4,300 digits (amounts are u128
and u256), `NaN` and unpaired surrogates are not JSON, the last of two equal keys wins, and nesting too deep
for the decoder is a parse error like any other.

A message is checked by size before it is decoded: how many JSON values it can hold at most
(`MAX_JSON_VALUES`), how much of it is white space and escapes (`MAX_FILLING`), how many entries a batch has
(`max_batch`). The first two are counted piece by piece as the message comes (`Incoming`), the last without
making an object for each value; so a message that is refused costs a few milliseconds however large it is.

Nothing here knows methods, sessions or sockets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import msgspec

from cfnode.core.foreign import JsonLimits, JsonWeight

NULL = b"null"
MAX_JSON_VALUES = 32_768
"""JSON values of one message. The largest calls of clients, lists of storage keys, have some thousand; 15 MiB
could hold seven million, which take seconds to decode."""
MAX_FILLING = 1024 * 1024
"""White space and backslashes of one message: decoders pass over them one by one, ten times as slowly as over
other text."""
MAX_NON_ASCII_BYTES = 1024 * 1024
"""Bytes of a message with other characters than ASCII: one such character can make each of a text take four
bytes. Only hex is ever longer."""
MAX_ID_BYTES = 4096
"""Bytes of an id, which is kept until its call is answered and is sent back; ids of clients have some ten."""
MAX_QUOTED_PARAMS_BYTES = 1024
"""Bytes that an error repeats of `params` that are neither an array nor an object."""
MAX_ID_DIGITS = 20
"""Digits of an id that is a number: 2^64 - 1 has so many."""
LARGE = 64 * 1024
"""Bytes of a message from which on the event loop has its turn between the steps of reading it: each step
takes up to 3 ms per MiB."""
_LIMITS = JsonLimits(values=MAX_JSON_VALUES, filling=MAX_FILLING, wide=MAX_NON_ASCII_BYTES)
_ABSENT = msgspec.Raw()
_WHITE = (b" ", b"\t", b"\r", b"\n")
_NO_ARGUMENTS = frozenset({b"", b"[]", b"null"})


class ErrorCode(IntEnum):
    """The codes of the specification (-327xx, -326xx) and of the server (-320xx)."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    CALL_FAILED = -32000
    BATCHES_REFUSED = -32005
    TOO_MANY_SUBSCRIPTIONS = -32006
    REQUEST_TOO_BIG = -32007
    RESPONSE_TOO_BIG = -32008
    SERVER_BUSY = -32009
    BATCH_REQUEST_TOO_BIG = -32010
    BATCH_RESPONSE_TOO_BIG = -32011


class RpcError(Exception):
    """An answer that is an error. `data` is any JSON value; None leaves the member out."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = int(code)
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        """Return the error as a call of the class, with code, message and data."""
        return f"RpcError({self.code}, {self.message!r}, {self.data!r})"


class InvalidParams(RpcError):
    """-32602; `reason` names the wrong parameter and the expected value."""

    def __init__(self, reason: str) -> None:
        super().__init__(ErrorCode.INVALID_PARAMS, "Invalid params", reason)


class RpcCall(msgspec.Struct, frozen=True, gc=False):
    """One request or notification; `id` and `params` hold the client's own bytes."""

    jsonrpc: Literal["2.0"]
    method: str
    params: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT

    @property
    def is_notification(self) -> bool:
        """Whether the client wants no answer (no `id` member)."""
        return not bytes(self.id)

    @property
    def is_large(self) -> bool:
        """Whether decoding its parameters takes so long that other tasks should run first."""
        return memoryview(self.params).nbytes >= LARGE

    @property
    def reply_id(self) -> bytes:
        """The id as it came, JSON text."""
        return bytes(self.id)

    def arguments(self) -> list[Any] | dict[str, Any]:
        """Return the decoded `params`: a list by position, a dict by name, `[]` if there are none.

        Raises InvalidParams for any other JSON value and for malformed JSON inside.
        """
        if memoryview(self.params).nbytes <= 4 and bytes(self.params) in _NO_ARGUMENTS:
            return []
        try:
            arguments: list[Any] | dict[str, Any] = _ARGUMENTS.decode(self.params)
        except _UNREADABLE as error:
            params = bytes(self.params)
            if params[:1] in (b"[", b"{"):
                raise InvalidParams(f"params must be an array or an object: {error}") from None
            raise InvalidParams(_NO_SEQUENCE % _cut(params)) from None
        return arguments


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """A malformed or refused message, or entry of a batch.

    It is answered with `error` under `id`, or not at all if `id` is empty.
    """

    id: bytes
    error: RpcError
    is_no_message: bool = False
    """Whether the text begins neither an object nor an array: over HTTP the status is 400."""


@dataclass(frozen=True, slots=True)
class RpcBatch:
    """The entries of a JSON array, in order; never empty."""

    entries: tuple[RpcCall | RefusedMessage, ...]


RpcMessage = RpcCall | RpcBatch | RefusedMessage
"""A message of a client, as it was read."""


class _Identified(msgspec.Struct, gc=False):
    """Any JSON object, of which only the id is read."""

    id: msgspec.Raw = _ABSENT


_NO_MESSAGE = RefusedMessage(NULL, RpcError(ErrorCode.PARSE_ERROR, "Parse error"), is_no_message=True)
_NO_SEQUENCE = "Invalid params. Expected one of '[', ']' or ',' but found %s"


def _cut(params: bytes) -> str:
    """Return a text for an error message, cut to MAX_QUOTED_PARAMS_BYTES bytes and in quotes."""
    return encode(params[:MAX_QUOTED_PARAMS_BYTES].decode(errors="replace")).decode()


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CALL = msgspec.json.Decoder(RpcCall)
_IDENTIFIED = msgspec.json.Decoder(_Identified)
_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
_SYNTAX = msgspec.json.Decoder(msgspec.Raw)
_ID = msgspec.json.Decoder(int | str | None)
_ARGUMENTS = msgspec.json.Decoder(list[Any] | dict[str, Any])
_ENCODER = msgspec.json.Encoder()

encode = _ENCODER.encode
"""JSON bytes of a result, which must not contain `bytes`: convert them to hex first."""


class Incoming:
    """A message that arrives in pieces.

    The pieces are joined once, and what could make the message slow to decode is counted as they arrive. A
    message with too much of it is dropped.
    """

    def __init__(self) -> None:
        self.size = 0
        self._data = bytearray()
        self._weight: JsonWeight | None = None
        self._limit: int | None = None

    def refuse(self, limit: int) -> None:
        """Drop the message: it is longer than `limit` bytes."""
        self._data, self._limit = bytearray(), limit

    def add(self, piece: bytes | bytearray) -> None:
        """Add the next piece."""
        self.size += len(piece)
        if self.size <= MAX_JSON_VALUES:  # too short to exceed a limit
            self._data += piece
            return
        if self._weight is None:
            self._weight = JsonWeight(_LIMITS)
            self._weight.add(self._data)
        if self._weight.excess is None:
            self._weight.add(piece)
            self._data += piece
            if self._weight.excess is not None:
                self._data = bytearray()

    def parse(self, max_batch: int) -> RpcMessage:
        """Decode the message. `max_batch`: maximum entries of a batch; 0 refuses every batch.

        Never raises: for a malformed or too large message it returns Refused.
        """
        limit = self._limit or (None if self._weight is None else self._weight.excess)
        if limit is not None:
            return _over_limit(ErrorCode.REQUEST_TOO_BIG, "Request is too big", limit)
        first_byte = self._data.lstrip()[:1] if self._data[:1] in _WHITE else self._data[:1]
        if first_byte == b"[":
            return _parse_batch(self._data, max_batch)
        return _parse_call(self._data) if first_byte == b"{" else _NO_MESSAGE


def parse(data: bytes | str, max_batch: int) -> RpcMessage:
    """Decode a complete message; see `Incoming.parse`."""
    incoming = Incoming()
    incoming.add(data.encode(errors="surrogatepass") if isinstance(data, str) else data)
    return incoming.parse(max_batch)


def parse_short(data: bytes) -> RpcCall | None:
    """Decode a message of at most MAX_JSON_VALUES bytes if it is one well-formed call; None for any other."""
    call = _parse_call(data) if data[:1] == b"{" and len(data) <= MAX_JSON_VALUES else None
    return call if type(call) is RpcCall else None


def _parse_call(data: bytes | bytearray | msgspec.Raw, *, is_json: bool = False) -> RpcCall | RefusedMessage:
    """Decode one call, or return its refusal. `is_json`: the syntax has been checked already."""
    try:
        call = _CALL.decode(data)
        if memoryview(call.id).nbytes > MAX_ID_BYTES:
            return _invalid(NULL)
        if (raw := bytes(call.id)) and not _is_id(raw):
            return _invalid(NULL)
    except _UNREADABLE:
        return _explain(data, is_json=is_json)
    return call


def _is_id(raw: bytes) -> bool:
    """Return whether a JSON text is an id that Substrate nodes accept.

    These are text, null, and unsigned 64-bit integers. Raises an error of `_UNREADABLE` for malformed JSON.
    """
    if not raw.isdigit():
        identity = _ID.decode(raw)
        return identity is None or isinstance(identity, str)
    return len(raw) <= MAX_ID_DIGITS and int(raw) < 1 << 64


def _explain(data: bytes | bytearray | msgspec.Raw, *, is_json: bool) -> RefusedMessage:
    """Return the error for an undecodable message: an invalid request with its own id, or malformed JSON."""
    try:
        str(memoryview(data), "utf-8")
        return _invalid(_id_of(data, is_json=is_json))
    except _UNREADABLE:
        return RefusedMessage(NULL, RpcError(ErrorCode.PARSE_ERROR, "Parse error"))


def _invalid(identity: bytes) -> RefusedMessage:
    return RefusedMessage(identity, RpcError(ErrorCode.INVALID_REQUEST, "Invalid request"))


def _id_of(data: bytes | bytearray | msgspec.Raw, *, is_json: bool) -> bytes:
    """Return the id of JSON that is not a request; `null` if it has no valid one.

    Raises an error of `_UNREADABLE` for malformed JSON.
    """
    try:
        raw = _IDENTIFIED.decode(data).id
    except msgspec.ValidationError:  # no object
        if not is_json:
            _SYNTAX.decode(data)
        return NULL
    try:
        return bytes(raw) if 0 < memoryview(raw).nbytes <= MAX_ID_BYTES and _is_id(bytes(raw)) else NULL
    except _UNREADABLE:
        return NULL


def _parse_batch(data: bytearray, max_batch: int) -> RpcBatch | RefusedMessage:
    if not max_batch:
        text = "Batched requests are not supported by this server"
        return RefusedMessage(NULL, RpcError(ErrorCode.BATCHES_REFUSED, text))
    try:
        entries = _ENTRIES.decode(data)
    except _UNREADABLE:
        return RefusedMessage(NULL, RpcError(ErrorCode.PARSE_ERROR, "Parse error"))
    if not entries:
        return _invalid(NULL)
    if len(entries) > max_batch:
        return _over_limit(ErrorCode.BATCH_REQUEST_TOO_BIG, "The batch request was too large", max_batch)
    return RpcBatch(tuple(_parse_call(entry, is_json=True) for entry in entries))


def _over_limit(code: ErrorCode, message: str, limit: int | str) -> RefusedMessage:
    return RefusedMessage(NULL, RpcError(code, message, f"Exceeded max limit of {limit}"))


def success(identity: bytes, result: bytes) -> bytes:
    """Return the answer to one call as JSON; both arguments are JSON text."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (identity, result)


def failure(identity: bytes, error: RpcError) -> bytes:
    """Return the answer to one call that failed, as JSON; `identity` is JSON text."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (identity, encode(body))


def notification(method: str, subscription: str, result: bytes) -> bytes:
    """Return one message of a subscription; `result` is JSON text."""
    return b'{"jsonrpc":"2.0","method":%b,"params":{"subscription":%b,"result":%b}}' % (
        encode(method),
        encode(subscription),
        result,
    )
