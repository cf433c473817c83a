"""Protection of the page from other sites: headers of answers, and checks of forms.

Each answer forbids scripts and styles other than the page's own files, frames, and requests to other hosts. A
form is taken from this page only: by the browser's Origin, which has to be the requested host, and by a
number that only this page knows. Bodies are bounded before they are read.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from cfnode.serving.posted import posted
from cfnode.web.authority import HostAuthority, WebOrigin
from cfnode.web.bearer import joined
from cfnode.web.bodies import BodyRefused

__all__ = ["SECURITY_HEADERS", "form_of", "is_secure", "require_own_form", "require_own_origin"]

MAX_FORM_BYTES: Final = 16 * 1024
MAX_FORM_FIELDS: Final = 20
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: Final[Mapping[bytes, bytes]] = {
    b"content-security-policy": _POLICY.encode(),
    b"cache-control": b"no-cache",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    # Not no-referrer: with it, browsers send the Origin `null` with this page's own forms.
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}
_FORM: Final = "application/x-www-form-urlencoded"


def require_own_origin(request: Request) -> None:
    """Raise HTTPException for a request that a page of another site made.

    Also for one whose Origin or Host is malformed.
    """
    origins, hosts = request.headers.getlist("origin"), request.headers.getlist("host")
    sites = request.headers.getlist("sec-fetch-site")
    if not _is_own(origins, hosts) or not {*sites} <= {"same-origin", "none"}:
        raise HTTPException(403, "Form refused: a page of another site sent it.")


def _is_own(origins: list[str], hosts: list[str]) -> bool:
    """Return whether there is no Origin, or exactly one, of exactly one Host."""
    if not origins:
        return True
    if len(origins) > 1 or len(hosts) != 1:
        return False
    origin, host = (
        WebOrigin.parse(origins[0].encode("latin-1")),
        HostAuthority.parse(hosts[0].encode("latin-1")),
    )
    return origin is not None and host is not None and origin.is_of(host)


def require_own_form(fields: Mapping[str, str], csrf: str) -> None:
    """Raise HTTPException for a form without this session's number."""
    if not hmac.compare_digest(fields.get("csrf", "").encode(), csrf.encode()):
        raise HTTPException(403, "This form is out of date: go back, reload the page, and send it again.")


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a posted form. Raise HTTPException."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, "Unsupported content type: send a form.")
    try:
        body = await posted(request.scope, joined(request.scope["headers"]), request.receive, MAX_FORM_BYTES)
    except BodyRefused as error:
        raise HTTPException(error.status, f"A form has at most {MAX_FORM_BYTES} bytes.") from None
    try:
        text = b"" if body is None else body
        return dict(parse_qsl(text.decode(), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS))
    except ValueError:
        raise HTTPException(400, "The form is malformed.") from None


def is_secure(request: Request) -> bool:
    """Return whether the browser came by TLS, perhaps to a proxy.

    The cookie is then for TLS alone.
    """
    return request.scope["scheme"] == "https" or request.headers.getlist("x-forwarded-proto") == ["https"]
