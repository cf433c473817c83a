"""Errors of the partner API: one shape of body, with a code that programs can compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from cfnode.web.origins import Headers

__all__ = ["CODES", "Code", "Error", "Problem", "ProblemBody"]


@dataclass(frozen=True, slots=True)
class Code:
    """Meaning of an error code: HTTP status, when it is sent, and what the partner can do."""

    status: int
    when: str
    action: str


CODES: Final[Mapping[str, Code]] = {
    "invalid_request": Code(400, "The request is malformed; the message names the member.", "Correct it."),
    "idempotency_key_required": Code(
        400,
        "`POST /v1/channels` came without the header Idempotency-Key, or with a malformed one.",
        "Send 1 to 200 letters, digits and `. _ : -`, new for each channel.",
    ),
    "unauthorized": Code(401, "The key is missing, unknown or revoked.", "Ask the broker for a key."),
    "budget_used_up": Code(
        402, "The month's budget for opening channels does not cover this one.", "Ask the broker for more."
    ),
    "asset_not_allowed": Code(403, "The key does not cover one of the assets.", "Ask the broker."),
    "not_found": Code(404, "No such path, or no swap of this partner.", "Check the id."),
    "method_not_allowed": Code(405, "The path has another method.", "Use the one in the header Allow."),
    "timeout": Code(408, "The body arrived too slowly.", "Send it again."),
    "request_in_progress": Code(
        409,
        "The first request with this Idempotency-Key is still running.",
        "Send the same request again after Retry-After.",
    ),
    "too_large": Code(413, "The body is too large.", "Shorten it."),
    "not_json": Code(415, "The body is not declared as JSON.", "Send Content-Type: application/json."),
    "idempotency_key_reused": Code(
        422, "The Idempotency-Key was used for another request.", "Use a new key for a new channel."
    ),
    "swap_refused": Code(
        422, "Broker or chain refuse such a swap; nothing was opened.", "The message says why."
    ),
    "rate_limited": Code(429, "More requests than the key's rate.", "Wait for Retry-After seconds."),
    "internal_error": Code(500, "A bug; the service has logged it.", "Report it to the broker."),
    "outcome_unknown": Code(
        502,
        "The request was sent to the broker, and no answer came: the channel may have been opened or not. "
        "It is not sent a second time.",
        "Send the same request again after a minute: the books have the channel then, if it was opened; "
        "after an hour without it, the request begins anew.",
    ),
    "unavailable": Code(
        503,
        "Node, broker or database do not answer, or other calls wait for the broker; nothing was opened.",
        "Send the same request again later.",
    ),
}
"""All error codes, with their meanings."""


class Error(Struct):
    """Reason why a request was refused."""

    code: Annotated[str, Meta(extra_json_schema={"enum": sorted(CODES)})]
    message: str


class ProblemBody(Struct):
    """The body of each answer that is not successful."""

    error: Error


class Problem(Exception):
    """Unsuccessful answer, with its code, message and headers."""

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        retry_after_s: float | None = None,
        allow: str = "",
    ) -> None:
        self.code, self.message = code, message or CODES[code].when
        super().__init__(self.message)
        self._retry_after_s, self._allow = retry_after_s, allow

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return CODES[self.code].status

    @property
    def body(self) -> bytes:
        """The body, as JSON."""
        return msgspec.json.encode(ProblemBody(Error(self.code, self.message)))

    @property
    def headers(self) -> Headers:
        """The answer's own headers: Retry-After, WWW-Authenticate, Allow, where they apply."""
        headers: Headers = []
        if self._retry_after_s is not None:
            headers.append((b"retry-after", b"%d" % max(1, math.ceil(self._retry_after_s))))
        if self.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if self._allow:
            headers.append((b"allow", self._allow.encode()))
        return headers
