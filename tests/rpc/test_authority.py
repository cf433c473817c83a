"""Host, Origin and Forwarded are parsed to exactly one thing first, and compared by their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cfnode.dashboard.guard import require_own_origin
from cfnode.rpc.port.forwarded import UNKNOWN_CLIENT, forwarded_client
from cfnode.web.authority import HostAuthority, WebOrigin, origin_pattern
from cfnode.web.networks import BadFlagError
from cfnode.web.origins import origin_policy

ODD_ORIGINS = (
    b"",
    b"http://[",
    b"http://",
    b"://x",
    b"https://evil.example/.shop.example",
    b"https://evil.example?.shop.example",
    b"https://evil.example#.shop.example",
    b"https://user@a.shop.example",
    b"https://evil.example, https://a.shop.example",
    b"https://evil.example https://a.shop.example",
    b"https://a.shop.example:",
    b"https://a.shop.example:443x",
    b"https://a.shop.example/",
    b"https://\xe4.shop.example",
    b"https://" + b"a" * 600 + b".shop.example",
)


@pytest.mark.parametrize("cors", [("https://*.shop.example",), ("all", "https://*.shop.example"), ("*",)])
@pytest.mark.parametrize("origin", ODD_ORIGINS)
def test_what_is_not_one_origin_is_refused_whatever_is_allowed(origin: bytes, cors: tuple[str, ...]) -> None:
    """Refuse what is not exactly one origin, whatever the settings allow."""
    policy = origin_policy(cors, ("all",), 1)
    assert policy.refusal(b"localhost:1", origin) is not None
    assert policy.spending_refusal(origin) is not None


@pytest.mark.parametrize(
    "host", [b"", b"a b", b"a, b", b"a@b", b"[::1", b"a:b", b"a:1:2", b"http://a", b"a/b"]
)
def test_what_is_not_one_host_is_refused_whatever_is_allowed(host: bytes) -> None:
    """Refuse what is not exactly one host, whatever the settings allow."""
    for policy in (origin_policy(("all",), (), 1), origin_policy(None, ("a",), 1)):
        assert policy.refusal(host, None) is not None


@pytest.mark.parametrize(
    ("pattern", "origin", "matches"),
    [
        ("https://*.shop.example", "https://a.shop.example", True),
        ("https://*.shop.example", "https://a.b.shop.example", True),
        ("https://*.shop.example", "https://shop.example", False),
        ("https://*.shop.example", "https://ashop.example", False),
        ("https://*.shop.example", "https://a.shop.example.evil", False),
        ("https://*.shop.example", "http://a.shop.example", False),
        ("https://*.shop.example", "https://a.shop.example:8443", False),
        ("https://shop-*.example", "https://shop-7.example", True),
        ("https://shop-*.example", "https://shop-7.evil.example", False),
        ("https://shop.*", "https://shop.example", True),
        ("https://shop.*", "https://shop.example.evil", False),
        ("http://localhost:*", "http://localhost", True),
        ("http://localhost:*", "http://localhost:80", True),
        ("http://localhost:*", "http://localhost:5173", True),
        ("http://localhost:*", "http://localhost.evil:5173", False),
        ("https://shop.example:443", "https://shop.example", True),
        ("https://SHOP.example/", "https://shop.EXAMPLE", True),
        ("http://[::1]:*", "http://[::1]:5173", True),
        ("null", "null", True),
        ("*", "null", True),
        ("*", "app://local", True),
    ],
)
def test_origins_are_compared_by_scheme_labels_and_port(pattern: str, origin: str, matches: bool) -> None:
    """Compare origins by scheme, labels and port: a star spans several labels only at the beginning."""
    parsed = WebOrigin.parse(origin.encode())
    assert parsed is not None
    assert origin_pattern(pattern).matches(parsed) is matches


@pytest.mark.parametrize("text", ["shop.example", "https://shop.example/path", "https://", "https://a b", ""])
def test_an_entry_that_is_no_origin_is_named(text: str) -> None:
    """Name an entry of --rpc-cors that is not an origin."""
    with pytest.raises(BadFlagError, match="--rpc-cors"):
        origin_policy((text,), (), 1)


@given(st.binary(max_size=60))
def test_any_header_is_parsed_or_refused(header: bytes) -> None:
    """Parse any header or refuse it, without another error."""
    for parsed in (HostAuthority.parse(header), WebOrigin.parse(header)):
        assert parsed is None or b"," not in header
    origin_policy(None, (), 1).refusal(header, header)


def posted(*headers: tuple[bytes, bytes]) -> Request:
    """Return a form's request with these headers."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/web/theme",
        "scheme": "http",
        "headers": list(headers),
    }
    return Request(scope)


@pytest.mark.parametrize(
    "headers",
    [
        ((b"host", b"ops.example"), (b"origin", b"http://[")),
        ((b"host", b"ops.example"), (b"origin", b"http://evil.example")),
        ((b"host", b"ops.example"), (b"origin", b"http://ops.example:81")),
        ((b"host", b"ops.example"), (b"origin", b"null")),
        ((b"host", b"["), (b"origin", b"http://[")),
        ((b"origin", b"http://ops.example"),),
        ((b"host", b"ops.example"), (b"origin", b"http://ops.example"), (b"origin", b"http://evil.example")),
        ((b"host", b"ops.example"), (b"sec-fetch-site", b"cross-site")),
        ((b"host", b"ops.example"), (b"sec-fetch-site", b"same-origin"), (b"sec-fetch-site", b"cross-site")),
    ],
)
def test_a_form_of_another_or_a_malformed_origin_is_403(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    """Refuse a form of another or a malformed origin with 403: a foreign page could press our buttons."""
    with pytest.raises(HTTPException) as refused:
        require_own_origin(posted(*headers))
    assert refused.value.status_code == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (b"ops.example", b"https://ops.example"),
        (b"ops.example:443", b"https://ops.example"),
        (b"OPS.example:8443", b"https://ops.example:8443"),
        (b"[::1]:8080", b"http://[::1]:8080"),
    ],
)
def test_a_form_of_the_own_origin_is_taken(host: bytes, origin: bytes) -> None:
    """Accept a form of the own origin, or of a client that sends none."""
    require_own_origin(posted((b"host", host), (b"origin", origin), (b"sec-fetch-site", b"same-origin")))
    require_own_origin(posted((b"host", host)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"x-forwarded-for", b"192.0.2.1:evil"),
        (b"x-forwarded-for", b"[2001:db8::1]evil"),
        (b"x-forwarded-for", b"[2001:db8::1"),
        (b"x-real-ip", b"10.0.0.5, 192.0.2.1"),
        (b"forwarded", b"for=10.0.0.5;for=192.0.2.1"),
        (b"forwarded", b'for="[2001:db8::1]x"'),
    ],
)
def test_what_is_not_one_address_names_no_client(name: bytes, value: bytes) -> None:
    """Name no client where a proxy's header is not one address."""
    assert forwarded_client({name: value}, lambda hop: False) == UNKNOWN_CLIENT
