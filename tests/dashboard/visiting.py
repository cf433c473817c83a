"""A visitor of the page, without a browser, and a node that is not a development node."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from cfnode.dashboard import Dashboard
from cfnode.dashboard.sessions import TokenSource
from cfnode.ledger.database import Database
from cfnode.ledger.errors import CallError, NodeError
from cfnode.serving.memory_budget import MemoryBudget, MemoryBudgets
from cfnode.serving.responses import Receive, Scope, Send
from cfnode.web.tokens import Group, Token

__all__ = ["BASE", "TOKEN", "HttpNode", "OfficialNode", "Visitor", "tokens", "visitor"]

BASE = "http://127.0.0.1:8080"
TOKEN = "page-" + "p" * 40
_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


def token(name: str, text: str, *groups: Group) -> Token:
    """Return a line of a token file."""
    return Token(name, frozenset(groups), hashlib.sha256(text.encode()).digest())


def tokens() -> Iterator[Token]:
    """Yield one token that opens the page, and some that do not."""
    yield token("shop", "shop-" + "s" * 40, Group.BROKER)
    yield token("operator", TOKEN, Group.ADMIN)
    yield token("reader", "read-" + "r" * 40, Group.READ)


class OfficialNode:
    """Answers of an official node of a live network to the page."""

    origin = "https://node.example"
    answers: dict[str, Any] = {
        "system_health": {"peers": 3, "isSyncing": False, "shouldHavePeers": True},
        "state_getRuntimeVersion": {"specVersion": 20_012},
        "system_version": "2.2.3",
        "system_chain": "Chainflip-Berghain",
        "system_chainType": "Live",
        "chain_getHeader": {"number": "0x10"},
        "chain_getFinalizedHead": "0x00",
        "rpc_methods": {"methods": ["dev_newBlock"]},
    }

    def __init__(self, **answers: Any) -> None:
        self.answers = self.answers | answers
        self.called: list[str] = []

    async def call(self, method: str, *params: Any) -> Any:
        """Return the canned answer."""
        self.called.append(method)
        if method not in self.answers:
            raise CallError(method, -32601, "Method not found")
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer


class HttpNode:
    """A running node by its HTTP address."""

    def __init__(self, url: str) -> None:
        self.origin = url

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with httpx.AsyncClient(timeout=60) as client:
            answer = (await client.post(self.origin, json=message)).json()
        if "error" in answer:
            raise CallError(method, answer["error"]["code"], answer["error"]["message"])
        return answer["result"]


class Visitor:
    """A client that keeps cookies and sends what a browser would."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, **headers: str) -> httpx.Response:
        """Return a page."""
        return await self.client.get(f"/web{path}", headers=headers)

    async def post(self, path: str, fields: dict[str, str], **headers: str) -> httpx.Response:
        """Return a form, posted by this page unless the headers say otherwise."""
        own = {"origin": BASE, "sec-fetch-site": "same-origin"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return await self.client.post(f"/web{path}", data=fields, headers=own)

    async def log_in(self, presented: str = TOKEN) -> httpx.Response:
        """Give a token."""
        return await self.post("/login", {"token": presented})

    async def csrf(self) -> str:
        """Return the number that forms need."""
        return await self.csrf_of("/")

    async def csrf_of(self, path: str) -> str:
        """Return the number that forms need, from the page at a path."""
        match = _CSRF.search((await self.get(path)).text)
        assert match is not None
        return match[1]


@dataclass(frozen=True, slots=True)
class Connection:
    """What the page needs of the connection of a request."""

    budget: MemoryBudget


@contextmanager
def visitor(
    database: Database,
    node: Any = None,
    source: TokenSource = tokens,
    announce: Callable[[str], None] | None = None,
) -> Iterator[tuple[Dashboard, Visitor]]:
    """Yield a page and a visitor who has not logged in."""
    page = Dashboard(database, OfficialNode() if node is None else node, source, announce)
    connection = Connection(MemoryBudgets().begin(lambda: None))

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await page({**scope, "state": {"connection": connection}}, receive, send)

    transport = httpx.ASGITransport(app=served, raise_app_exceptions=False)  # type: ignore[arg-type]
    yield page, Visitor(httpx.AsyncClient(transport=transport, base_url=BASE))


GONE = NodeError("no connection to https://node.example yet")
