"""Blocking and async HTTP exchanges by httpx, within limits and with one kind of error.

httpx is imported with the first client, not with the module. A server may answer with anything, so:

- the exchange has a time limit in all, however slowly the bytes come;
- an answer has at most `MAX_ANSWER_BYTES` bytes, and its end is not read;
- compressed answers are neither requested nor unpacked: a few kilobytes may expand to gigabytes;
- redirects are not followed: one could repeat a request elsewhere;
- nothing is sent twice.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from cfnode.core.foreign import ANSWER
from cfnode.core.safe_text import printable, reason_of

if TYPE_CHECKING:
    import httpx

__all__ = [
    "MAX_ANSWER_BYTES",
    "AsyncHttpClient",
    "BadUrl",
    "HttpAnswer",
    "HttpCall",
    "HttpClient",
    "HttpError",
    "NoAnswer",
    "TooSlow",
    "Unusable",
]

MAX_ANSWER_BYTES: Final = ANSWER.size
"""Maximum bytes of an answer; the largest answers (all open channels) stay far below."""
IDLE_CONNECTION_S: Final = 3.0
GLIMPSE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class HttpCall:
    """HTTP exchange to make; `timeout` in seconds, for the whole exchange."""

    method: str
    url: str
    timeout: float
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Answer to an HTTP exchange."""

    status: int
    body: bytes


class HttpError(Exception):
    """Error for an exchange without a usable answer.

    `sent` is False only if the server certainly never received the request. The text has no address. `code`
    is what programs compare: that of the SDK's error, and of a command's.
    """

    code: ClassVar[Literal["UNREACHABLE", "TIMEOUT", "BAD_ANSWER"]] = "UNREACHABLE"

    def __init__(self, text: str, *, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


class BadUrl(HttpError):
    """Error for an address that is no http(s) URL; nothing was sent."""


class NoAnswer(HttpError):
    """Error for a connection that failed or broke."""


class TooSlow(HttpError):
    """Error for a time limit that was exceeded before the answer was complete."""

    code = "TIMEOUT"


class Unusable(HttpError):
    """Error for an answer that is over a limit."""

    code = "BAD_ANSWER"


class HttpClient:
    """Client for blocking exchanges over one connection pool, which threads may share.

    `tls` False: for http addresses only, without the time to read the certificates.
    """

    def __init__(self, agent: str, *, tls: bool = True) -> None:
        import httpx

        from cfnode.clients.deadline import Deadlines, bind

        self._deadlines = Deadlines()
        headers, limits = _headers(agent), _limits()
        self._client = httpx.Client(follow_redirects=False, headers=headers, limits=limits, verify=tls)
        bind(self._client, self._deadlines)

    def exchange(self, call: HttpCall) -> HttpAnswer:
        """Return the answer to a call. Raise HttpError."""
        import httpx

        sent = _Sent()
        try:
            with (
                self._deadlines.within(call.timeout),
                self._client.stream(**_arguments(call, sent.note)) as response,
            ):
                body = _Body(response)
                for chunk in response.iter_raw():
                    body.add(chunk)
                return body.answer
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _translated(call, error, sent.value) from error

    @property
    def is_closed(self) -> bool:
        """Whether the client is closed, and makes no exchange."""
        return self._client.is_closed

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class AsyncHttpClient:
    """Client for exchanges under trio or asyncio.

    `is_direct`: without proxies of the environment, and without connections that stay open.
    """

    def __init__(self, agent: str, *, is_direct: bool = False) -> None:
        import httpx

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0) if is_direct else _limits()
        self._client = httpx.AsyncClient(
            follow_redirects=False, headers=_headers(agent), limits=limits, trust_env=not is_direct
        )

    async def glimpse(self, call: HttpCall, size: int) -> HttpAnswer:
        """Return the status, and of an answer without success the first bytes of its body.

        The body has at most `size` bytes, and those that came within a second. Raise HttpError.
        """
        return await self._exchange(call, size)

    async def exchange(self, call: HttpCall) -> HttpAnswer:
        """Return the answer to a call; cancelling ends it at once. Raise HttpError."""
        return await self._exchange(call, None)

    async def _exchange(self, call: HttpCall, glimpsed: int | None) -> HttpAnswer:
        import anyio
        import httpx

        sent, status, beginning = _Sent(), 0, bytearray()
        try:
            with anyio.fail_after(call.timeout):
                async with self._client.stream(**_arguments(call, sent.note_soon)) as response:
                    if glimpsed is not None:
                        status = response.status_code
                        await _glimpse(response, glimpsed, beginning)
                        return HttpAnswer(status, bytes(beginning))
                    body = _Body(response)
                    async for chunk in response.aiter_raw():
                        body.add(chunk)
                    return body.answer
        except TimeoutError as error:
            if status:  # only the end of what was glimpsed at is missing
                return HttpAnswer(status, bytes(beginning))
            raise _too_slow(call, sent.value) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _translated(call, error, sent.value) from error

    @property
    def is_closed(self) -> bool:
        """Whether the client is closed, and makes no exchange."""
        return self._client.is_closed

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class _Sent:
    """Record of whether a request has started to leave this machine, by httpx's trace events."""

    value = False

    def note(self, step: str, details: dict[str, Any]) -> None:
        self.value = self.value or step.endswith(".send_request_headers.started")

    async def note_soon(self, step: str, details: dict[str, Any]) -> None:
        self.note(step, details)


class _Body:
    """Answer that is being received; raises Unusable if it is too large or compressed."""

    def __init__(self, response: httpx.Response) -> None:
        self._status = response.status_code
        self._bytes = bytearray()
        if (encoding := response.headers.get("content-encoding", "identity")) != "identity":
            text = f"the answer is compressed ({printable(encoding, 20)}), which was not requested"
            raise Unusable(text, sent=True)

    def add(self, chunk: bytes) -> None:
        self._bytes += chunk
        if len(self._bytes) > MAX_ANSWER_BYTES:
            raise Unusable(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", sent=True)

    @property
    def answer(self) -> HttpAnswer:
        return HttpAnswer(self._status, bytes(self._bytes))


async def _glimpse(response: httpx.Response, size: int, beginning: bytearray) -> None:
    """Add the first bytes of an answer without success, at most `size`; none of another one."""
    import anyio
    import httpx

    if response.is_success:
        return
    with suppress(httpx.HTTPError), anyio.move_on_after(GLIMPSE_S):
        async for chunk in response.aiter_raw():
            beginning += chunk[: size - len(beginning)]
            if len(beginning) >= size:
                return


def _limits() -> httpx.Limits:
    """Return limits that close idle connections before common servers do (5 s).

    A request on a closing connection is lost, and the client cannot know whether the server read it.
    """
    import httpx

    return httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=IDLE_CONNECTION_S)


def _headers(agent: str) -> dict[str, str]:
    from cfnode import __version__

    return {"user-agent": f"{agent}/{__version__}", "accept-encoding": "identity"}


def _arguments(call: HttpCall, trace: Any) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": call.url,
        "params": call.query or None,
        "headers": dict(call.headers),
        "content": call.body,
        "timeout": call.timeout,
        "extensions": {"trace": trace},
    }


def _translated(call: HttpCall, error: Exception, sent: bool) -> HttpError:
    import httpx

    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | UnicodeError):
        return BadUrl("the address of a node, broker or service must be an http(s) URL", sent=False)
    if isinstance(error, httpx.TimeoutException):
        return _too_slow(call, sent)
    return NoAnswer(f"Network error: {reason_of(error)}", sent=sent)


def _too_slow(call: HttpCall, sent: bool) -> TooSlow:
    return TooSlow(f"no complete answer within {call.timeout:g} s", sent=sent)
