"""Bodies of requests, counted for their connection while they arrive, and the answers of pages to them."""

from __future__ import annotations

from cfnode.core import jsonrpc
from cfnode.serving.responses import JSON, TEXT, Receive, Scope, Send, budget_of, respond
from cfnode.web.bearer import RequestHeaders
from cfnode.web.bodies import NOT_JSON, BodyRefused, is_json, read_body
from cfnode.web.origins import Headers
from cfnode.web.pages import Pages

__all__ = ["answer_page", "posted", "posted_json"]


async def posted(scope: Scope, headers: RequestHeaders, receive: Receive, limit: int) -> bytes | None:
    """Return the body of a request; None if the client has disconnected. Raises BodyRefused."""
    body = bytearray()
    with budget_of(scope).holding() as hold:
        is_whole = await read_body(headers.get(b"content-length"), receive, limit, body.extend, hold)
    return bytes(body) if is_whole else None


async def posted_json(
    scope: Scope, headers: RequestHeaders, receive: Receive, send: Send, limit: int, cors: Headers
) -> bytes | None:
    """Return the body of a request; None for a POST that is not JSON or a refused body, which is answered."""
    if scope["method"] == "POST" and not is_json(headers):
        await respond(send, 415, NOT_JSON, [TEXT, *cors])
        return None
    try:
        return await posted(scope, headers, receive, limit)
    except BodyRefused as error:
        text = f"the body has more than {limit} bytes or arrived too slowly"
        await respond(send, error.status, jsonrpc.encode({"message": text}), [JSON, *cors])
        return None


async def answer_page(
    pages: Pages, scope: Scope, headers: RequestHeaders, receive: Receive, send: Send, cors: Headers
) -> None:
    """Answer a request that `pages` serve."""
    body = await posted_json(scope, headers, receive, send, pages.max_body, cors)
    if body is not None:
        version = headers.get(b"x-chainflip-sdk-version", b"").decode("latin-1")
        answer = await pages.answer(scope["path"], scope["query_string"], body, version)
        await respond(send, answer.status, answer.body, [TEXT if answer.is_text else JSON, *cors])
