"""Table of the partner API's requests, with which they are validated and documented."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from cfnode.swap_service.live_network.partner_api.schema import (
    Channel,
    ChannelRequest,
    QuoteRequest,
    Quotes,
    Statement,
    StatementQuery,
    Swap,
)

__all__ = ["API_PATH_PREFIX", "IDEMPOTENCY_KEY", "OPERATIONS", "ApiOperation", "allowed", "operation_of"]

API_PATH_PREFIX: Final = "/v1/"
IDEMPOTENCY_KEY: Final = r"[A-Za-z0-9._:-]{1,200}"
_ALWAYS: Final = ("unauthorized", "rate_limited", "internal_error", "unavailable")
_WITH_BODY: Final = (
    "invalid_request",
    "asset_not_allowed",
    "timeout",
    "too_large",
    "not_json",
    "swap_refused",
)


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """Kind of request: method, path with at most one parameter, types of its parts, codes of its errors."""

    name: str
    method: str
    path: str
    summary: str
    answer: type
    errors: tuple[str, ...]
    status: int = 200
    body: type | None = None
    query: type | None = None
    has_csv: bool = False
    takes_key: bool = False
    """Whether the request needs an Idempotency-Key."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all errors of the request."""
        return (*_ALWAYS, *(_WITH_BODY if self.body is not None else ()), *self.errors)


OPERATIONS: Final = (
    ApiOperation(
        "create_quotes",
        "POST",
        "/v1/quotes",
        "Quote a swap, with the commission of your channels.",
        Quotes,
        (),
        body=QuoteRequest,
    ),
    ApiOperation(
        "open_channel",
        "POST",
        "/v1/channels",
        "Open a deposit channel. The same request with the same Idempotency-Key opens no second one, and "
        "gets the same answer, for 7 days.",
        Channel,
        (
            *("idempotency_key_required", "budget_used_up", "request_in_progress"),
            *("idempotency_key_reused", "outcome_unknown"),
        ),
        status=201,
        body=ChannelRequest,
        takes_key=True,
    ),
    ApiOperation(
        "get_swap",
        "GET",
        "/v1/swaps/{id}",
        "The status of a swap of your channels, by the channel's id, the swap's id, or the deposit's "
        "transaction. It is that of finalized blocks.",
        Swap,
        ("not_found",),
    ),
    ApiOperation(
        "get_statement",
        "GET",
        "/v1/statement",
        "What was swapped, charged, paid out and earned in a month by your channels, with totals.",
        Statement,
        ("invalid_request",),
        query=StatementQuery,
        has_csv=True,
    ),
)


@cache
def _patterns() -> Mapping[ApiOperation, re.Pattern[str]]:
    return {operation: re.compile(operation.path.replace("{id}", "([^/]+)")) for operation in OPERATIONS}


def operation_of(method: str, path: str) -> tuple[ApiOperation, tuple[Any, ...]] | None:
    """Return the operation of a request with the parameters in its path; None for an unknown one."""
    for operation, pattern in _patterns().items():
        if operation.method == method and (match := pattern.fullmatch(path)):
            return operation, match.groups()
    return None


def allowed(path: str) -> tuple[str, ...]:
    """Return the methods that a path allows."""
    return tuple(operation.method for operation, pattern in _patterns().items() if pattern.fullmatch(path))
