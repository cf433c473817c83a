"""Which errors does the SDK raise, and what may a program do about them?

One tree. Each class has a `code` that never changes, so a program can branch on it without reading a text:

    SdkError
      ValidationError    VALIDATION    malformed request: `field` names the place; nothing was sent
      TransportError                   no usable answer; see `retryable` and `sent`
        Unreachable      UNREACHABLE   no connection
        TimedOut         TIMEOUT       the time limit was exceeded
        BadStatus        HTTP_STATUS   an HTTP status other than success
        BadAnswer        BAD_ANSWER    malformed answer: HTML, broken JSON, a missing member
      RpcCallError       RPC           a JSON-RPC error object: `rpc_code`, `message`, `data`
        ChainError       CHAIN         the State Chain refused: `pallet`, `error`, `text`
      BackendError       BACKEND       the swap service refused, with its message
      NoQuote            NO_QUOTE      the swap service returned no quote of that kind
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cfnode.core.messages import printable

__all__ = [
    "BackendError",
    "BadAnswer",
    "BadStatus",
    "ChainError",
    "Issue",
    "NoQuote",
    "RpcCallError",
    "SdkError",
    "TimedOut",
    "TransportError",
    "Unreachable",
    "ValidationError",
    "rpc_error",
]


METHOD_CLOSED = -32601
"""JSON-RPC's code for a method that the node lacks, or does not open to this client; `data` is the reason."""
MAX_REASON = 300


MAX_MESSAGE = 4_000


class SdkError(Exception):
    """Any error of the SDK. Its message is one printable line, whatever a server wrote into it."""

    code: ClassVar[str] = "SDK"

    def __init__(self, message: str) -> None:
        self.message = printable(message, MAX_MESSAGE)
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault of a request: its place, and a text."""

    field: str
    message: str


class ValidationError(SdkError, ValueError):
    """The request is malformed. `field` is the first faulty field, `issues` has all faults.

    Fields have their Python names (`fill_or_kill_params.min_price`), also for a mapping.
    """

    code = "VALIDATION"

    def __init__(self, field: str, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.issues = tuple(issues) or (Issue(field, message),)

    @classmethod
    def at(cls, field: str, text: str) -> ValidationError:
        """An error whose message begins with the field."""
        return cls(field, f"{field}: {text}")

    @classmethod
    def of(cls, issues: Sequence[Issue]) -> ValidationError:
        """One error for several issues."""
        return cls(issues[0].field, "; ".join(issue.message for issue in issues), issues)


class TransportError(SdkError):
    """No usable answer was received.

    `sent` is False only if the server certainly never received the request. `retryable`: whether repeating
    the request is harmless and may help; it is never True if a deposit channel may have been opened.
    """

    code = "TRANSPORT"

    def __init__(self, message: str, *, url: str, sent: bool, retryable: bool) -> None:
        super().__init__(message)
        self.url = url
        self.sent = sent
        self.retryable = retryable


class Unreachable(TransportError):
    """The connection to the server failed or broke."""

    code = "UNREACHABLE"


class TimedOut(TransportError):
    """The time limit was exceeded before the answer was complete."""

    code = "TIMEOUT"


class BadStatus(TransportError):
    """The server answered with an HTTP status other than success."""

    code = "HTTP_STATUS"

    def __init__(self, message: str, *, url: str, status: int, sent: bool, retryable: bool) -> None:
        super().__init__(message, url=url, sent=sent, retryable=retryable)
        self.status = status


class BadAnswer(TransportError):
    """The answer is malformed."""

    code = "BAD_ANSWER"


class BackendError(SdkError):
    """The swap service refused the request, with a message; `status` is its HTTP status."""

    code = "BACKEND"

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class NoQuote(SdkError):
    """The swap service returned no quote of the requested kind."""

    code = "NO_QUOTE"


class RpcCallError(SdkError):
    """The node or broker answered with a JSON-RPC error object: `rpc_code`, `rpc_message`, `data`."""

    code = "RPC"

    def __init__(self, rpc_code: int, message: str, data: Any = None) -> None:
        reason = f" ({data:.{MAX_REASON}})" if rpc_code == METHOD_CLOSED and isinstance(data, str) else ""
        super().__init__(f"RPC error [{rpc_code}]: {message}{reason}")
        self.rpc_code = rpc_code
        self.rpc_message = message
        self.data = data


class ChainError(RpcCallError):
    """The State Chain refused the call. `pallet` is "" if the error names none."""

    code = "CHAIN"

    def __init__(self, rpc_code: int, message: str, data: Any, pallet: str, error: str, text: str) -> None:
        super().__init__(rpc_code, message, data)
        self.pallet = pallet
        self.error = error
        self.text = text


_STRING = r'"((?:[^"\\]|\\.)*)"'
_MODULE = re.compile(rf"^KnownModuleError \{{ pallet: {_STRING}, name: {_STRING}, error: {_STRING} \}}$")
_STAND_ALONE = re.compile(r"^Module error .(\w+). from pallet .(\w+).: .(.*).$", re.DOTALL)
_DISPATCH = re.compile(r"^DispatchError(?:: |\()(.+?)\)?$", re.DOTALL)
_INVALID = re.compile(r"^(?:Invalid|InvalidTransaction|Unknown|UnknownTransaction)\((\w+)\)$")


def rpc_error(code: int, message: str, data: Any) -> RpcCallError:
    """The error of a JSON-RPC error object; a ChainError if its text is that of a dispatch error.

    The texts are those of the official node (`KnownModuleError { … }`, `DispatchError(BadOrigin)`,
    `Invalid(Payment)`) and of the stand-alone broker (`Module error ‘…‘ from pallet ‘…‘: ‘…‘`).
    """
    if found := _MODULE.match(message):
        pallet, name, text = (_unescape(part) for part in found.groups())
        return ChainError(code, message, data, pallet, name, text)
    if found := _STAND_ALONE.match(message):
        return ChainError(code, message, data, found[2], found[1], found[3])
    if found := _DISPATCH.match(message) or _INVALID.match(message):
        return ChainError(code, message, data, "", found[1], message)
    return RpcCallError(code, message, data)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
