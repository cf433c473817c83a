"""How are exchanges made, blocking and async, so that every failure is an ordinary error of the SDK?

httpx is loaded with the first client, not with the package. Redirects are not followed (one could repeat a
request elsewhere), nothing is retried, an answer is read up to a limit in size and in time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cfnode.sdk.errors import BadAnswer, TimedOut, TransportError, Unreachable, ValidationError
from cfnode.sdk.exchange import HttpAnswer, HttpCall, shown, told

if TYPE_CHECKING:
    pass

__all__ = ["AsyncTransport", "Transport"]

MAX_ANSWER = 32 * 1024 * 1024
"""Bytes; the largest answers (all open channels) stay far below."""


class Transport:
    """Blocking exchanges over one pool of connections; may be shared by threads."""

    def __init__(self) -> None:
        import httpx

        self._client = httpx.Client(follow_redirects=False, headers=_agent())

    def exchange(self, call: HttpCall) -> HttpAnswer:
        """The answer, or a TransportError."""
        import httpx

        deadline = time.monotonic() + call.timeout
        try:
            with self._client.stream(**_arguments(call)) as response:
                body = bytearray()
                for piece in response.iter_bytes():
                    _grow(body, piece, call)
                    if time.monotonic() > deadline:
                        raise _timed_out(call, sent=True)
                return HttpAnswer(response.status_code, bytes(body))
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _translated(call, error) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class AsyncTransport:
    """The same under trio or asyncio."""

    def __init__(self) -> None:
        import httpx

        self._client = httpx.AsyncClient(follow_redirects=False, headers=_agent())

    async def exchange(self, call: HttpCall) -> HttpAnswer:
        """The answer, or a TransportError; cancelling ends it at once."""
        import anyio
        import httpx

        try:
            with anyio.fail_after(call.timeout):
                async with self._client.stream(**_arguments(call)) as response:
                    body = bytearray()
                    async for piece in response.aiter_bytes():
                        _grow(body, piece, call)
                    return HttpAnswer(response.status_code, bytes(body))
        except TimeoutError as error:
            raise _timed_out(call, sent=True) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _translated(call, error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _agent() -> dict[str, str]:
    from cfnode import __version__

    return {"user-agent": f"cfnode-sdk/{__version__}"}


def _arguments(call: HttpCall) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": call.url,
        "params": call.query or None,
        "headers": dict(call.headers),
        "content": call.body,
        "timeout": call.timeout,
    }


def _grow(body: bytearray, piece: bytes, call: HttpCall) -> None:
    body += piece
    if len(body) > MAX_ANSWER:
        text = told(call, f"the answer is larger than {MAX_ANSWER} bytes")
        raise BadAnswer(text, url=shown(call.url), sent=True, retryable=False)


def _translated(call: HttpCall, error: Exception) -> TransportError | ValidationError:
    import httpx

    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | UnicodeError):
        return ValidationError("url", "the address of a node, broker or service must be an http(s) URL")
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    if isinstance(error, httpx.TimeoutException):
        return _timed_out(call, sent=not unsent)
    text = f"Network error: {error or type(error).__name__}"
    return Unreachable(
        f"{text} ({shown(call.url)})" if unsent else told(call, text),
        url=shown(call.url),
        sent=not unsent,
        retryable=unsent or not call.opens_channel,
    )


def _timed_out(call: HttpCall, *, sent: bool) -> TimedOut:
    text = f"no complete answer within {call.timeout:g} s"
    return TimedOut(
        told(call, text) if sent else f"{text} ({shown(call.url)})",
        url=shown(call.url),
        sent=sent,
        retryable=not (sent and call.opens_channel),
    )
