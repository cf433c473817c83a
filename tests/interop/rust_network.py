"""The network of a Substrate node, for a chain of ours: libp2p or litep2p in a process of its own.

`RustNetwork` is a `PeerNetwork` like the one of `cfnode.network`. Everything on the wire is done by the
program `substrate_peer`, which knows nothing of the chain; what it is asked, it asks here.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from cfnode.network import interface
from tests.conftest import PEERS
from tests.support.node.notifications import EventQueue

MASTER = "block-announces/1"
BACKENDS = ("libp2p-yamux-0.12", "libp2p-yamux-0.13", "litep2p")
LIMITS, NOTIFICATION_LIMITS = interface.RequestLimits(), interface.NotificationLimits()
Report = dict[str, Any]


def rust_program() -> Path:
    """Return the peer's program; skip the test if it has not been built."""
    path = PEERS / "rust" / "release" / "substrate-peer"
    if not path.exists():
        pytest.skip("the Rust peer is not here: scripts/peers builds it (needs cargo)")
    return path


class RustProtocol(EventQueue):
    """One notification protocol."""

    def __init__(self, network: RustNetwork, name: str, handshake: Callable[[], bytes]) -> None:
        super().__init__(name, handshake)
        self._network = network

    def send(self, peer_id: str, data: bytes) -> bool:
        """Order the program to send a notification; return whether the protocol is open with the peer."""
        if peer_id not in self.open:
            return False
        self._network.order("notify", peer=peer_id, protocol=self.name, data=data.hex())
        return True

    def announce(self) -> None:
        """Let the program say our handshake from now on."""
        self._network.order("handshake", protocol=self.name, data=self.handshake().hex())

    def on_report(self, report: Report) -> None:
        """Turn a report of the program into an event."""
        peer = report["peer"]
        match report["event"]:
            case "opened":
                self.open.add(peer)
                self.sender.send_nowait(
                    interface.ProtocolOpened(peer, bytes.fromhex(report["handshake"]), inbound=True)
                )
            case "notified" if peer in self.open:
                self.sender.send_nowait(interface.Received(peer, bytes.fromhex(report["data"])))
            case "closed" if peer in self.open:
                self.open.discard(peer)
                self.sender.send_nowait(interface.Closed(peer))


class RustNetwork:
    """One running program. Use as a Network; `dial` is for tests."""

    def __init__(self, program: Path, backend: str, genesis: bytes) -> None:
        self._command = [str(program), backend, genesis.hex()]
        self._orders, self._ordered = trio.open_memory_channel[bytes](math.inf)
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[trio.Event, Report]] = {}
        self._handlers: dict[str, interface.RequestHandler] = {}
        self._protocols: dict[str, RustProtocol] = {}
        self._dialed = False
        self.connected: set[str] = set()
        self.log: list[Report] = []
        """What the program has reported, without what was carried."""
        self.penalties: list[tuple[str, int, str]] = []
        self.peer_id = self.address = ""

    def order(self, what: str, **arguments: Any) -> None:
        """Write one line for the program."""
        self._orders.send_nowait(json.dumps({"do": what, **arguments}).encode() + b"\n")

    def dial(self, address: str) -> None:
        """Connect with a node and open the notification protocols."""
        self._dialed = True
        self.order("dial", address=address)

    def count(self, event: str) -> int:
        """Return the number of reports of a kind."""
        return sum(report["event"] == event for report in self.log)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled; started when the program listens."""
        async with trio.open_nursery() as nursery:
            start = partial(trio.run_process, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            process: trio.Process = await nursery.start(start, self._command)
            nursery.start_soon(self._send_orders, process)
            async for report in self._reports(process):
                self.log.append({name: value for name, value in report.items() if name != "data"})
                if report["event"] == "listening":
                    self.peer_id = report["peer"]
                    self.address = f"{report['address'].partition('/p2p/')[0]}/p2p/{self.peer_id}"
                    task_status.started()
                self._on_report(report, nursery)

    async def _send_orders(self, process: trio.Process) -> None:
        assert process.stdin is not None
        async for order in self._ordered:
            await process.stdin.send_all(order)

    async def _reports(self, process: trio.Process) -> AsyncIterator[Report]:
        assert process.stdout is not None
        line = bytearray()
        async for data in process.stdout:
            *ends, rest = data.split(b"\n")
            for end in ends:
                yield json.loads(bytes(line + end))
                line.clear()
            line += rest
        raise AssertionError("the Rust peer has ended")

    def _on_report(self, report: Report, nursery: trio.Nursery) -> None:
        match report["event"]:
            case "connected":
                self._on_connected(report["peer"])
            case "disconnected":
                self.connected.discard(report["peer"])
            case "request":
                nursery.start_soon(self._answer, report)
            case "answer" | "failed":
                done, answer = self._waiting[report["id"]]
                answer.update(report)
                done.set()
            case "opened" | "notified" | "closed":
                self._protocols[report["protocol"]].on_report(report)
                if (report["event"], report["protocol"], self._dialed) == ("opened", MASTER, True):
                    self._open(report["peer"], *(name for name in self._protocols if name != MASTER))

    def _on_connected(self, peer: str) -> None:
        self.connected.add(peer)
        if self._dialed and MASTER in self._protocols:
            self._open(peer, MASTER)

    def _open(self, peer: str, *names: str) -> None:
        for name in names:
            self._protocols[name].announce()
            self.order("open", peer=peer, protocol=name)

    async def _answer(self, report: Report) -> None:
        number, protocol = report["id"], report["protocol"]
        answer = await self._handlers[protocol](report["peer"], bytes.fromhex(report["data"]))
        self.order("answer", id=number, protocol=protocol, data=None if answer is None else answer.hex())

    # What a chain's sync uses

    @property
    def peers(self) -> Mapping[str, interface.PeerInfo]:
        """The peers with which a protocol is open."""
        return {
            peer: interface.PeerInfo(peer, "", not self._dialed, opened=frozenset(
                name for name, protocol in self._protocols.items() if peer in protocol.peers
            ))
            for peer in self.connected
        }  # fmt: skip

    @property
    def unreachable(self) -> Mapping[str, str]:
        """The addresses that were not reached: none are tracked."""
        return {}

    async def request(
        self, peer_id: str, protocol: str, data: bytes, *, seconds: float | None = None
    ) -> bytes:
        """Order the program to send a request; return its answer."""
        number, done = next(self._ids), trio.Event()
        answer: Report = {}
        self._waiting[number] = done, answer
        self.order("request", id=number, peer=peer_id, protocol=protocol, data=data.hex())
        await done.wait()
        del self._waiting[number]
        if answer["event"] == "failed":
            raise interface.RequestFailed(answer["why"])
        return bytes.fromhex(answer["data"])

    def serve_requests(
        self,
        protocol: str,
        handler: interface.RequestHandler | None,
        limits: interface.RequestLimits = LIMITS,
    ) -> None:
        """Answer the requests of a protocol by a handler."""
        if handler is not None:
            self._handlers[protocol] = handler

    def notifications(
        self, protocol: str, handshake: Callable[[], bytes],
        limits: interface.NotificationLimits = NOTIFICATION_LIMITS, accept: interface.Accept | None = None,
    ) -> RustProtocol:  # fmt: skip
        """Declare a notification protocol to the program."""
        self._protocols[protocol] = RustProtocol(self, protocol, handshake)
        self._protocols[protocol].announce()
        return self._protocols[protocol]

    def report(self, peer_id: str, change: int, reason: str) -> None:
        """Keep a report about a peer in `penalties`."""
        self.penalties.append((peer_id, change, reason))

    def mark_useful(self, peer_id: str) -> None:
        """Ignore it: the program has no slots."""

    def evict(self, peer_id: str, reason: str) -> None:
        """Ignore it: the program has no slots."""

    def disconnect(self, peer_id: str, reason: str) -> None:
        """Fail: no test lets a peer be disconnected."""
        raise AssertionError(f"{peer_id} is to be disconnected: {reason}")


@asynccontextmanager
async def running_network(network: RustNetwork) -> AsyncIterator[None]:
    """Yield the program, until the end of the block."""
    async with trio.open_nursery() as nursery:
        await nursery.start(network.run)
        yield
        nursery.cancel_scope.cancel()
