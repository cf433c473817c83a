"""Bearer tokens: the file, what is refused in it, and what a second reading of it changes."""

from __future__ import annotations

import hashlib
import logging
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.rows import Access, Method
from cfnode.store.secret_file import SecretFileError
from cfnode.web.tokens import MAX_TOKEN_FILE_BYTES, MAX_TOKENS, Group, TokenFileError, Tokens, read_tokens
from tests.rpc.clients import Http, WebSocket, served
from tests.support.rpc.connections import until_closed
from tests.support.waiting import LIMIT_S, until

ROWS = (*METHODS, Method("test_spend", lambda node: True, access=Access.BROKER))
SPEND = {"jsonrpc": "2.0", "id": 1, "method": "test_spend"}
SHOP, OPS = "shop-token-0123456789abcdef", "ops/token+0123456789.abcdef=="


def token_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    """Return a file of tokens."""
    path = folder / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return path


def bearer(secret: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"authorization": f"Bearer {secret}"}


def test_a_line_has_a_name_groups_and_a_token_or_its_hash(tmp_path: Path) -> None:
    """Read a line's name, groups and token or its hash, and accept the token alone."""
    hashed = hashlib.sha256(OPS.encode()).hexdigest()
    path = token_file(tmp_path, f"# two\n\n  shop\tbroker {SHOP}\nops broker,admin sha256:{hashed.upper()}\n")
    tokens = Tokens(path)
    entry = tokens.find(SHOP.encode())
    assert entry is not None
    assert (entry.name, entry.groups) == ("shop", {Group.BROKER})
    entry = tokens.find(OPS.encode())
    assert entry is not None
    assert (entry.name, entry.groups) == ("ops", {Group.BROKER, Group.ADMIN})
    assert tokens.find(hashed.encode()) is None, "the hash itself is no token"
    assert tokens.find(b"x" * 10_000) is None
    assert tokens.guarded == {Group.BROKER, Group.LP, Group.ADMIN}


def test_a_token_is_in_no_repr(tmp_path: Path) -> None:
    """Keep a token and its hash out of repr."""
    (token,) = read_tokens(token_file(tmp_path, f"shop broker {SHOP}"))
    digest = hashlib.sha256(SHOP.encode())
    for secret in (SHOP, digest.hexdigest(), repr(digest.digest())):
        assert secret not in repr(token)


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o644])
def test_a_file_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None:
    """Refuse a file that other users may open, and say what helps."""
    path = token_file(tmp_path, f"shop broker {SHOP}", mode)
    with pytest.raises(SecretFileError, match=f"open to other users .*mode 0{mode:o}.*chmod 600"):
        Tokens(path)


def test_a_link_to_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    """Read a file through a link."""
    (tmp_path / "link").symlink_to(token_file(tmp_path, f"shop read {SHOP}"))
    assert Tokens(tmp_path / "link").guarded == set(Group)


LINE = "expected a line NAME GROUP"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"shop broker {SHOP}\nshop {SHOP}", f"line 2: {LINE}"),
        (
            f"shop broker,LP {SHOP}",
            "line 1: unknown group of methods; choose from read, broker, lp, admin",
        ),
        (f"shop  broker, admin {SHOP}", f"line 1: {LINE}"),
        ("shop broker secret", "line 1: a token has 20 to 512 letters"),
        (f"shop broker {SHOP}ö", "line 1: a token has 20 to 512 letters"),
        (f"sh:op broker {SHOP}", "line 1: expected a name of 1 to 64"),
        ("shop broker sha256:12", "line 1: a token has"),
        ("# nothing\n", "expected 1 to 256 tokens, not 0"),
        (
            "".join(f"t{n} read {SHOP}{n}\n" for n in range(MAX_TOKENS + 1)),
            "expected 1 to 256 tokens, not 257",
        ),
        (f"one read {SHOP}\ntwo admin {SHOP}", "two lines have the same token"),
        (f"one read sha256:{hashlib.sha256(SHOP.encode()).hexdigest()}\ntwo admin {SHOP}", "two lines have"),
    ],
)
def test_a_malformed_file_is_refused_by_line_without_the_token(tmp_path: Path, text: str, words: str) -> None:
    """Name the malformed line without repeating its token."""
    path = token_file(tmp_path, text)
    with pytest.raises(TokenFileError) as refused:
        Tokens(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert SHOP not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_file_that_is_too_large_or_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    """Refuse a file that is too large, missing, a directory or not text."""
    with pytest.raises(SecretFileError, match="larger than 65536 bytes"):
        Tokens(token_file(tmp_path, "#" * (MAX_TOKEN_FILE_BYTES + 1)))
    with pytest.raises(SecretFileError, match="No such file"):
        Tokens(tmp_path / "missing")
    with pytest.raises(SecretFileError, match="Is a directory"):
        Tokens(tmp_path)
    path = token_file(tmp_path, "")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(TokenFileError, match="not text"):
        Tokens(path)


async def hang_up(log: pytest.LogCaptureFixture) -> None:
    """Send SIGHUP, and wait for its log line."""
    log.set_level(logging.INFO)
    log.clear()
    os.kill(os.getpid(), signal.SIGHUP)
    await until(lambda: "SIGHUP" in log.text)


async def may_spend(port: int, **headers: str) -> bool | int:
    """Return whether a broker method answers, or the status of a refused request."""
    async with Http(port) as http:
        answer = await http.post(SPEND, **headers)
        return "result" in answer.json() if answer.status == 200 else answer.status


async def test_sighup_reads_the_file_again_and_closes_revoked_websockets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Read the file again on SIGHUP, and close the WebSockets of revoked tokens alone."""
    path = token_file(tmp_path, f"shop broker {SHOP}\nops admin,broker {OPS}")
    async with (
        served(ROWS, auth_token_file=path) as port,
        WebSocket(port, **bearer(SHOP)) as shop,
        WebSocket(port, **bearer(OPS)) as ops,
        WebSocket(port) as stranger,
    ):
        assert [await may_spend(port, **bearer(SHOP)), await may_spend(port)] == [True, False]
        assert "result" in await shop.call("test_spend")
        token_file(tmp_path, f"ops admin,broker {OPS}")
        await hang_up(caplog)
        assert [await may_spend(port, **bearer(SHOP)), await may_spend(port, **bearer(OPS))] == [401, True]
        with trio.fail_after(LIMIT_S):
            await until_closed(shop.stream)
        assert "result" in await ops.call("test_spend")
        assert "result" in await stranger.call("system_health")
    assert SHOP not in caplog.text
    assert OPS not in caplog.text


@pytest.mark.parametrize(("text", "mode"), [("shop", 0o600), ("shop broker another-token-0123456789", 0o644)])
async def test_a_file_that_cannot_be_used_keeps_the_tokens_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, mode: int
) -> None:
    """Keep the earlier tokens where the new file cannot be used, and log it as an error."""
    path = token_file(tmp_path, f"shop broker {SHOP}")
    async with served(ROWS, auth_token_file=path) as port, WebSocket(port, **bearer(SHOP)) as ws:
        token_file(tmp_path, text, mode)
        await hang_up(caplog)
        (record,) = [record for record in caplog.records if "SIGHUP" in record.getMessage()]
        assert record.levelno == logging.ERROR
        assert "The 1 tokens read before stay valid" in record.getMessage()
        assert await may_spend(port, **bearer(SHOP)) is True
        assert "result" in await ws.call("test_spend")
        token_file(tmp_path, f"shop broker {OPS}")
        await hang_up(caplog)
        assert await may_spend(port, **bearer(SHOP)) == 401


async def test_a_refused_request_names_the_scheme_and_a_closed_method_the_group(tmp_path: Path) -> None:
    """Name the scheme to a refused request, and the group to a closed method."""
    path = token_file(tmp_path, f"shop broker {SHOP}")
    async with served(ROWS, auth_token_file=path) as port, Http(port) as http:
        missing: Any = (await http.post(SPEND)).json()["error"]
        assert missing["data"] == "a token of the group broker is required (Authorization: Bearer TOKEN)"
        wrong = await http.post(SPEND, origin="http://localhost:5173", **bearer(SHOP[:-1]))
        assert (wrong.status, wrong.body) == (401, b"The bearer token is unknown.\n")
        assert wrong.headers["www-authenticate"] == 'Bearer error="invalid_token"'
        assert wrong.headers["access-control-allow-origin"] == "http://localhost:5173"
    token_file(tmp_path, f"watch read {SHOP}")
    async with served(ROWS, auth_token_file=path) as port, Http(port) as http, WebSocket(port) as ws:
        unknown = await http.post(SPEND)
        assert (unknown.status, unknown.headers["www-authenticate"]) == (401, "Bearer")
        assert ws.status == 401
        assert "\r\nwww-authenticate: Bearer" in ws.handshake


async def test_two_tokens_in_one_request_are_no_token(tmp_path: Path) -> None:
    """Refuse a request with two tokens."""
    path = token_file(tmp_path, f"shop broker {SHOP}")
    async with served(ROWS, auth_token_file=path) as port:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        line = f"authorization: Bearer {SHOP}\r\n"
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{line}{line}content-length: 0\r\n\r\n"
        await stream.send_all(head.encode())
        assert (await stream.receive_some(65536)).startswith(b"HTTP/1.1 401 ")


async def test_a_preflight_allows_the_header_of_a_token(tmp_path: Path) -> None:
    """Allow the header of a token in a preflight."""
    path = token_file(tmp_path, f"watch read {SHOP}")
    for cors, allowed in (
        (None, "content-type, x-chainflip-sdk-version, authorization"),
        (("all",), "*, authorization"),
    ):
        async with served(ROWS, auth_token_file=path, cors=cors) as port, Http(port) as http:
            answer = await http.request("OPTIONS", "/", origin="http://localhost:5173")
            assert (answer.status, answer.headers["access-control-allow-headers"]) == (200, allowed)


async def test_commands_send_the_token_of_the_environment(tmp_path: Path) -> None:
    """Send the token of the environment by commands, and name a wrong one without printing it."""
    path = token_file(tmp_path, f"watch read {SHOP}")
    async with served(ROWS, auth_token_file=path) as port:

        async def rpc(token: str) -> tuple[int, str]:
            """Return the exit code and the output of `cfnode rpc`."""
            command = ["rpc", "system_name", "--node", f"http://127.0.0.1:{port}"]
            invoke = partial(CliRunner().invoke, cli, command, env={"CFNODE_TOKEN": token})
            done = await trio.to_thread.run_sync(invoke)
            return done.exit_code, done.output

        assert await rpc(f"{SHOP}\n") == (0, '"Chainflip Node"\n')
        for token in ("", OPS):
            code, text = await rpc(token)
            assert (code, "requires a known bearer token: give it by --token-file" in text) == (
                5,
                True,
            )
        code, text = await rpc("secret\ntoken")
        assert (code, "CFNODE_TOKEN contains no bearer token" in text, "secret" in text) == (2, True, False)
