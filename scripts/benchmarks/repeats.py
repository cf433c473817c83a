"""Processor time of a cf_ call that is repeated in one block, and of calls of the runtime that are not.

Each method that needs no parameters, and some with parameters, are asked over one connection; then the nonce
of another account each time, with the node's part and the executor's. If
CFNODE_BENCH_BEFORE names a checkout of an older version, its node is asked by turns with the present one.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Any

from scripts.benchmarks._nodes import HERE, Connection, MeasuredNode, before, development_node

CALLS = 200
"""Number of repetitions of one call in one round."""
ACCOUNTS = 600
NONCE = "AccountNonceApi_account_nonce"
ROUNDS = int(os.environ.get("CFNODE_BENCH_ROUNDS", "3"))
MAX_US = 30.0
LARGE = 16 << 10
"""Bytes of an answer from which on most of its time is the sending."""
ETH, USDC = {"chain": "Ethereum", "asset": "ETH"}, {"chain": "Ethereum", "asset": "USDC"}
ACCOUNT = "cFMXyi2nPv5jp4ibcnzBnHG5ouKjQcFP91ygZXAhGuGLdagDC"
WITH_PARAMS: tuple[tuple[str, Sequence[Any]], ...] = (
    ("cf_pool_info", [ETH, USDC]),
    ("cf_pool_price_v2", [ETH, USDC]),
    ("cf_pool_orders", [ETH, USDC]),
    ("cf_pool_depth", [ETH, USDC, {"start": -10, "end": 10}]),
    ("cf_swap_rate", [ETH, USDC, "0x1000"]),
    ("cf_swap_rate_v2", [ETH, USDC, "0x100000000000"]),
    ("cf_lp_get_order_fills", []),
    ("cf_account_info", [ACCOUNT]),
)

Row = tuple[str, str, str, bool | None]


class _Asked:
    """A node, and the processor time of its calls so far, in µs by method."""

    def __init__(self, node: MeasuredNode) -> None:
        self.node = node
        with closing(Connection(node.port)) as connection:
            connection.call("dev_newBlock", {"finalize": True})
            self.methods: list[str] = connection.call("rpc_methods")["methods"]
        self.took = dict[str, float]()
        self.sizes = dict[str, int]()

    def ask(self, method: str, params: Sequence[Any]) -> bool:
        """Repeat a call; return False if this node refuses it."""
        with closing(Connection(self.node.port)) as connection:
            request = connection.request(method, *params)
            answer = connection.exchange(request)
            if b'"result"' not in answer:
                return False
            self.sizes[method] = len(answer)
            connection.exchange(request)
            began = self.node.exact_s
            for _ in range(CALLS):
                connection.exchange(request)
            took = (self.node.exact_s - began) / CALLS * 1e6
        self.took[method] = min(took, self.took.get(method, took))
        return True


def _other_accounts(node: MeasuredNode) -> tuple[float, float]:
    """Return the processor time of a call of the runtime, of the node and of the executor, in µs."""
    with closing(Connection(node.port)) as connection:
        requests = [
            connection.request("state_call", NONCE, f"0x{number:064x}") for number in range(ACCOUNTS + 1)
        ]
        connection.exchange(requests.pop())
        own, whole = node.exact_own_s, node.exact_s
        for request in requests:
            connection.exchange(request)
        own, whole = node.exact_own_s - own, node.exact_s - whole
    return own / ACCOUNTS * 1e6, (whole - own) / ACCOUNTS * 1e6


def run() -> list[Row]:
    """Return the rows of the table."""
    older = before()
    with ExitStack() as stack:
        now = _Asked(stack.enter_context(development_node(HERE)))
        was = None if older is None else _Asked(stack.enter_context(development_node(older)))
        names = [name for name in now.methods if name.startswith("cf_") and "subscribe" not in name]
        plain = [(name, list[Any]()) for name in names]
        asked = dict([*plain, *WITH_PARAMS])
        for _ in range(ROUNDS):
            for name, params in asked.items():
                if now.ask(name, params) and was is not None:
                    was.ask(name, params)
        calls = _other_accounts(now.node)
        calls_before = None if was is None else _other_accounts(was.node)
    return [*_rows(now, was), _call_row(calls, calls_before)]


def _call_row(now: tuple[float, float], was: tuple[float, float] | None) -> Row:
    name = "a call of the development runtime, each time of another account"
    text = f"node {now[0]:.0f} µs, executor {now[1]:.0f} µs"
    if was is not None:
        text += f"; before {was[0]:.0f} and {was[1]:.0f} µs"
    return name, text, "", None


def _rows(now: _Asked, was: _Asked | None) -> list[Row]:
    small = [name for name, size in now.sizes.items() if size < LARGE]
    slowest = max(small, key=now.took.__getitem__)
    took = [now.took[name] for name in small]
    text = f"median {statistics.median(took):.0f} µs, slowest {max(took):.0f} µs ({slowest})"
    if was is not None:
        both = [name for name in small if name in was.took]
        ratio = statistics.median(was.took[name] / now.took[name] for name in both)
        older = [was.took[name] for name in both]
        text += f"; before median {statistics.median(older):.0f}, slowest {max(older):.0f} µs: {ratio:.1f} ×"
    name = f"{len(small)} cf_ calls, each repeated in one block"
    rows: list[Row] = [(name, text, f"≤ {MAX_US:.0f} µs", max(took) <= MAX_US)]
    for large, size in now.sizes.items():
        if large not in small:
            earlier = "" if was is None or large not in was.took else f"; before {was.took[large]:.0f} µs"
            rows.append((f"{large}, {size:,} bytes", f"{now.took[large]:.0f} µs{earlier}", "", None))
    return rows


if __name__ == "__main__":
    for line in run():
        print(*line, sep=" | ")
