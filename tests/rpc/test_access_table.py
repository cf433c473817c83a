"""The table of docs/design/access.md, each row played against a running server, over HTTP and WebSocket."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from cfnode.cli.run import rpc_config, run
from cfnode.node.config import RpcConfig
from cfnode.rpc.server import serve_table
from cfnode.rpc.table.rows import Access, Method, Table
from cfnode.web.pages import PageAnswer
from tests.rpc.clients import Http, StandIn, WebSocket

PAGE = Path(__file__).parents[2] / "docs" / "design" / "access.md"
READ, BROKER, LP, ADMIN = "system_name", "broker_test", "lp_test", "system_unsafe"
TABLE = Table(
    [
        Method(READ, lambda node: True),
        Method(BROKER, lambda node: True, access=Access.BROKER),
        Method(LP, lambda node: True, access=Access.LP),
        Method(ADMIN, lambda node: True, access=Access.UNSAFE),
    ]
)
COLUMNS = ("flags", "from", "headers", "HTTP", "read", "broker", "lp", "admin", "health")


@dataclass(frozen=True)
class Row:
    """One row of the page: what is sent, and what comes of it."""

    flags: str
    address: str
    headers: tuple[tuple[str, str], ...]
    status: int
    answers: tuple[bool, ...]
    health: int


def rows() -> list[Row]:
    """Return every row of the page's first table."""
    table = PAGE.read_text().partition("## The table")[2]
    head, _, *lines = [cells(line) for line in table.splitlines() if line.startswith("|")]
    assert tuple(head) == COLUMNS
    return [row(line) for line in lines if len(line) == len(COLUMNS)]


def cells(line: str) -> list[str]:
    """Return the cells of a table's line."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def row(line: list[str]) -> Row:
    """Read a row from its cells."""
    flags, address, sent, status, *answers, health = line
    headers = [text.partition(": ") for text in re.findall("`([^`]+)`", sent)]
    return Row(
        flags.strip("`"),
        address,
        tuple((name, value) for name, _, value in headers),
        int(status),
        tuple(answer == "yes" for answer in answers),
        int(health),
    )


def token(name: str) -> str:
    """Return the token of a line; the server has only its hash."""
    return hashlib.sha256(f"the token of {name}".encode()).hexdigest()


def filled_in(value: str, port: int) -> str:
    """Return a header's value with the server's port and with tokens."""
    return re.sub("<(.*?)>", lambda match: token(match[1]), value.replace("<port>", str(port)))


def token_files(folder: Path) -> None:
    """Write the files of the page's second table; every other token as its hash."""
    table = PAGE.read_text().partition("| file |")[2]
    for line in table.splitlines()[2:]:
        if not line.startswith("|"):
            break
        name, entries = cells(line)
        secrets = [f"{entry} {token(entry.split()[0])}" for entry in re.findall("`([^`]+)`", entries)]
        hashed = hashlib.sha256(secrets[0].split()[2].encode()).hexdigest()
        secrets[0] = " ".join([*secrets[0].split()[:2], f"sha256:{hashed}"])
        path = folder / name
        path.touch(mode=0o600)
        path.write_text("# the tokens of a test\n\n" + "\n".join(secrets) + "\n")


class Quotes:
    """A page of a service."""

    max_body = 100

    def serves(self, method: str, path: str) -> bool:
        """Return one page."""
        return (method, path) == ("GET", "/quote")

    async def answer(self, path: str, query: bytes, body: bytes, sdk_version: str) -> PageAnswer:
        """Return the content of the page."""
        await trio.lowlevel.checkpoint()
        return PageAnswer(200, b"{}")


@asynccontextmanager
async def served_with(config: RpcConfig) -> AsyncIterator[int]:
    """Yield a server with these settings and its port."""
    serve = partial(serve_table, pages=Quotes())
    async with trio.open_nursery() as nursery:
        names = await nursery.start(serve, StandIn(), TABLE, replace(config, port=0))
        yield int(names[0].rpartition(":")[2])
        nursery.cancel_scope.cancel()


async def connected(address: str, port: int) -> trio.SocketStream:
    """Return a connection from that address of this machine."""
    sock = trio.socket.socket()
    await sock.bind((address, 0))
    await sock.connect(("127.0.0.1", port))
    return trio.SocketStream(sock)


class FromAddress(WebSocket):
    """A WebSocket from another address of this machine."""

    async def __aenter__(self) -> WebSocket:
        """Connect from the address and shake hands."""
        self.stream = await connected(self._address, self.port)
        return await self.shake_hands()

    def __init__(self, address: str, port: int, **headers: str) -> None:
        super().__init__(port, **headers)
        self._address = address


@asynccontextmanager
async def http_from(address: str, port: int) -> AsyncIterator[Http]:
    """Yield an HTTP connection from that address."""
    http = Http(port)
    http.stream = await connected(address, port)
    async with http.stream:
        yield http


def is_open(answer: Any) -> bool:
    """Return whether the method answered; a closed one has the official text."""
    if "result" in answer:
        return True
    assert answer["error"]["message"] == "RPC call is unsafe to be called externally"
    return False


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.flags} {row.address} {row.headers}")
async def test_each_row_of_the_table_holds_over_http_and_websocket(row: Row, tmp_path: Path) -> None:
    """Answer each group of methods as the row of the design page says, over HTTP and WebSocket."""
    token_files(tmp_path)
    flags = [str(tmp_path / flag) if (tmp_path / flag).is_file() else flag for flag in shlex.split(row.flags)]
    context = run.make_context("run", flags)
    methods = (READ, BROKER, LP, ADMIN)
    async with served_with(rpc_config(context.params)) as port:
        headers = {name.lower().replace("-", "_"): filled_in(value, port) for name, value in row.headers}
        async with http_from(row.address, port) as http:
            health = await http.request("GET", "/health", **headers)
        assert health.status == row.health
        async with http_from(row.address, port) as http:
            page = await http.request("GET", "/quote", **headers)
        assert page.status == row.status
        for method, is_answered in zip(methods, row.answers, strict=True):
            async with http_from(row.address, port) as http:
                answer = await http.post({"jsonrpc": "2.0", "id": 1, "method": method}, **headers)
            assert answer.status == row.status
            assert (row.status == 200 and is_open(answer.json())) is is_answered, method
        async with FromAddress(row.address, port, **headers) as ws:
            assert ws.status == (101 if row.status == 200 else row.status)
            for method, is_answered in zip(methods, row.answers, strict=True):
                assert (ws.status == 101 and is_open(await ws.call(method))) is is_answered, method


def test_the_table_has_every_flag_and_every_outcome() -> None:
    """Have every flag and every outcome in the table."""
    flags = {flag for row in rows() for flag in shlex.split(row.flags) if flag.startswith("--")}
    assert {
        "--rpc-external",
        "--rpc-methods",
        "--rpc-cors",
        "--rpc-allowed-hosts",
        "--rpc-broker-clients",
        "--rpc-trusted-proxies",
        "--rpc-rate-limit-trust-proxy-headers",
        "--rpc-auth-token-file",
    } == flags
    assert {row.status for row in rows()} == {200, 401, 403}
    for group in range(4):
        assert {row.answers[group] for row in rows() if row.status == 200} >= (
            {True, False} if group else {True}
        )
