"""Two hundred deposit channels opened during alternating attacks, and a check of each answer."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from pathlib import Path

from scripts.redteam_suite.channels import Opened, check_channels
from scripts.redteam_suite.figures import Result, last_lines, program_errors
from scripts.redteam_suite.honest import CHANNEL
from scripts.redteam_suite.observers import attacking
from scripts.redteam_suite.rpc_wire import RpcFailed, WebSocket
from scripts.redteam_suite.stage import Node, stage

ATTACKS = ("1", "7", "8", "9", "10", "11", "12", "15", "16")
TURN_S = 10.0
CHANNELS, QUICK_CHANNELS = 200, 30
CALLERS = 4
CALL_S = 180.0
MAX_S = 1_500.0


class Callers:
    """Clients of the broker that open one channel after the other, until there are enough."""

    def __init__(self, node: Node, count: int) -> None:
        self._node = node
        self.opened = [Opened() for _ in range(count)]
        self._left = iter(self.opened)
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(CALLERS)]
        for thread in self._threads:
            thread.start()

    @property
    def are_done(self) -> bool:
        """Whether all requests for channels have been answered."""
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        client: WebSocket | None = None
        while (opened := self._next()) is not None:
            try:
                client = client or WebSocket(self._node.rpc_port)
                opened.answer = client.call("broker_requestSwapDepositAddress", *CHANNEL, seconds=CALL_S)
            except (RpcFailed, OSError) as error:
                opened.why = str(error) or type(error).__name__
                client = None
                time.sleep(0.5)

    def _next(self) -> Opened | None:
        with self._lock:
            return next(self._left, None)


def play_broker(folder: Path, *, quick: bool) -> Result:
    """Play the attacks in turns until all channels have been requested."""
    count = QUICK_CHANNELS if quick else CHANNELS
    result = Result("broker", f"{count} channels are opened while attacks take turns")
    with stage(Path(tempfile.mkdtemp(dir=folder))) as chain:
        node = chain.follower()
        chain.ready(node)
        channels_before, began = chain.channels(), time.monotonic()
        callers = Callers(node, count)
        for row in itertools.cycle(ATTACKS):
            if callers.are_done or time.monotonic() - began > MAX_S:
                break
            with attacking(row, chain.target(node), TURN_S + 60, folder / "attacker.log"):
                _wait(callers, TURN_S)
        result.facts["seconds"] = time.monotonic() - began
        check_channels(result, chain, callers.opened, channels_before)
        result.add("program errors", program_errors(node.log), 0)
        result.check("in step", chain.is_in_step(node))
        if not result.met:
            result.log = last_lines(node.log)
    return result


def _wait(callers: Callers, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not callers.are_done:
        time.sleep(0.1)
