"""Forms of the page: taken from this page alone, answered with a message on the next one."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cfnode.dashboard.guard import form_of, is_secure, require_own_form, require_own_origin
from cfnode.dashboard.page_context import MESSAGE_COOKIE, PageContext
from cfnode.dashboard.sessions import MESSAGE_MAX_AGE_S, DashboardSession
from cfnode.dashboard.views import PAGE_PATH_PREFIX

__all__ = ["next_page", "own_form", "secret_page"]

MAX_MESSAGE_CHARS = 400


async def own_form(request: Request, session: DashboardSession) -> Mapping[str, str]:
    """Return the fields of a form that this page sent, in this session. Raise HTTPException for another."""
    require_own_origin(request)
    fields = await form_of(request)
    require_own_form(fields, session.csrf)
    return fields


async def next_page(
    context: PageContext, request: Request, path: str, text: str, *, is_error: bool = False
) -> Response:
    """Lead to a page of the path, which shows the text."""
    answer = RedirectResponse(f"{PAGE_PATH_PREFIX}/{path}", 303)
    cookie = (await context.sessions()).message(text[:MAX_MESSAGE_CHARS], is_error=is_error)
    answer.set_cookie(
        MESSAGE_COOKIE,
        cookie,
        MESSAGE_MAX_AGE_S,
        path=PAGE_PATH_PREFIX,
        secure=is_secure(request),
        httponly=True,
        samesite="strict",
    )
    return answer


async def secret_page(
    context: PageContext, request: Request, session: DashboardSession, name: str, secret: str, back: str
) -> Response:
    """Return the page with a new secret, which no other page has; it is in no cookie and in no log."""

    async def make() -> str:
        return context.part("secret.html", name=name, secret=secret, back=back)

    return await context.respond(request, session, "Secret", make, is_live=False)
