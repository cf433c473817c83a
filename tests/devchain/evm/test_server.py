"""The port of the local EVM chain: calls by POST, and the bounds of everything else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import trio

from tests.support.devchain.local_evm import CHAIN_ID, local_evm, require_py_evm

CALL = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
JSON = {"content-type": "application/json"}


@asynccontextmanager
async def serving() -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a port."""
    require_py_evm()
    from cfnode.devchain.evm.server import EvmPort

    async with trio.open_nursery() as nursery:
        port = await nursery.start(EvmPort(local_evm().chain).run, 0)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield client
        nursery.cancel_scope.cancel()


async def test_calls_and_batches_are_answered() -> None:
    """Answer calls and batches, one error per faulty call of a batch, and no body for a notification."""
    async with serving() as client:
        answer = (await client.post("/", json=CALL)).json()
        assert answer == {"jsonrpc": "2.0", "id": 1, "result": hex(CHAIN_ID)}
        batch = [
            CALL,
            CALL | {"id": "b", "method": "eth_sign"},
            7,
            {"jsonrpc": "2.0", "method": "eth_chainId"},
        ]
        first, second, third = (await client.post("/", json=batch)).json()
        assert first == answer
        assert (second["id"], second["error"]["code"]) == ("b", -32601)
        assert third["error"]["code"] == -32600
        assert (await client.post("/", json={"jsonrpc": "2.0", "method": "eth_chainId"})).content == b""


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"[" * 10_000 + b"]" * 10_000, "is nested more than 16 levels deep"),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":' + b"[" * 10_000, "is not JSON"),
        (json.dumps([CALL] * 51).encode(), "batch request was too large"),
        (b"[" + b"0," * 20_000 + b"0]", "has more than 16384 JSON values"),
        (b"{", "Parse error"),
    ],
    ids=["nested", "unpaired", "batch", "values", "cut"],
)
async def test_a_heavy_request_is_refused(body: bytes, text: str) -> None:
    """Refuse a request that would cost too much to parse, and answer the next one."""
    async with serving() as client:
        answer = await client.post("/", content=body, headers=JSON)
        assert text in answer.json()["error"]["message"]
        assert (await client.post("/", json=CALL)).json()["result"] == hex(CHAIN_ID)


async def test_other_requests_are_refused() -> None:
    """Refuse other HTTP methods, content types, host names, foreign origins and bodies that are too large."""

    async def status(client: httpx.AsyncClient, method: str = "POST", **fields: Any) -> int:
        return (await client.request(method, "/", **fields)).status_code

    async with serving() as client:
        body = json.dumps(CALL).encode()
        assert (await client.get("/")).text.startswith("JSON-RPC of a local EVM chain: POST a call")
        assert await status(client, "PUT", content=body, headers=JSON) == 405
        assert await status(client, content=body, headers={"content-type": "text/plain"}) == 415
        assert await status(client, content=body, headers=JSON | {"host": "evil.example"}) == 403
        assert await status(client, content=body, headers=JSON | {"origin": "https://evil.example"}) == 403
        assert await status(client, content=b" " * 600_000, headers=JSON) == 413
        page = await client.options("/", headers={"origin": "http://localhost:3000"})
        assert page.headers["access-control-allow-origin"] == "http://localhost:3000"
