"""Stage of an attack: an honest author and the attacked node, on this machine."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from cfnode.cli.client import CallRefused, NodeUnreachable
from cfnode.store.keystore import Keystore
from scripts.redteam_suite.figures import rss_mb
from scripts.redteam_suite.target import Target
from tests.process import NodeProcess, command, environment, starting_node

BLOCK_MS = 2_000
STATE_ENTRIES = 20_000
"""Extra entries of the state: some megabytes, so that reading much of it takes time."""
CHAIN_FLAGS = (f"--dev-state-entries={STATE_ENTRIES}",)
LISTEN = "--listen-addr=/ip4/127.0.0.1/tcp/0"
LISTENING = re.compile(r"Listening for peers at /ip4/127\.0\.0\.1/tcp/(\d+)/p2p/(\w+)")
BROKER = "//Broker"
START_S = 90.0
"""Seconds until a node listens or is synced: far more than it takes on a busy machine."""
LOOK_S = 0.05


def until(met: Callable[[], object], seconds: float = START_S, what: str = "it does not come about") -> float:
    """Poll until the condition holds; return the seconds. Raise TimeoutError."""
    began = time.monotonic()
    while not met():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"{what} ({seconds:.0f} s)")
        time.sleep(LOOK_S)
    return time.monotonic() - began


class Node:
    """Running node of the stage."""

    def __init__(self, process: NodeProcess) -> None:
        self.process = process
        process.wait_until_listening()
        until(lambda: LISTENING.search(process.log), what="the node listens for peers")
        match = LISTENING.search(process.log)
        assert match is not None
        self.peer_port, self.peer_id = int(match[1]), match[2]
        self.pid = process.process.pid

    @property
    def rpc_port(self) -> int:
        """The port of its JSON-RPC."""
        return int(self.process.url.rpartition(":")[2])

    @property
    def address(self) -> str:
        """The multiaddress of its peer port."""
        return f"/ip4/127.0.0.1/tcp/{self.peer_port}/p2p/{self.peer_id}"

    @property
    def log(self) -> str:
        """The text of its log so far."""
        return self.process.log

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self.process.process.poll() is None

    @property
    def rss(self) -> float:
        """Resident memory of its process, in MB."""
        return rss_mb(self.pid)

    def call(self, method: str, *params: Any) -> Any:
        """Call a method of its JSON-RPC."""
        return self.process.call(method, *params)

    @property
    def best(self) -> int:
        """The number of its best block."""
        return int(self.call("chain_getHeader")["number"], 16)

    @property
    def readiness(self) -> int:
        """The HTTP status of its readiness page."""
        return httpx.get(f"{self.process.url}/health/readiness", timeout=10).status_code

    @property
    def is_syncing(self) -> bool:
        """Whether the node is syncing; one that does not answer counts as syncing."""
        with suppress(CallRefused, NodeUnreachable):
            return bool(self.call("system_health")["isSyncing"])
        return True


class Stage:
    """Chain with its author, and nodes that follow it. `folder` holds all of it."""

    def __init__(
        self, stack: ExitStack, folder: Path, *author_flags: str, chain_flags: Sequence[str] = ()
    ) -> None:
        self._stack, self._folder, self._count = stack, folder, 0
        self._chain_flags = (*CHAIN_FLAGS, *chain_flags)
        self._specs: dict[bool, Path] = {}
        flags = author_flags or (f"--dev-block-time={BLOCK_MS}",)
        archive = "--blocks-pruning=archive", "--state-pruning=archive"
        keys = self._keys("author")  # it funds the broker whose key it has
        self._author_flags = ("--dev", *self._chain_flags, *archive, keys)
        self.author = self.start("author", *flags, *self._author_flags)
        self.genesis = self.author.call("chain_getBlockHash", 0).removeprefix("0x")

    def restart_author(self) -> None:
        """Restart the author with the usual time between blocks."""
        self.author.process.stop()
        self.author = self.start("author", f"--dev-block-time={BLOCK_MS}", *self._author_flags)

    def ready(self, node: Node) -> None:
        """Wait until the node is synced and its account may open channels."""
        self.in_step(node)
        node.call("broker_registerAccount")

    def start(self, name: str, *flags: str) -> Node:
        """Start a node with these flags; it runs until the stage ends, or `stop`."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        listen = () if any(flag.startswith("--listen-addr") for flag in flags) else (LISTEN,)
        return Node(self._stack.enter_context(starting_node(folder, *flags, *listen)))

    def spec(self, light: bool) -> Path:
        """Return the chain specification's file; `light`: in the light format."""
        if light not in self._specs:
            path = self._folder / f"spec-{light}.json"
            form = ["--light"] if light else []
            written = command("export-chain-spec", "--dev", *self._chain_flags, *form, "-o", str(path))
            subprocess.run(written, check=True, env=environment(self._folder), capture_output=True)
            self._specs[light] = path
        return self._specs[light]

    def follower(self, *flags: str, sync: str = "light-rpc", boot: bool = True, broker: bool = True) -> Node:
        """Start a new node with the broker's key and the author as a peer, not synced yet."""
        self._count += 1
        name = f"{self._count}-{sync}"
        chain_flags = (f"--chain={self.spec(sync == 'light-rpc')}", f"--sync={sync}")
        boot_flags = (f"--bootnodes={self.author.address}",) if boot else ()
        key_flags = (self._keys(name),) if broker else ()
        return self.start(name, *chain_flags, *boot_flags, *key_flags, *flags)

    def _keys(self, name: str) -> str:
        """Return the flag of a keystore with the broker's key."""
        folder = self._folder / f"{name}-keys"
        folder.mkdir()
        Keystore(folder).insert("brok", BROKER)
        return f"--keystore-path={folder}"

    def channels(self) -> frozenset[str]:
        """Return the Ethereum addresses of all open deposit channels, by the author's state."""
        channels = self.author.call("cf_all_open_deposit_channels")
        accounts = [account for _, _, chains in channels for account, _ in chains["chain_accounts"]]
        return frozenset("0x" + bytes(account["Eth"]).hex() for account in accounts if "Eth" in account)

    def in_step(self, node: Node, seconds: float = START_S) -> float:
        """Wait until the node has caught up; return the seconds. Raise TimeoutError."""
        return until(lambda: self.is_in_step(node), seconds, "the node is not in step")

    def is_in_step(self, node: Node) -> bool:
        """Return whether a node is synced and at most two blocks behind the author."""
        with suppress(CallRefused, NodeUnreachable):
            return not node.is_syncing and node.best + 2 >= self.author.best
        return False

    def target(self, node: Node) -> Target:
        """Return what an attacker needs to know of a node."""
        return Target(node.rpc_port, node.peer_port, node.peer_id, self.author.rpc_port, self.genesis)

    @staticmethod
    def stop(nodes: Sequence[Node]) -> None:
        """Kill the nodes that still run."""
        for node in nodes:
            if node.is_alive:
                node.process.process.kill()
                node.process.process.wait(timeout=30)


@contextmanager
def stage(folder: Path, *author_flags: str, chain_flags: Sequence[str] = ()) -> Iterator[Stage]:
    """Yield a stage in a folder.

    `author_flags` are of the author alone; `chain_flags` make another genesis.
    """
    with ExitStack() as stack:
        yield Stage(stack, folder, *author_flags, chain_flags=chain_flags)
