"""Probe of a node's smallest answer: a process that calls `system_health` every 20 ms.

Requests leave on time, whether the last one is answered or not, so a node that stands still for a second
delays fifty requests and not one. The process records how long each request took, and how much of that the
node's main thread stood ready to run while others had the processor (`/proc/PID/schedstat`): the rest is the
node's own doing.

`python -m scripts.redteam_suite.probe PORT PID` runs until its standard input ends, and prints JSON: rows of
(when it was due, seconds, seconds of the node's own), and how often the connection was lost.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path

from scripts.redteam_suite.rpc_wire import RpcFailed, WebSocket, call_json

INTERVAL_S = 0.02
MAX_UNANSWERED = 3_000
"""Requests that may wait for their answers: one minute's."""
PRIORITY = -10
"""Priority of the measuring process: the highest it may have."""
LAST_ANSWERS_S = 5.0


class Probe:
    """Connection to a node, and the times of its answers."""

    def __init__(self, port: int, pid: int) -> None:
        self._port = port
        self._stats = Path(f"/proc/{pid}/schedstat")
        self._waiting: dict[int, tuple[float, float]] = {}
        self._socket: WebSocket | None = None
        self.samples: list[tuple[float, float, float]] = []
        self.lost = 0
        self._next_id = 0

    def run(self) -> None:
        """Ask at fixed intervals until standard input ends, then wait for the last answers."""
        due = time.monotonic()
        while not _ended():
            self._read(max(0.0, due - time.monotonic()))
            if time.monotonic() >= due:
                self._ask(due)
                due += INTERVAL_S
        until = time.monotonic() + LAST_ANSWERS_S
        while self._waiting and time.monotonic() < until:
            self._read(0.1)
        self._give_up()

    def _delayed(self) -> float:
        """Return the seconds for which the node's main thread has waited for a processor, since it began."""
        try:
            return int(self._stats.read_text().split()[1]) / 1e9
        except (OSError, IndexError):
            return 0.0

    def _ask(self, due: float) -> None:
        if len(self._waiting) >= MAX_UNANSWERED:
            return
        self._next_id += 1
        self._waiting[self._next_id] = due, self._delayed()
        try:
            if self._socket is None:
                self._socket = WebSocket(self._port)
            self._socket.sock.settimeout(INTERVAL_S)
            self._socket.send(call_json("system_health", [], self._next_id))
        except TimeoutError:
            self._reconnect()  # the node reads nothing more, and the message was sent in part only
        except (OSError, RpcFailed):
            self._reconnect()

    def _read(self, seconds: float) -> None:
        if self._socket is None:
            time.sleep(seconds)
            return
        try:
            if select.select([self._socket.sock], [], [], seconds)[0]:
                self._socket.feed()
                self._take_answers(self._socket)
        except (OSError, RpcFailed):
            self._reconnect()

    def _take_answers(self, socket: WebSocket) -> None:
        now, delayed = time.monotonic(), self._delayed()
        while (message := socket.next_message()) is not None:
            due, before = self._waiting.pop(json.loads(message)["id"])
            seconds = now - due
            self.samples.append((due, seconds, max(0.0, seconds - (delayed - before))))

    def _reconnect(self) -> None:
        self.lost += 1
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._give_up()

    def _give_up(self) -> None:
        """Count unanswered requests with the time that they have waited."""
        now, delayed = time.monotonic(), self._delayed()
        for due, before in self._waiting.values():
            self.samples.append((due, now - due, max(0.0, now - due - (delayed - before))))
        self._waiting.clear()


def _ended() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main() -> None:
    """Run the probe of the command line, and print its samples as JSON."""
    with suppress(OSError):
        os.nice(PRIORITY)
    probe = Probe(int(sys.argv[1]), int(sys.argv[2]))
    probe.run()
    print(json.dumps({"samples": probe.samples, "lost": probe.lost}))


if __name__ == "__main__":
    main()
