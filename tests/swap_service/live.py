"""A swap service over a node and the books, for tests: it runs in a thread of the test's process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import trio

from cfnode.ledger.database import Database
from cfnode.swap_service.live_network.server import ListenAddress, serve
from cfnode.swap_service.live_network.source import LiveSource
from cfnode.web.tokens import Tokens

__all__ = ["HTTP", "Service", "running_service"]


HTTP = httpx.Client(timeout=60)
"""One client: making one reads all certificates of the system."""


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    url: str

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Return the answer to a GET."""
        return HTTP.get(self.url + path, params=query)

    def post(self, path: str, document: Any, **headers: str) -> httpx.Response:
        """Return the answer to a POST."""
        return HTTP.post(self.url + path, json=document, headers=headers)


@contextmanager
def running_service(
    database: Database, node: str, broker: str | None = None, token_file: Path | None = None
) -> Iterator[Service]:
    """Yield a service on a free port."""
    is_started, handles = threading.Event(), dict[str, Any]()

    async def run() -> None:
        source = LiveSource(database, (node, None), None if broker is None else (broker, None))
        async with trio.open_nursery() as nursery:
            tokens = None if token_file is None else Tokens(token_file)
            where = ListenAddress("127.0.0.1", 0, tokens=tokens)
            handles["port"] = await nursery.start(serve, source, where)
            handles["token"], handles["stop"] = trio.lowlevel.current_trio_token(), nursery.cancel_scope
            is_started.set()

    def main() -> None:
        try:
            trio.run(run)
        except BaseException as error:
            handles["error"] = error
            is_started.set()

    thread = threading.Thread(target=main)
    thread.start()
    is_started.wait()
    if "error" in handles:
        raise handles["error"]
    try:
        yield Service(f"http://127.0.0.1:{handles['port']}")
    finally:
        trio.from_thread.run_sync(handles["stop"].cancel, trio_token=handles["token"])
        thread.join()
