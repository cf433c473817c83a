"""Receivers of webhooks on a loopback port, each with a way of its own to answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Received", "Receiver", "receiving"]


@dataclass(frozen=True, slots=True)
class Received:
    """A request: its headers in lower case, and its body."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The id of the delivery."""
        return self.headers["webhook-id"]

    @property
    def change(self) -> dict[str, Any]:
        """The body as JSON."""
        document: dict[str, Any] = json.loads(self.body)
        return document


@dataclass(slots=True)
class Receiver:
    """Received requests; `answer` writes an answer and returns whether the request counts as received."""

    url: str
    answer: Callable[[BaseHTTPRequestHandler], bool]
    received: list[Received] = field(default_factory=list)
    attempts: list[str] = field(default_factory=list)

    def states(self) -> dict[int, list[str]]:
        """Return the states of each swap in the order of their first arrival."""
        states: dict[int, list[str]] = {}
        seen_ids = set()
        for delivery in self.received:
            if delivery.id not in seen_ids and delivery.change["type"] == "swap.state":
                seen_ids.add(delivery.id)
                states.setdefault(delivery.change["request"], []).append(delivery.change["state"])
        return states


def accept(handler: BaseHTTPRequestHandler) -> bool:
    """Return the status 204."""
    handler.send_response(204)
    handler.end_headers()
    return True


@contextmanager
def receiving(answer: Callable[[BaseHTTPRequestHandler], bool] = accept) -> Iterator[Receiver]:
    """Yield a receiver that runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            length = int(headers["content-length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the sender has given the attempt up
                return
            receiver.attempts.append(headers["webhook-id"])
            if receiver.answer(self):
                receiver.received.append(Received(headers, body))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver = Receiver(f"http://127.0.0.1:{server.server_address[1]}/hook", answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
