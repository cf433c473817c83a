"""Notifications to systemd that the node is ready, alive or stopping: datagrams of sd_notify(3).

`NOTIFY_SOCKET` names the socket: a path, or an abstract name after `@`. `READY=1` follows once JSON-RPC
answers; `STATUS=` is one line of the node's state; `WATCHDOG=1` comes from the main loop at half of
`WATCHDOG_USEC`, so that a loop which hangs is restarted; `STOPPING=1` precedes the shutdown. Without
`NOTIFY_SOCKET` nothing is sent.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import trio

from cfnode.node.config import Config
from cfnode.node.node import Node

__all__ = ["ServiceManager", "notify_service_manager", "service_manager", "status_line"]

log = logging.getLogger("cfnode.service")

MAX_SOCKET_PATH_BYTES = 107
"""Maximum bytes of a socket's path on Linux."""
MAX_STATUS_CHARACTERS = 400
"""Maximum characters of a status."""
NOTIFY_TIMEOUT_S = 1.0
"""Seconds that a message may wait for room in the service manager's queue."""
STATUS_INTERVAL_S = 5.0
"""Seconds between two reads of the node's state, as long as the informant's interval."""
MICROSECONDS_PER_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class ServiceManager:
    """Socket of the process that supervises the node.

    `address`: of a Unix datagram socket. `watchdog_s`: seconds without a sign of life after which the process
    is killed; None without a watchdog.
    """

    address: bytes
    watchdog_s: float | None = None

    async def send(self, *assignments: str) -> bool:
        """Send `NAME=value` lines in one datagram; False, with a debug line, if it was not accepted."""
        message = "\n".join(assignments).encode()
        with trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_DGRAM) as socket:
            try:
                with trio.fail_after(NOTIFY_TIMEOUT_S):
                    await socket.connect(
                        self.address
                    )  # else a full queue would look writable, and trio would spin
                    await socket.send(message)
            except (OSError, trio.TooSlowError) as error:
                log.debug("the service manager did not receive %s: %r", assignments[0], error)
                return False
        return True


def service_manager(environ: Mapping[str, str] = os.environ) -> ServiceManager | None:
    """Return the service manager that the environment names, if any; log an unusable name."""
    socket_name = environ.get("NOTIFY_SOCKET", "")
    if not socket_name:
        return None
    address = os.fsencode(socket_name)
    if address[:1] not in (b"/", b"@") or not 1 < len(address) <= MAX_SOCKET_PATH_BYTES:
        log.warning("NOTIFY_SOCKET is neither a path nor @NAME: the service manager is not notified")
        return None
    if address[:1] == b"@":
        address = b"\0" + address[1:]
    return ServiceManager(address, _watchdog_s(environ))


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    """Return `WATCHDOG_USEC` in seconds; None if missing, malformed, or meant for another process."""
    text = environ.get("WATCHDOG_USEC", "")[:20]
    if not (text.isascii() and text.isdigit() and int(text)):
        return None
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(text) / MICROSECONDS_PER_SECOND


def status_line(node: Node) -> str:
    """Return the state in one line: phase of the sync or isolation, peers, best and finalized block."""
    state = node.sync.progress.line() or node.liveness.line() or "Idle"
    plural = "peer" if node.peers == 1 else "peers"
    best, finalized = node.chain.best.number, node.chain.finalized.number
    line = f"{state} ({node.peers} {plural}), best: #{best}, finalized #{finalized}"
    return " ".join(line.split())[:MAX_STATUS_CHARACTERS]


async def notify_service_manager(
    node: Node, config: Config, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Keep the service manager informed until cancelled; `started` once it knows that the node is ready.

    A service of `cfnode.node.service.run`: it has to be the last one, behind the JSON-RPC server.
    """
    manager = service_manager()
    if manager is None:
        task_status.started()
        return
    if not await manager.send("READY=1", f"STATUS={status_line(node)}"):
        log.warning(
            "The service manager did not receive READY=1: it may stop this node for starting too slowly"
        )
    task_status.started()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_report_status, manager, partial(status_line, node))
            if manager.watchdog_s is not None:
                nursery.start_soon(_report_life, manager, manager.watchdog_s / 2)
    finally:
        with trio.CancelScope(shield=True):
            await manager.send("STOPPING=1", "STATUS=Stopping")


async def _report_status(manager: ServiceManager, status: partial[str]) -> None:
    """Send each state that differs from the one before."""
    before = ""
    while True:
        line = status()
        if line != before and await manager.send(f"STATUS={line}"):
            before = line
        await trio.sleep(STATUS_INTERVAL_S)


async def _report_life(manager: ServiceManager, interval_s: float) -> None:
    while True:
        await manager.send("WATCHDOG=1")
        await trio.sleep(interval_s)
