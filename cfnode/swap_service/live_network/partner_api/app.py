"""Requests of the partner API: the key is checked first, then the body; errors have one shape."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Final
from urllib.parse import parse_qsl

import msgspec
import trio

from cfnode.core.foreign import ForeignError, read_json
from cfnode.core.safe_text import printable
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners.access import Refusal as AccessRefusal
from cfnode.ledger.partners.access import authorize
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.partners.usage import OK, UsageCounter
from cfnode.serving.posted import posted
from cfnode.serving.responses import Receive, Scope, Send, respond
from cfnode.swap_service.live_network.partner_api import openapi
from cfnode.swap_service.live_network.partner_api.documents import malformed_text, quote_of, quote_query
from cfnode.swap_service.live_network.partner_api.opening import Opener, refused
from cfnode.swap_service.live_network.partner_api.operations import (
    API_PATH_PREFIX,
    IDEMPOTENCY_KEY,
    ApiOperation,
    allowed,
    operation_of,
)
from cfnode.swap_service.live_network.partner_api.problems import Problem
from cfnode.swap_service.live_network.partner_api.reading import own_swap, statement_writer
from cfnode.swap_service.live_network.partner_api.schema import (
    ChannelRequest,
    QuoteRequest,
    Quotes,
    StatementQuery,
    Swap,
)
from cfnode.swap_service.live_network.source import LiveSource
from cfnode.swap_service.live_network.turns import SignerBusy
from cfnode.swap_service.parameters import RequestRefusal, asset_pair
from cfnode.swap_service.quotes import quotes
from cfnode.swap_service.routes import MAX_BODY_BYTES, MAX_QUERY_BYTES
from cfnode.web.bearer import RequestHeaders
from cfnode.web.bodies import BodyRefused, is_json
from cfnode.web.origins import Headers
from cfnode.web.spool import send_spooled

__all__ = ["PartnerApi"]

log = logging.getLogger("cfnode.service")
JSON: Final = (b"content-type", b"application/json")
CSV: Final = (b"content-type", b"text/csv; charset=utf-8")
USAGE_S: Final = 2.0
"""Seconds from one writing of the counts of partners' requests to the next."""
MAX_STATEMENTS: Final = 2
"""Most statements that are read at the same time."""
Writer = Callable[[BinaryIO], None]
_SCHEME: Final = b"bearer "
_BODY_FAULTS: Final = {408: "timeout", 413: "too_large", 400: "invalid_request"}


class PartnerApi:
    """Handlers of the requests below `/v1/`; `run` has to run meanwhile."""

    def __init__(self, source: LiveSource) -> None:
        self._source, self._database = source, source.database
        self._opener = Opener(source)
        self._usage = UsageCounter()
        self._readers = trio.CapacityLimiter(3)
        self._statements = trio.CapacityLimiter(MAX_STATEMENTS)
        self._handlers: dict[str, Callable[..., Awaitable[bytes | Writer]]] = {
            "create_quotes": self._quotes,
            "open_channel": self._channel,
            "get_swap": self._swap,
            "get_statement": self._statement,
        }

    async def run(self) -> None:
        """Count the beats of requests for channels, and write the counts of requests, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._opener.run)
            try:
                while True:
                    await trio.sleep(USAGE_S)
                    await self._write_usage()
            finally:
                with trio.move_on_after(USAGE_S, shield=True):
                    await self._write_usage()

    async def _write_usage(self) -> None:
        try:
            await trio.to_thread.run_sync(self._usage.write, self._database, limiter=self._readers)
        except LedgerError as error:
            log.debug("The counts of partners' requests wait for the database: %s", error)

    async def idle(self) -> None:
        """Wait until no channel is being opened."""
        await self._opener.idle()

    @staticmethod
    def serves(path: str) -> bool:
        """Return whether a path is the API's."""
        return path.startswith(API_PATH_PREFIX)

    async def __call__(
        self,
        scope: Scope,
        headers: RequestHeaders,
        receive: Receive,
        send: Send,
        cors: Headers,
    ) -> None:
        """Answer one request whose host and origin were accepted."""
        path, caller = scope["path"], _Caller()
        try:
            if path == openapi.PATH and scope["method"] == "GET":
                await respond(send, 200, openapi.document(), [JSON, *cors])
                return
            status, kind, answer = await self._answer(scope, headers, receive, caller)
            if isinstance(answer, bytes):
                await respond(send, status, answer, [kind, *cors])
            else:
                await self._stream(scope, send, status, answer, [kind, *cors])
            self._count(caller, OK)
        except _Gone:
            return
        except Problem as problem:
            self._count(caller, problem.code)
            await respond(send, problem.status, problem.body, [JSON, *problem.headers, *cors])

    def _count(self, caller: _Caller, code: str) -> None:
        """Count a request by the code of its answer, if its key is a partner's."""
        if caller.partner is not None:
            self._usage.note(caller.partner, code)

    async def _answer(
        self, scope: Scope, headers: RequestHeaders, receive: Receive, caller: _Caller
    ) -> tuple[int, tuple[bytes, bytes], Any]:
        """Return status, content type and body of the answer. Raises Problem."""
        try:
            match = operation_of(scope["method"], scope["path"])
            partner = await self._partner(headers, caller)
            if match is None:
                raise _unknown(scope["path"])
            operation, names = match
            arguments = [*names, *await _given(operation, scope, headers, receive)]
            answer = await self._handlers[operation.name](partner, *arguments)
            is_csv = operation.has_csv and arguments[-1].format != "json"
            return operation.status, CSV if is_csv else JSON, answer
        except Problem:
            raise
        except RequestRefusal as refusal:
            raise _problem_of(refusal) from None
        # An unforeseen exception is logged, and only this request fails, as in the swap service.
        except Exception as error:
            if isinstance(error, _Gone):
                raise
            raise self._fault(error, scope) from None

    def _fault(self, error: Exception, scope: Scope) -> Problem:
        """Return the problem of an unforeseen exception, which is logged."""
        status, _ = self._source.fault(error, scope["path"])
        return Problem("unavailable" if status == 503 else "internal_error", _public(error))

    async def _stream(self, scope: Scope, send: Send, status: int, write: Writer, headers: Headers) -> None:
        """Send what a function writes, while it writes. Raises Problem if it fails before its first bytes."""
        is_begun = False

        async def start() -> None:
            nonlocal is_begun
            is_begun = True
            await send({"type": "http.response.start", "status": status, "headers": [*headers]})

        async def send_piece(piece: bytes) -> None:
            await send({"type": "http.response.body", "body": piece, "more_body": True})

        try:
            await send_spooled(write, start, send_piece, self._statements)
        except Exception as error:
            if is_begun:
                raise
            raise self._fault(error, scope) from None
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _partner(self, headers: RequestHeaders, caller: _Caller) -> Partner:
        """Return the partner whose key a request has, whom the caller is then. Raises Problem."""
        authorization = headers.get(b"authorization", b"")
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            raise Problem("unauthorized", "a partner's key is required: Authorization: Bearer KEY")
        key = authorization[len(_SCHEME) :].strip()[:200].decode("latin-1")
        find = partial(authorize, self._database, key)
        partner = await trio.to_thread.run_sync(find, limiter=self._readers)
        if isinstance(partner, AccessRefusal):
            caller.partner = partner.partner
            raise refused(partner)
        caller.partner = partner.name
        return partner

    async def _quotes(self, partner: Partner, request: QuoteRequest) -> bytes:
        block, query = await self._source.best(), quote_query(request, partner)
        if not partner.allows(*(asset_pair(query, side, block.names) for side in ("src", "dest"))):
            raise Problem("asset_not_allowed")
        return msgspec.json.encode(Quotes([quote_of(document) for document in await quotes(block, query)]))

    async def _channel(self, partner: Partner, key: str, request: ChannelRequest) -> bytes:
        return await self._opener.open(partner, key, request)

    async def _swap(self, partner: Partner, reference: str) -> bytes:
        read_swap = partial(own_swap, database=self._database, partner=partner.name, reference=reference)
        swap: Swap = await self._source.read(read_swap)
        return msgspec.json.encode(swap)

    async def _statement(self, partner: Partner, query: StatementQuery) -> Writer:
        return statement_writer(self._database, partner.name, query)


@dataclass(slots=True)
class _Caller:
    """Partner of a request, as soon as its key is known."""

    partner: str | None = None


class _Gone(Exception):
    """The client has disconnected."""


async def _given(
    operation: ApiOperation, scope: Scope, headers: RequestHeaders, receive: Receive
) -> list[Any]:
    """Return key, body and query of a request, as far as the operation has them. Raises Problem."""
    arguments: list[Any] = []
    if operation.takes_key:
        key = headers.get(b"idempotency-key", b"").decode("latin-1")
        if not re.fullmatch(IDEMPOTENCY_KEY, key):
            raise Problem("idempotency_key_required")
        arguments.append(key)
    if operation.body is not None:
        arguments.append(_decoded(await _body(scope, headers, receive), operation.body))
    if operation.query is not None:
        arguments.append(_queried(scope["query_string"], operation.query))
    return arguments


async def _body(scope: Scope, headers: RequestHeaders, receive: Receive) -> bytes:
    if not is_json(headers):
        raise Problem("not_json")
    try:
        body = await posted(scope, headers, receive, MAX_BODY_BYTES)
    except BodyRefused as error:
        raise Problem(_BODY_FAULTS[error.status]) from None
    if body is None:
        raise _Gone
    return body


def _decoded(body: bytes, kind: type) -> Any:
    try:
        return read_json(body, kind=kind)
    except ForeignError as error:
        raise Problem("invalid_request", printable(f"the body {error}")) from None


def _queried(query: bytes, kind: type) -> Any:
    if len(query) > MAX_QUERY_BYTES:
        raise Problem("invalid_request", f"the query has more than {MAX_QUERY_BYTES} bytes")
    try:
        fields = dict(parse_qsl(query.decode(), max_num_fields=32, keep_blank_values=True))
        return msgspec.convert(fields, kind, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Problem("invalid_request", str(error)[:300]) from None


def _public(error: Exception) -> str | None:
    """Return the text of a fault that a partner may read, without names of hosts and databases, or None."""
    return str(error) if isinstance(error, SignerBusy) else None


def _unknown(path: str) -> Problem:
    methods = allowed(path)
    return Problem("method_not_allowed", allow=", ".join(methods)) if methods else Problem("not_found")


def _problem_of(refusal: RequestRefusal) -> Problem:
    """Return the problem with this API's code for a refusal by the swap service's rules."""
    if refusal.status == 503:
        return Problem("unavailable", refusal.message)
    if refusal.status == 404:
        return Problem("not_found")
    is_malformed = refusal.message.startswith("invalid request")
    if is_malformed:
        return Problem("invalid_request", malformed_text(refusal.message))
    return Problem("swap_refused", refusal.message)
