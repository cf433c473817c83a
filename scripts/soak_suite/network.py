"""Network of the soak: an author for two authorities, followers that execute, and light nodes.

Each has its own folder, port and flags, which stay the same after a restart. Followers connect to the author
through relays that can be cut; light nodes know only the followers. No node dials addresses from other peers,
or it would bypass a cut relay.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from cfnode.cli.client import CallRefused, NodeUnreachable, call
from scripts.redteam_suite.figures import children, rss_mb
from scripts.soak_suite.relay import Relay
from tests.e2e.sites import free_port
from tests.process import LISTENING, NodeProcess, command, environment, starting_node

AUTHORITIES = "--dev-authorities=2"
EPOCHS = "--dev-epoch-blocks=20"
GENESIS = (AUTHORITIES, EPOCHS, "--dev-state-entries=3000")
CALL_S = 10.0


class Member:
    """Node of the network, running or not."""

    def __init__(self, name: str, folder: Path, stack: ExitStack, *flags: str) -> None:
        self.name, self._folder, self._stack = name, folder / name, stack
        self._folder.mkdir()
        self.port, self._starts = free_port(), 0
        self._flags = (*flags, f"--listen-addr=/ip4/127.0.0.1/tcp/{self.port}", "--no-prometheus")
        self._node: NodeProcess | None = None
        self.peer_id = ""
        self.is_stopped = False
        self.memory: list[list[tuple[float, float]]] = []
        """(when, megabytes), for each run."""

    def start(self) -> None:
        """Start the node's process, with a log file of its own."""
        self._starts += 1
        started = starting_node(self._folder, *self._flags, log_name=f"{self._starts}.log")
        self._node = self._stack.enter_context(started)
        self.memory.append([])

    def wait_until_listening(self) -> None:
        """Wait until the node answers JSON-RPC, and read its peer id."""
        assert self._node is not None
        self._node.wait_until_listening()
        self.peer_id = self.call("system_localPeerId")

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._node is not None and self._node.process.poll() is None

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._node is not None
        return self._node.process.pid

    @property
    def logs(self) -> str:
        """Log of all runs."""
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("*.log")))

    @property
    def last_log(self) -> str:
        """The text of the log since the last start."""
        return (self._folder / f"{self._starts}.log").read_text()

    def address(self, port: int | None = None) -> str:
        """Return the multiaddress of its peer port, or of a relay's port."""
        return f"/ip4/127.0.0.1/tcp/{port or self.port}/p2p/{self.peer_id}"

    def die(self) -> None:
        """Kill the process, also a stopped one."""
        assert self._node is not None
        self.go_on()
        self._node.process.kill()
        self._node.process.wait(timeout=30)

    def stand_still(self) -> None:
        """Stop the process by SIGSTOP."""
        self.is_stopped = True
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Continue the process by SIGCONT."""
        self.is_stopped = False
        self._signal(signal.SIGCONT)

    def kill_executor(self, chance: random.Random) -> None:
        """Kill one of its executor processes, chosen at random."""
        processes = children(self.pid)
        if processes:
            with suppress(OSError):
                os.kill(chance.choice(processes), signal.SIGKILL)

    def call(self, method: str, *params: Any) -> Any:
        """Call a method of the node. Raise NodeUnreachable or CallRefused."""
        assert self._node is not None
        match = LISTENING.search(self._node.log)
        if match is None:
            raise NodeUnreachable(f"{self.name} does not listen yet")
        return call(f"http://127.0.0.1:{match[1] or match[2]}", method, list(params), timeout=CALL_S)

    def heads(self) -> tuple[int, int, str] | None:
        """Return best and final number, and the final hash; None if the node does not answer."""
        with suppress(NodeUnreachable, CallRefused):
            final = self.call("chain_getFinalizedHead")
            numbers = [self.call("chain_getHeader", *at)["number"] for at in ((), (final,))]
            return int(numbers[0], 16), int(numbers[1], 16), final
        return None

    def hash_at(self, number: int) -> str | None:
        """Return the hash of a block by number, or None if it does not answer."""
        with suppress(NodeUnreachable, CallRefused):
            block_hash: str | None = self.call("chain_getBlockHash", number)
            return block_hash
        return None

    def look_at_memory(self) -> None:
        """Note time and resident memory of the process."""
        if self.is_alive:
            self.memory[-1].append((time.monotonic(), rss_mb(self.pid)))

    def _signal(self, number: signal.Signals) -> None:
        if self.is_alive and self._node is not None:
            self._node.process.send_signal(number)


class Network:
    """All nodes, and the relays between the author and its followers."""

    def __init__(self, stack: ExitStack, folder: Path, followers: int, lights: int, block_ms: int) -> None:
        self._stack, self._folder = stack, folder
        self.author = self._member(
            "author", "--dev", f"--dev-block-time={block_ms}", *GENESIS, "--blocks-pruning=archive"
        )
        self._begin(self.author)
        self.wires = [Relay(self.author.port) for _ in range(followers)]
        self.followers = [self._follower(number) for number in range(followers)]
        self.lights = [self._light(number) for number in range(lights)]

    @property
    def members(self) -> list[Member]:
        """All nodes: the author, the followers and the light nodes."""
        return [self.author, *self.followers, *self.lights]

    def _member(self, name: str, *flags: str) -> Member:
        return Member(name, self._folder, self._stack, *flags)

    def _begin(self, member: Member) -> Member:
        member.start()
        member.wait_until_listening()
        return member

    def _follower(self, number: int) -> Member:
        wire = self.author.address(self.wires[number].port)
        flags = f"--chain={self._spec(light=False)}", "--sync=full", "--no-private-ip", "--state-pruning=256"
        return self._begin(self._member(f"follower-{number}", *flags, f"--bootnodes={wire}"))

    def _light(self, number: int) -> Member:
        count = len(self.followers)
        boot_addresses = {self.followers[(number + step) % count].address() for step in range(2)}
        flags = f"--chain={self._spec(light=True)}", "--sync=light-rpc", "--no-private-ip"
        return self._begin(
            self._member(
                f"light-{number}", *flags, *(f"--bootnodes={address}" for address in sorted(boot_addresses))
            )
        )

    def _spec(self, *, light: bool) -> Path:
        path = self._folder / ("light.json" if light else "full.json")
        if not path.exists():
            written = command("export-chain-spec", "--dev", *GENESIS, *(["--light"] if light else []))
            subprocess.run(
                [*written, "-o", str(path)], check=True, env=environment(self._folder), capture_output=True
            )
        return path
