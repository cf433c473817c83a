"""An HTTP server that answers JSON-RPC as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], bytes]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Yield an HTTP server on loopback that answers each request by `answer`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def result(value: Any) -> bytes:
    """Return a JSON-RPC answer with a result."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode()


def echo(request: dict[str, Any]) -> bytes:
    """Answer with the method and the parameters."""
    return result([request["method"], request["params"]])
