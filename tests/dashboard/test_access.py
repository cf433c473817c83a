"""Who sees the page: a client that gave a token of the group admin, in this page's own form."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from starlette.requests import Request

from cfnode.dashboard import sessions as sessions_module
from cfnode.dashboard.guard import MAX_FORM_BYTES, is_secure
from cfnode.dashboard.once import OneTimeCodes
from cfnode.dashboard.sessions import Sessions
from cfnode.ledger.database import Database
from cfnode.ledger.service_key import service_key
from tests.dashboard.visiting import BASE, TOKEN, OfficialNode, token, tokens, visitor

PATHS = (
    "/", "/figures", "/swaps", "/swaps/1", "/channels", "/channels/1-Ethereum-1", "/channels/Ethereum/1",
    "/channels/Ethereum/1/code.svg", "/find?term=1", "/payouts", "/partners", "/health", "/dev", "/blocks",
    "/blocks/1", "/events", "/partners/x", "/webhooks", "/webhooks/wh_1", "/webhooks/wh_1/1",
)  # fmt: skip


async def test_nothing_is_shown_without_a_session(books: Database) -> None:
    """Redirect each path to the login page with an empty body, reads and forms alike, without a session."""
    with visitor(books) as (_, guest):
        for path in PATHS:
            answer = await guest.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/web/login"), path
            assert answer.content == b""
        for path in (
            "/dev/blocks",
            "/logout",
            "/partners",
            "/partners/x/remove",
            "/webhooks",
            "/webhooks/x/remove",
        ):
            assert (await guest.post(path, {"count": "1"})).status_code == 303
        assert (await guest.get("/login")).status_code == 200
        assert (await guest.client.get("/")).headers["location"] == "/web/"


async def test_a_token_of_the_group_admin_opens_it(books: Database) -> None:
    """Begin a session by a token of the group admin; its cookie is HttpOnly, strict, and holds no token."""
    with visitor(books) as (_, guest):
        answer = await guest.log_in()
        assert (answer.status_code, answer.headers["location"]) == (303, "/web/")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/web" in cookie
        assert "Secure" not in cookie
        assert TOKEN not in cookie
        page = await guest.get("/")
        assert page.status_code == 200
        assert "Log out operator" in page.text
        by_tls = await guest.post("/login", {"token": TOKEN}, x_forwarded_proto="https")
        assert "Secure" in by_tls.headers["set-cookie"]


@pytest.mark.parametrize(
    ("scheme", "forwarded", "is_tls"),
    [
        ("https", (), True),
        ("http", (), False),
        ("http", (b"https",), True),
        ("http", (b"http",), False),
        ("http", (b"https", b"http"), False),
    ],
)
def test_one_proxy_may_say_that_a_browser_came_by_tls(
    scheme: str, forwarded: tuple[bytes, ...], is_tls: bool
) -> None:
    """Believe x-forwarded-proto from one proxy, and not where two values contradict each other."""
    headers = [(b"x-forwarded-proto", value) for value in forwarded]
    assert is_secure(Request({"type": "http", "scheme": scheme, "headers": headers})) is is_tls


@pytest.mark.parametrize("presented", ["", "shop-" + "s" * 40, "read-" + "r" * 40, TOKEN[:-1], "ä" * 600])
async def test_any_other_token_opens_nothing(books: Database, presented: str) -> None:
    """Refuse an empty, foreign, shortened or overlong token with 403, and set no cookie."""
    with visitor(books) as (_, guest):
        answer = await guest.log_in(presented)
        assert answer.status_code == 403
        assert "Access denied: this token is not in the group admin." in answer.text
        assert "set-cookie" not in answer.headers
        assert (await guest.get("/")).status_code == 303


async def test_a_printed_link_logs_in_once(empty: Database) -> None:
    """By its button: a program that only looks at the link takes nothing; nor does another page."""
    links: list[str] = []
    with visitor(empty, announce=links.append) as (page, guest):
        page.listening(BASE)
        (link,) = links
        code = link.removeprefix(f"{BASE}/web/login?once=")
        for _ in range(2):
            answer = await guest.client.get(link)
            assert (answer.status_code, f'value="{code}"' in answer.text) == (200, True)
            assert "set-cookie" not in answer.headers
        elsewhere = await guest.post("/login", {"once": code}, origin="https://elsewhere.example")
        assert elsewhere.status_code == 403
        for wrong in ("", "x", code[:-1], code + "x", "é" * 600):
            answer = await guest.post("/login", {"once": wrong, "token": TOKEN})
            assert (answer.status_code, "This link was used already" in answer.text) == (403, True), wrong
        assert (await guest.post("/login", {"once": code})).status_code == 303
        assert (await guest.get("/partners")).status_code == 200
        again = await guest.post("/login", {"once": code})
        assert again.status_code == 403


def test_a_code_ends_after_ten_minutes_and_the_oldest_of_many() -> None:
    """However often a service offers one."""
    now = 0.0
    codes = OneTimeCodes(lambda: now)
    first, second = codes.offer(), codes.offer()
    now = 599.0
    assert codes.take(first)
    assert not codes.take(first)
    now = 600.0
    assert not codes.take(second)
    many = [codes.offer() for _ in range(20)]
    assert [codes.take(code) for code in many] == [False] * 4 + [True] * 16


async def test_a_session_ends_with_its_token(books: Database) -> None:
    """End a session once its token is no longer in the file."""
    known = list(tokens())
    with visitor(books, source=lambda: known) as (_, guest):
        await guest.log_in()
        assert (await guest.get("/")).status_code == 200
        known.remove(known[1])
        assert (await guest.get("/")).status_code == 303


async def test_a_session_ends_after_half_a_day(books: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a cookie that is older than the sessions last."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        monkeypatch.setattr(sessions_module, "SESSION_MAX_AGE_S", -1)
        assert (await guest.get("/")).status_code == 303


async def test_a_session_counts_at_each_process_of_the_books_and_nowhere_else(
    books: Database, empty: Database
) -> None:
    """Accept a session at each service of one database, and at no service of another."""
    with visitor(books) as (_, first), visitor(books) as (_, second), visitor(empty) as (_, other):
        await first.log_in()
        for guest, status in ((second, 200), (other, 303)):
            guest.client.cookies.update(first.client.cookies)
            assert (await guest.get("/health")).status_code == status


async def test_a_cookie_that_was_changed_opens_nothing(books: Database) -> None:
    """Refuse a cookie that differs in any letter tried, and texts that are no cookie at all."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        (good,) = (cookie.value for cookie in guest.client.cookies.jar)
        assert good is not None
        for place in range(0, len(good), 7):
            changed = good[:place] + ("A" if good[place] != "A" else "B") + good[place + 1 :]
            guest.client.cookies.clear()
            answer = await guest.get("/", cookie=f"cfnode_session={changed}")
            assert answer.status_code == 303, place
        for bad in ("", "x" * 5_000, "a.b.c", '"'):
            assert (await guest.get("/", cookie=f"cfnode_session={bad}")).status_code == 303
        assert (await guest.get("/", cookie=f"cfnode_session={good}")).status_code == 200


async def test_logging_out_takes_the_cookie_away(books: Database) -> None:
    """End the session by a form with its own number only: another page could not log the operator out."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        assert (await guest.post("/logout", {"csrf": "0" * 64})).status_code == 403
        answer = await guest.post("/logout", {"csrf": await guest.csrf()})
        assert answer.headers["location"] == "/web/login"
        assert (await guest.get("/")).status_code == 303


async def test_forms_of_other_pages_are_refused(books: Database) -> None:
    """Refuse a form whose origin or fetch site is another page's, at login and within a session."""
    foreign = (
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:8080, http://127.0.0.1:8080"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    )
    with visitor(books) as (_, guest):
        for headers in foreign:
            answer = await guest.post("/login", {"token": TOKEN}, **headers)
            assert answer.status_code == 403, headers
            assert "set-cookie" not in answer.headers
        await guest.log_in()
        csrf = await guest.csrf()
        for headers in foreign:
            assert (await guest.post("/logout", {"csrf": csrf}, **headers)).status_code == 403, headers
        assert (await guest.get("/")).status_code == 200


async def test_a_number_of_another_session_is_refused(books: Database) -> None:
    """Refuse the number that belongs to another session's forms: it was stolen or is stale."""
    with visitor(books) as (_, one), visitor(books) as (_, another):
        await one.log_in()
        await another.log_in()
        answer = await one.post("/logout", {"csrf": await another.csrf()})
        assert answer.status_code == 403
        assert "This form is out of date" in answer.text


async def test_malformed_forms_are_refused(books: Database) -> None:
    """Refuse a form of a wrong type, too large, with too many fields, or that is not UTF-8."""
    with visitor(books) as (_, guest):
        send, own = guest.client.post, {"origin": BASE}
        form = {"content-type": "application/x-www-form-urlencoded"}
        assert (await send("/web/login", json={"token": TOKEN}, headers=own)).status_code == 415
        big = await send("/web/login", content=b"token=" + b"a" * MAX_FORM_BYTES, headers=own | form)
        assert big.status_code == 413
        many = "&".join(f"a{number}=1" for number in range(100))
        assert (await send("/web/login", content=many, headers=own | form)).status_code == 400
        assert (await send("/web/login", content=b"\xff\xfe", headers=own | form)).status_code == 400
        assert (await send("/web/login", content=b"token=%ff%00", headers=own | form)).status_code == 403


async def test_each_answer_forbids_scripts_frames_and_other_hosts(books: Database) -> None:
    """Send with each answer a policy that refuses foreign scripts and frames, and no shared caching."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        pages = [path for path in PATHS if path != "/events"]  # a stream, which has no end
        for path in (*pages, "/login", "/static/page.css", "/static/live.js", "/none"):
            headers = (await guest.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy, path
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["cache-control"] in ("no-store", "no-cache", "private, max-age=600")


async def test_no_page_has_an_inline_script_or_style_or_a_foreign_address(books: Database) -> None:
    """Keep style and scripts out of the HTML, as the policy demands, and name no host but the node's."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        for path in (*PATHS[:12], "/login", "/none"):
            text = (await guest.get(path)).text
            assert "<style" not in text, path
            assert " style=" not in text
            assert "onclick" not in text
            assert text.count("<script") == text.count('<script src="/web/static/live.js" defer></script>')
            assert "https://" not in text.replace("https://node.example", "")


async def test_the_theme_is_kept_and_only_own_paths_are_gone_back_to(books: Database) -> None:
    """Keep the theme in a cookie, and redirect after it to paths below /web only, never to other hosts."""
    with visitor(books) as (_, guest):
        assert 'data-theme="auto"' in (await guest.get("/login")).text
        answer = await guest.post("/theme", {"theme": "dark", "path": "/web/login"})
        assert answer.headers["location"] == "/web/login"
        assert 'data-theme="dark"' in (await guest.get("/login")).text
        for path in (
            "//evil.example",
            "https://evil.example",
            "/web/../x",
            "/web//evil",
            "/webx",
            "\r\nx: y",
        ):
            answer = await guest.post("/theme", {"theme": '"><script>', "path": path})
            assert answer.headers["location"] in ("/web/", "/web//evil"), path
        assert 'data-theme="dark"' in (await guest.get("/login")).text


def test_a_session_names_its_token_and_no_secret(books: Database) -> None:
    """Keep the key of the books, name the token in a cookie, and take no message for a session."""
    key = service_key(books)
    assert service_key(books) == key
    assert len(key) == 32
    made = Sessions(key, lambda: [token("me", TOKEN, *next(iter(list(tokens())[1:])).groups)])
    cookie = made.begin(TOKEN)
    session = made.read(cookie)
    assert session is not None
    assert session.name == "me"
    assert made.read(made.message("hello")) is None
    assert made.read_message(made.message("hello", is_error=True)) == ("hello", True)
    assert made.read_message(cookie) is None


def test_books_with_the_key_are_for_their_owner_alone(empty: Database, tmp_path: Path) -> None:
    """Make the database file readable by its owner alone once it holds the key of sessions."""
    path = tmp_path / "empty.sqlite"
    path.chmod(0o644)
    service_key(empty)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_node_that_only_looks_like_one_of_development_gets_no_controls(books: Database) -> None:
    """Offer no controls and call no dev_ method on a node that only says it is of development."""
    node = OfficialNode()
    with visitor(books, node) as (page, guest):
        await page._context.watch.ask()
        await guest.log_in()
        csrf = await guest.csrf()
        assert "Controls" not in (await guest.get("/")).text
        for path in ("/dev", "/blocks", "/blocks/1"):
            assert (await guest.get(path)).status_code == 404
        for action in ("deposit", "price", "receiver", "broadcast", "blocks", "finality", "time"):
            assert (await guest.post(f"/dev/{action}", {"csrf": csrf, "count": "1"})).status_code == 404
        assert not any(method.startswith("dev_") for method in node.called)
