"""Errors that the SDK raises, as one tree.

Each class has a `code` that never changes, so a program can branch on it without reading a text:

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
      ClientClosed       CLOSED        the client was closed before; nothing was sent
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from cfnode.core.refusals import ModuleRefusal, read_refusal, refusal_text
from cfnode.core.safe_text import printable

__all__ = [
    "BackendError",
    "BadAnswer",
    "BadStatus",
    "ChainError",
    "ClientClosed",
    "ErrorCode",
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


_WITH_REASON = (-32601, -32020)
"""Codes whose `data` may be a text with the reason.

The node lacks the method, or does not open it to this client; or a call has failed.
"""
MAX_REASON_CHARS = 300
MAX_MESSAGE_CHARS = 4_000
ErrorCode: TypeAlias = Literal[
    "SDK",
    "VALIDATION",
    "TRANSPORT",
    "UNREACHABLE",
    "TIMEOUT",
    "HTTP_STATUS",
    "BAD_ANSWER",
    "BACKEND",
    "NO_QUOTE",
    "CLOSED",
    "RPC",
    "CHAIN",
    "ORDERS_INCOMPLETE",
    "RECOVERY",
    "NO_SUCH_CALL",
    "EXPIRED",
    "BEING_SIGNED",
    "ALREADY_SENT",
    "WRONG_CHAIN",
    "KEY_ROTATED",
    "PENDING",
    "NEEDS_ARCHIVE",
    "NO_GAS_FUNDS",
    "TOO_EXPENSIVE",
    "WOULD_REVERT",
    "BAD_PAYLOAD",
    "MISSING_EXTRA",
    "KEY_FILE",
]
"""The `code` of an error, of the SDK, a market maker's library and the recovery."""


class SdkError(Exception):
    """Any error of the SDK. Its message is one printable line, whatever a server wrote into it."""

    code: ClassVar[ErrorCode] = "SDK"

    def __init__(self, message: str) -> None:
        self.message = printable(message, MAX_MESSAGE_CHARS)
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

    code: ClassVar[ErrorCode] = "VALIDATION"

    def __init__(self, field: str, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.issues = tuple(issues) or (Issue(field, message),)

    @classmethod
    def at(cls, field: str, text: str) -> ValidationError:
        """Return an error whose message begins with the field."""
        return cls(field, f"{field}: {text}")

    @classmethod
    def of(cls, issues: Sequence[Issue]) -> ValidationError:
        """Return one error for several issues."""
        return cls(issues[0].field, "; ".join(issue.message for issue in issues), issues)


class TransportError(SdkError):
    """No usable answer was received.

    `sent` is False only if the server certainly never received the request. `retryable`: whether repeating
    the request is harmless and may help; it is never True if a deposit channel may have been opened.
    """

    code: ClassVar[ErrorCode] = "TRANSPORT"

    def __init__(self, message: str, *, url: str, sent: bool, retryable: bool) -> None:
        super().__init__(message)
        self.url = url
        self.sent = sent
        self.retryable = retryable


class Unreachable(TransportError):
    """The connection to the server failed or broke."""

    code: ClassVar[ErrorCode] = "UNREACHABLE"


class TimedOut(TransportError):
    """The time limit was exceeded before the answer was complete."""

    code: ClassVar[ErrorCode] = "TIMEOUT"


class BadStatus(TransportError):
    """The server answered with an HTTP status other than success."""

    code: ClassVar[ErrorCode] = "HTTP_STATUS"

    def __init__(self, message: str, *, url: str, status: int, sent: bool, retryable: bool) -> None:
        super().__init__(message, url=url, sent=sent, retryable=retryable)
        self.status = status


class BadAnswer(TransportError):
    """The answer is malformed."""

    code: ClassVar[ErrorCode] = "BAD_ANSWER"


class BackendError(SdkError):
    """The swap service refused the request, with a message; `status` is its HTTP status."""

    code: ClassVar[ErrorCode] = "BACKEND"

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class NoQuote(SdkError):
    """The swap service returned no quote of the requested kind."""

    code: ClassVar[ErrorCode] = "NO_QUOTE"


class ClientClosed(SdkError):
    """The client is closed, or its `with` block has ended: create another one. Nothing was sent."""

    code: ClassVar[ErrorCode] = "CLOSED"


class RpcCallError(SdkError):
    """The node or broker answered with a JSON-RPC error object: `rpc_code`, `rpc_message`, `data`."""

    code: ClassVar[ErrorCode] = "RPC"

    def __init__(self, rpc_code: int, message: str, data: Any = None, text: str | None = None) -> None:
        """Take the members of the error object; `text` is printed instead of the node's message."""
        reason = (
            f" ({data:.{MAX_REASON_CHARS}})" if rpc_code in _WITH_REASON and isinstance(data, str) else ""
        )
        super().__init__(f"RPC error [{rpc_code}]: {message}{reason}" if text is None else text)
        self.rpc_code = rpc_code
        self.rpc_message = message
        self.data = data

    @property
    def raw_text(self) -> str:
        """Code and message as the server sent them, on one line."""
        return printable(f"{self.rpc_message} [code {self.rpc_code}]", MAX_MESSAGE_CHARS)


class ChainError(RpcCallError):
    """The State Chain refused the call. `pallet` is "" if the error names none.

    The message is the error's documentation and what to do; `rpc_message` is the node's own text.
    """

    code: ClassVar[ErrorCode] = "CHAIN"

    def __init__(self, rpc_code: int, message: str, data: Any, refusal: ModuleRefusal) -> None:
        super().__init__(rpc_code, message, data, _chain_text(refusal, data))
        self.pallet = refusal.pallet
        self.error = refusal.name
        self.text = refusal.words or message


def _chain_text(refusal: ModuleRefusal, data: Any) -> str:
    """Return the text of a refusal, with the node's advice from `data` if the refusal has none."""
    advice = f"; {data:.{MAX_REASON_CHARS}}" if isinstance(data, str) and not refusal.advice else ""
    return f"{refusal_text(refusal)}{advice}"


def rpc_error(code: int, message: str, data: Any) -> RpcCallError:
    """Return the error of a JSON-RPC error object; a ChainError if its text is that of a dispatch error.

    The texts are those of the official node (`KnownModuleError { … }`, `DispatchError(BadOrigin)`,
    `Invalid(Payment)`) and of the stand-alone broker (`Module error ‘…‘ from pallet ‘…‘: ‘…‘`).
    """
    refusal = read_refusal(message)
    return RpcCallError(code, message, data) if refusal is None else ChainError(code, message, data, refusal)
