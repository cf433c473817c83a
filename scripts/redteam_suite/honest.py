"""Honest users of a node during an attack: a client, a broker and a peer.

`python -m scripts.redteam_suite.honest '{"rpc": PORT, …}'` (the fields of `Target`) runs until its standard
input ends, and prints JSON: for each of them rows of (when, seconds, what was answered or null, why not).
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import trio

from cfnode.network.interface import RequestFailed
from cfnode.network.transport import DialError
from scripts.redteam_suite.peers import Roles, Stranger
from scripts.redteam_suite.rpc_wire import RpcFailed, WebSocket
from scripts.redteam_suite.target import Target

CALL_PAUSE_S, REQUEST_PAUSE_S = 0.1, 0.25
BROKER_S = 60.0
"""Seconds for a channel: it may wait for finality."""
PEER_S = 10.0
"""Seconds for a peer's request for one header."""
MAX_FINISH_S = 45.0
"""Seconds for calls in progress at the end."""
REFUND = {"retry_duration": 10, "refund_address": "0x" + "02" * 20, "min_price": "0x0"}
CHANNEL = "ETH", {"chain": "Arbitrum", "asset": "USDC"}, "0x" + "01" * 20, 10, None, None, None, REFUND
SYSTEM_PREFIX = "0x26aa394eea5630e07c48ae0c9558cef7"

Row = tuple[float, float, Any, str]


@dataclass
class Diary:
    """Calls of one honest user."""

    rows: list[Row] = field(default_factory=list)

    def note(self, ask: Callable[[], Any]) -> bool:
        """Time a call; note its answer or the reason of its failure, and return whether it was answered."""
        began = time.monotonic()
        try:
            answer, reason = ask(), ""
        except (RpcFailed, OSError) as error:
            answer, reason = None, str(error) or type(error).__name__
        self.rows.append((began, time.monotonic() - began, answer, reason))
        return not reason


class Caller(threading.Thread):
    """JSON-RPC client with one connection, which is opened again when it is lost."""

    def __init__(self, port: int, stopping: threading.Event, pause_s: float) -> None:
        super().__init__(daemon=True)
        self._port, self._stopping, self._pause_s = port, stopping, pause_s
        self._socket: WebSocket | None = None
        self.diary = Diary()

    def run(self) -> None:
        """Call until stopped, with a pause between; open a new socket after a failure."""
        while not self._stopping.is_set():
            if not self.diary.note(self._ask) and self._socket is not None:
                self._socket.close()
                self._socket = None
            self._stopping.wait(self._pause_s)

    def call(self, method: str, *params: Any, seconds: float = 20.0) -> Any:
        """Call a method over the caller's WebSocket."""
        if self._socket is None:
            self._socket = WebSocket(self._port)
        return self._socket.call(method, *params, seconds=seconds)

    def _ask(self) -> Any:
        raise NotImplementedError


class Client(Caller):
    """Caller that reads the head, calls the runtime and lists keys, in turn."""

    def _ask(self) -> str:
        match len(self.diary.rows) % 3:
            case 0:
                self.call("chain_getHeader")
                return "chain_getHeader"
            case 1:
                self.call("state_call", "Core_version", "0x")
                return "state_call"
        self.call("state_getKeysPaged", SYSTEM_PREFIX, 100)
        return "state_getKeysPaged"


class Broker(Caller):
    """Caller that opens deposit channels, one after the other."""

    def _ask(self) -> Any:
        opened = self.call("broker_requestSwapDepositAddress", *CHANNEL, seconds=BROKER_S)
        return [opened["channel_id"], opened["address"]]


class Peer:
    """Light node that requests headers, and reconnects when it is disconnected."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.diary = Diary()
        self.lost = 0

    async def run(self) -> None:
        """Join as a light peer and make requests; join again after each lost connection."""
        seed = secrets.token_bytes(32)
        while True:
            stranger = Stranger(self._target, seed, roles=Roles.LIGHT)
            try:
                async with stranger.connected():
                    await self._ask_on(stranger)
            except (DialError, trio.TooSlowError) as error:
                self.diary.rows.append((time.monotonic(), 0.0, None, str(error) or "no connection"))
            self.lost += 1
            await trio.sleep(1)

    async def _ask_on(self, stranger: Stranger) -> None:
        count = 0
        while stranger.is_connected:
            count += 1
            began = time.monotonic()
            try:
                await stranger.ask_header(count, seconds=PEER_S)
            except RequestFailed as error:
                self.diary.rows.append((began, time.monotonic() - began, None, str(error)))
            else:
                self.diary.rows.append((began, time.monotonic() - began, "header", ""))
            await trio.sleep(REQUEST_PAUSE_S)


async def run(target: Target, roles: list[str]) -> dict[str, Any]:
    """Run the chosen roles until standard input ends; return their notes."""
    stopping = threading.Event()
    callers = {
        "client": Client(target.rpc, stopping, CALL_PAUSE_S),
        "broker": Broker(target.rpc, stopping, CALL_PAUSE_S),
    }
    peer = Peer(target)
    active = {name: caller for name, caller in callers.items() if name in roles}
    async with trio.open_nursery() as nursery:
        for caller in active.values():
            caller.start()
        if "peer" in roles:
            nursery.start_soon(peer.run)
        await trio.to_thread.run_sync(sys.stdin.read)
        stopping.set()
        for caller in active.values():
            await trio.to_thread.run_sync(caller.join, MAX_FINISH_S)
        nursery.cancel_scope.cancel()
    diaries = {name: caller.diary.rows for name, caller in active.items()}
    return {**diaries, "peer": peer.diary.rows, "peer_lost": peer.lost}


def main() -> None:
    """Run the roles of the command line, and print their notes as JSON."""
    order = json.loads(sys.argv[1])
    print(json.dumps(trio.run(run, Target.of(order["target"]), order["roles"])))


if __name__ == "__main__":
    main()
