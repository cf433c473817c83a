"""HTTP transport of the SDK's clients, which maps each failure to an error of the SDK.

The exchanges are those of `clients/http.py`. A bearer token is added here, to requests to its server alone.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.clients.http import (
    MAX_ANSWER_BYTES,
    AsyncHttpClient,
    BadUrl,
    HttpAnswer,
    HttpClient,
    HttpError,
)
from cfnode.sdk.credentials import NO_CREDENTIALS, Credentials
from cfnode.sdk.errors import BadAnswer, ClientClosed, TimedOut, TransportError, Unreachable, ValidationError
from cfnode.sdk.exchange import SdkHttpCall, error_text, origin_of

__all__ = ["MAX_ANSWER_BYTES", "AsyncTransport", "Transport"]

AGENT = "cfnode-sdk"
_KINDS: dict[str, type[TransportError]] = {kind.code: kind for kind in (Unreachable, TimedOut, BadAnswer)}


class Transport:
    """Blocking exchanges over one connection pool; threads may share it."""

    def __init__(self, credentials: Credentials = NO_CREDENTIALS) -> None:
        self._credentials = credentials
        self._client = HttpClient(AGENT)

    def exchange(self, call: SdkHttpCall) -> HttpAnswer:
        """Return the answer of one exchange.

        Raises TransportError, ValidationError for a malformed URL, ClientClosed after `close`.
        """
        try:
            return self._client.exchange(_with_token(call, self._credentials))
        except HttpError as error:
            raise _translated(call, error) from error
        except RuntimeError:
            if self._client.is_closed:
                raise _closed() from None
            raise

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class AsyncTransport:
    """Exchanges under trio or asyncio."""

    def __init__(self, credentials: Credentials = NO_CREDENTIALS) -> None:
        self._credentials = credentials
        self._client = AsyncHttpClient(AGENT)

    async def exchange(self, call: SdkHttpCall) -> HttpAnswer:
        """Return the answer of one exchange; cancelling ends it at once.

        Raises TransportError, ValidationError for a malformed URL, ClientClosed after `close`.
        """
        try:
            return await self._client.exchange(_with_token(call, self._credentials))
        except HttpError as error:
            raise _translated(call, error) from error
        except RuntimeError:
            if self._client.is_closed:
                raise _closed() from None
            raise

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _with_token(call: SdkHttpCall, credentials: Credentials) -> SdkHttpCall:
    return replace(call, headers=call.headers + credentials.headers(call.url))


def _closed() -> ClientClosed:
    return ClientClosed("the client is closed, and sent nothing: create another one, or close it later")


def _translated(call: SdkHttpCall, error: HttpError) -> TransportError | ValidationError:
    if isinstance(error, BadUrl):
        return ValidationError("url", str(error))
    kind = _KINDS[error.code]
    may_repeat = kind is not BadAnswer and not (error.sent and call.opens_channel)
    text = error_text(call, str(error), sent=error.sent)
    return kind(text, url=origin_of(call.url), sent=error.sent, retryable=may_repeat)
