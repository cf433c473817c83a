"""How are HTTP exchanges made, blocking and async? With httpx, and every failure as an error of the SDK.

httpx is imported with the first client, not with the package. Redirects are not followed (one could repeat a
request elsewhere) and nothing is retried. An answer has limits in size and time; compressed answers are
neither requested nor unpacked, since a few kilobytes may expand to gigabytes. A bearer token is added here,
to requests to its server alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.sdk.credentials import NO_CREDENTIALS, Credentials
from cfnode.sdk.errors import BadAnswer, TimedOut, TransportError, Unreachable, ValidationError
from cfnode.sdk.exchange import HttpAnswer, HttpCall, error_text, origin_of

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncTransport", "Transport"]

MAX_ANSWER = 32 * 1024 * 1024
"""Maximum bytes of an answer; the largest answers (all open channels) stay far below."""
IDLE_SECONDS = 3.0


class Transport:
    """Blocking exchanges over one connection pool; threads may share it."""

    def __init__(self, credentials: Credentials = NO_CREDENTIALS) -> None:
        import httpx

        from cfnode.sdk.deadline import Deadlines, bind

        self._credentials = credentials
        self._deadlines = Deadlines()
        self._client = httpx.Client(follow_redirects=False, headers=_headers(), limits=_limits())
        bind(self._client, self._deadlines)

    def exchange(self, call: HttpCall) -> HttpAnswer:
        """The answer, or a TransportError."""
        import httpx

        sent = _Sent()
        try:
            with (
                self._deadlines.within(call.timeout),
                self._client.stream(**_arguments(call, self._credentials, sent.note)) as response,
            ):
                body = _Body(call, response)
                for piece in response.iter_raw():
                    body.add(piece)
                return body.answer
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _translated(call, error, sent.value) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class AsyncTransport:
    """The same under trio or asyncio."""

    def __init__(self, credentials: Credentials = NO_CREDENTIALS) -> None:
        import httpx

        self._credentials = credentials
        self._client = httpx.AsyncClient(follow_redirects=False, headers=_headers(), limits=_limits())

    async def exchange(self, call: HttpCall) -> HttpAnswer:
        """The answer, or a TransportError; cancelling ends it at once."""
        import anyio
        import httpx

        sent = _Sent()
        try:
            with anyio.fail_after(call.timeout):
                arguments = _arguments(call, self._credentials, sent.note_soon)
                async with self._client.stream(**arguments) as response:
                    body = _Body(call, response)
                    async for piece in response.aiter_raw():
                        body.add(piece)
                    return body.answer
        except TimeoutError as error:
            raise _timed_out(call, sent.value) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _translated(call, error, sent.value) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class _Sent:
    """Whether a request has started to leave this machine, by httpx's trace events."""

    value = False

    def note(self, step: str, details: dict[str, Any]) -> None:
        self.value = self.value or step.endswith(".send_request_headers.started")

    async def note_soon(self, step: str, details: dict[str, Any]) -> None:
        self.note(step, details)


class _Body:
    """An answer that is being received; raises BadAnswer if it is too large or compressed."""

    def __init__(self, call: HttpCall, response: httpx.Response) -> None:
        self._call = call
        self._status = response.status_code
        self._bytes = bytearray()
        if (encoding := response.headers.get("content-encoding", "identity")) != "identity":
            raise self._bad(f"the answer is compressed ({encoding[:20]}), which was not requested")

    def add(self, piece: bytes) -> None:
        self._bytes += piece
        if len(self._bytes) > MAX_ANSWER:
            raise self._bad(f"the answer is larger than {MAX_ANSWER} bytes")

    @property
    def answer(self) -> HttpAnswer:
        return HttpAnswer(self._status, bytes(self._bytes))

    def _bad(self, text: str) -> BadAnswer:
        url = origin_of(self._call.url)
        return BadAnswer(error_text(self._call, text), url=url, sent=True, retryable=False)


def _limits() -> httpx.Limits:
    """Limits that close idle connections before common servers do (5 s).

    A request on a closing connection is lost, and it is unknown whether the server read it.
    """
    import httpx

    return httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=IDLE_SECONDS)


def _headers() -> dict[str, str]:
    from cfnode import __version__

    return {"user-agent": f"cfnode-sdk/{__version__}", "accept-encoding": "identity"}


def _arguments(call: HttpCall, credentials: Credentials, trace: Any) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": call.url,
        "params": call.query or None,
        "headers": dict(call.headers + credentials.headers(call.url)),
        "content": call.body,
        "timeout": call.timeout,
        "extensions": {"trace": trace},
    }


def _translated(call: HttpCall, error: Exception, sent: bool) -> TransportError | ValidationError:
    import httpx

    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | UnicodeError):
        return ValidationError("url", "the address of a node, broker or service must be an http(s) URL")
    if isinstance(error, httpx.TimeoutException):
        return _timed_out(call, sent)
    text = f"Network error: {error or type(error).__name__}"
    return Unreachable(
        error_text(call, text, sent=sent),
        url=origin_of(call.url),
        sent=sent,
        retryable=not (sent and call.opens_channel),
    )


def _timed_out(call: HttpCall, sent: bool) -> TimedOut:
    return TimedOut(
        error_text(call, f"no complete answer within {call.timeout:g} s", sent=sent),
        url=origin_of(call.url),
        sent=sent,
        retryable=not (sent and call.opens_channel),
    )
