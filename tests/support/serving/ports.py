"""Each listening port of cfnode, served in the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from cfnode.dashboard import Dashboard
from cfnode.ledger.database import Database, sqlite_url
from cfnode.node.metrics.port import serve_metrics
from cfnode.rpc.substrate.system import METHODS
from cfnode.swap_service.live_network.server import ListenAddress, serve
from cfnode.swap_service.live_network.source import LiveSource
from tests.dashboard.visiting import OfficialNode, tokens
from tests.rpc.clients import served
from tests.support.devchain.local_evm import local_evm, require_py_evm

__all__ = ["PORTS", "Served", "serving"]

JSON = "application/json"
GONE = "http://127.0.0.1:9"
"""A node that does not run."""


@dataclass(frozen=True, slots=True)
class Served:
    """A port that is served, and a path that answers a GET with 200.

    `posted`: a path and the content type of a body that it reads of any client; None without one.
    """

    port: int
    path: str
    posted: tuple[str, str] | None = None

    def head(self, *lines: str, method: str = "GET", path: str | None = None) -> bytes:
        """Return the head of a request."""
        first = f"{method} {self.path if path is None else path} HTTP/1.1"
        return "\r\n".join([first, f"host: 127.0.0.1:{self.port}", *lines, "", ""]).encode()


@asynccontextmanager
async def _json_rpc(folder: Path) -> AsyncIterator[Served]:
    async with served(METHODS) as port:
        yield Served(port, "/health", ("/", JSON))


def _service(
    path: str, posted: tuple[str, str] | None = None
) -> Callable[[Path], AbstractAsyncContextManager[Served]]:
    @asynccontextmanager
    async def kind(folder: Path) -> AsyncIterator[Served]:
        database = Database(sqlite_url(folder / "books.sqlite"))
        database.migrate()
        source = LiveSource(database, (GONE, None))
        page = Dashboard(database, OfficialNode(), tokens)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(page.run)
            port = await nursery.start(serve, source, ListenAddress("127.0.0.1", 0), page)
            yield Served(port, path, posted)
            nursery.cancel_scope.cancel()
        database.close()

    return kind


@asynccontextmanager
async def _metrics(folder: Path) -> AsyncIterator[Served]:
    async def render() -> bytes:
        return b"up 1\n" * 1_000

    async with trio.open_nursery() as nursery:
        yield Served(await nursery.start(serve_metrics, render, "127.0.0.1", 0), "/metrics")
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _evm_chain(folder: Path) -> AsyncIterator[Served]:
    require_py_evm()
    from cfnode.devchain.evm.server import EvmPort

    async with trio.open_nursery() as nursery:
        yield Served(await nursery.start(EvmPort(local_evm().chain).run, 0), "/", ("/", JSON))
        nursery.cancel_scope.cancel()


PORTS: dict[str, Callable[[Path], AbstractAsyncContextManager[Served]]] = {
    "JSON-RPC": _json_rpc,
    "swap service": _service("/healthcheck", ("/", JSON)),
    "partners' API": _service("/v1/openapi.json"),
    "page": _service("/web/login", ("/web/login", "application/x-www-form-urlencoded")),
    "metrics": _metrics,
    "local EVM chain": _evm_chain,
}


def serving(name: str, folder: Path) -> AbstractAsyncContextManager[Served]:
    """Return the port of that name; `folder`: an empty one for its files."""
    return PORTS[name](folder)
