"""The attacker's web server: a page, a redirect, and a target without checks that records what arrives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import unquote

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

PAGE = b"<!doctype html><title>page</title>"


@dataclass(frozen=True)
class Arrived:
    """One request that reached the target without checks."""

    method: str
    query: str
    headers: dict[str, str]
    body: str


@dataclass
class Attacker:
    """The server's port, and what arrived at `/target`."""

    port: int
    arrived: list[Arrived] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    attacker: ClassVar[Attacker]

    def do_GET(self) -> None:
        """Serve the page; as `/sandboxed` in an origin of its own."""
        if self.path.startswith("/target"):
            self.do_POST()
            return
        sandbox = self.path == "/sandboxed"
        policy = {"content-security-policy": "sandbox allow-scripts allow-forms"} if sandbox else {}
        self._answer(200, PAGE, {"content-type": "text/html", **policy})

    def do_POST(self) -> None:
        """Serve a redirect that keeps method and body, or the target."""
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if path == "/redirect":
            self._answer(307, b"", {"location": unquote(query)})
            return
        if self.headers.get("upgrade", "").lower() == "websocket":
            self._serve_websocket()
            return
        self._note(query, body.decode())
        self._answer(200, b"[]", {})

    def do_OPTIONS(self) -> None:
        """Welcome whatever a page wants to send."""
        self._answer(200, b"", {})

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def _note(self, query: str, body: str) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.attacker.arrived.append(Arrived(self.command, unquote(query), headers, body))

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        origin = self.headers.get("origin", "*")
        cors = {
            "access-control-allow-origin": origin,
            "access-control-allow-credentials": "true",
            "access-control-allow-headers": "content-type, authorization",
            "content-length": str(len(body)),
        }
        self.send_response(status)
        for name, value in (cors | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _serve_websocket(self) -> None:
        """Serve a WebSocket that is closed after its first message."""
        self.close_connection = True
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        wire = WSConnection(ConnectionType.SERVER)
        wire.receive_data(f"{self.requestline}\r\n{head}\r\n".encode())
        while True:
            for event in wire.events():
                if isinstance(event, Request):
                    chosen = event.subprotocols[0] if event.subprotocols else None
                    self.connection.sendall(wire.send(AcceptConnection(subprotocol=chosen)))
                elif isinstance(event, TextMessage):
                    self._note("", event.data)
                    self.connection.sendall(wire.send(TextMessage("[]")) + wire.send(CloseConnection(1000)))
                    return
            wire.receive_data(self.connection.recv(65536))


@contextmanager
def running_attacker() -> Iterator[Attacker]:
    """Yield the server, on a port of this machine."""
    handler = type("OwnHandler", (Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        handler.attacker = attacker = Attacker(server.server_port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield attacker
        finally:
            server.shutdown()
