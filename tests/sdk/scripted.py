"""Calls driven without a network: a script answers each exchange, and remembers what was asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import HttpAnswer, SdkHttpCall, Steps
from cfnode.sdk.options import ClientSession, Options
from tests.conftest import shared

T = TypeVar("T")
NOW_MS = 1_740_415_452_000
NODE = "http://node.test"

Answers = Callable[[str, list[Any]], Any]
"""The result for a method and its parameters."""


def session(**options: Any) -> ClientSession:
    """Return a session whose clock stands still and whose randomness is known."""
    chosen = Options().replaced(
        {"network": "perseverance", "rpc_url": NODE, "broker": {"url": NODE}, **options}
    )
    return ClientSession(
        chosen, now_ms=lambda: NOW_MS, monotonic=lambda: 0.0, random_bytes=lambda n: bytes(range(n))
    )


@cache
def _environment() -> str:
    return shared("rpc-examples", "cf_environment.json").read_text()


def environment_answer() -> dict[str, Any]:
    """Return a `cf_environment` without minima, so that any amount passes."""
    document: dict[str, Any] = json.loads(_environment())
    minima = document["ingress_egress"]["minimum_deposit_amounts"]
    for chain in minima.values():
        chain.update(dict.fromkeys(chain, 0))
    maxima = document["swapping"]["maximum_swap_amounts"]
    for chain in maxima.values():
        chain.update(dict.fromkeys(chain, None))
    return document


class Script:
    """Answers JSON-RPC by `results`, `cf_environment` with one without minima, any other path by `pages`."""

    def __init__(self, results: dict[str, Any] | None = None, pages: dict[str, Any] | None = None) -> None:
        self.results = results or {}
        self.pages = pages or {}
        self.calls: list[SdkHttpCall] = []
        self.requests: list[dict[str, Any]] = []

    def run(self, call: Call[T], on: ClientSession) -> T:
        """Return the result of a call."""
        return self.follow(call.steps(on))

    def follow(self, steps: Steps[T]) -> T:
        """Return the result of steps."""
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(self.answer(wanted))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def answer(self, call: SdkHttpCall) -> HttpAnswer:
        """Answer a call from the script."""
        self.calls.append(call)
        path = "/" + call.url.split("/", 3)[3] if call.url.count("/") > 2 else "/"
        if path in self.pages:
            status, body = self.pages[path]
            return HttpAnswer(status, body if isinstance(body, bytes) else json.dumps(body).encode())
        assert call.body is not None, call
        requests = json.loads(call.body)
        if isinstance(requests, dict):
            self.requests.append(requests)
            return HttpAnswer(200, json.dumps(self._reply(requests)).encode())
        self.requests.extend(requests)
        return HttpAnswer(200, json.dumps([self._reply(request) for request in requests]).encode())

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        base, method = {"jsonrpc": "2.0", "id": request["id"]}, request["method"]
        if method in self.results:
            return base | {"result": self.results[method]}
        if method == "cf_environment":
            return base | {"result": environment_answer()}
        return base | {"error": {"code": -32601, "message": "Method not found"}}
