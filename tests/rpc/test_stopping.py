"""A node is stopped while clients wait for answers: each one gets an error, which names what was sent."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import trio

from cfnode.store.keystore import Keystore
from tests.process import NodeProcess, running_node
from tests.rpc.clients import Http, WebSocket
from tests.support.rpc.many import requests
from tests.support.waiting import LIMIT_S

SENT = re.compile(
    r"Unexpected end of stream: transaction (0x[0-9a-f]{64}) was sent, and may still be executed"
)


async def until_pending(http: Http, count: int) -> None:
    """Wait until so many transactions are in the pool."""
    with trio.fail_after(LIMIT_S):
        while len((await http.call("author_pendingExtrinsics"))["result"]) < count:
            pass


async def registered(http: Http, port: int) -> None:
    """Make the node's broker one."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(over_http, port, {"method": "broker_register_account"}, [])
        await until_pending(http, 1)
        await http.call("dev_newBlock")


async def over_http(port: int, message: Any, answers: list[Any]) -> None:
    """Make one request on a connection of its own."""
    if isinstance(message, dict):
        message = {"jsonrpc": "2.0", "id": 1} | message
    async with Http(port) as http:
        answers.append((await http.post(message)).json())


async def over_websocket(port: int, messages: list[Any], answers: list[Any], codes: list[int]) -> None:
    """Send messages on a connection of their own; read answers until the code of the close."""
    async with WebSocket(port) as ws:
        for message in messages:
            await ws.send(json.dumps(message).encode())
        while (frame := await ws.frame())[0] != 8:
            answers.append(json.loads(frame[1]))
        codes.append(int.from_bytes(frame[1][:2], "big"))


async def ask_and_stop(node: NodeProcess) -> tuple[list[Any], list[Any], list[int]]:
    """Return the answers over HTTP and WebSocket, and how the connections were closed."""
    port = int(node.url.rpartition(":")[2])
    http_answers, ws_answers, codes = list[Any](), list[Any](), list[int]()
    async with Http(port) as http:
        await http.call("dev_newBlock")
        await registered(http, port)
        ten = requests(0)[:10]
        heads = {"jsonrpc": "2.0", "id": 99, "method": "chain_subscribeNewHeads"}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(over_http, port, ten[0], http_answers)
            nursery.start_soon(over_http, port, ten[1:4], http_answers)
            nursery.start_soon(over_websocket, port, [ten[4], ten[5:9]], ws_answers, codes)
            nursery.start_soon(over_websocket, port, [heads], [], codes)
            await until_pending(http, 9)
            assert await trio.to_thread.run_sync(node.stop) == 0
    return http_answers, ws_answers, codes


def test_a_stopping_node_answers_every_request_and_names_the_sent_transactions(tmp_path: Path) -> None:
    """Answer every request when the node stops, and name the transaction that was sent for it."""
    Keystore(tmp_path / "base" / "chains" / "dev" / "keystore").insert("brok", "//Broker")
    with running_node(tmp_path, "--dev", "--dev-seal=manual", "--no-prometheus") as node:
        http_answers, ws_answers, codes = trio.run(partial(ask_and_stop, node))
        log = node.log
    answers = [answer for received in (http_answers, ws_answers) for answer in flat(received)]
    assert sorted(answer["id"] for answer in answers) == list(range(9))
    assert {answer["error"]["code"] for answer in answers} == {-32024}
    matches = [SENT.fullmatch(answer["error"]["message"]) for answer in answers]
    assert len({match[1] for match in matches if match}) == 9
    assert codes == [1001, 1001]
    assert "Traceback" not in log
    assert "Stopping" in log


def flat(answers: list[Any]) -> list[Any]:
    """Return answers, those of batches one by one."""
    return [single for answer in answers for single in (answer if isinstance(answer, list) else [answer])]
