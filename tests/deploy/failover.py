"""A shop that opens channels through a proxy, and a chain with two nodes that have its broker's key."""

from __future__ import annotations

import itertools
import json
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.deploy.proxies import BEHIND, SHOP, Proxy, call, post
from tests.e2e.shell import Shell
from tests.e2e.sites import Site, give_broker_key
from tests.support.ports import free_port
from tests.support.waiting import wait_until

CLIENTS = 6
PATIENCE = 300.0
"""Seconds, far above what any step takes: only what hangs fails."""
ETHER = {"chain": "Ethereum", "asset": "ETH"}
ARBITRUM_USDC = {"chain": "Arbitrum", "asset": "USDC"}
REFUND = {"retry_duration": 10, "refund_address": "0x" + "02" * 20, "min_price": "0x0"}


@dataclass
class Shop:
    """Clients that open channels through the proxy, each call for a destination of its own.

    After a call without an answer a client waits for `again`.
    """

    proxy: Proxy
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    again: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Create the threads of the clients."""
        self._numbers = itertools.count(1)
        self._threads = [threading.Thread(target=self._guarded, args=(self._serve,)) for _ in range(CLIENTS)]
        self._threads.append(threading.Thread(target=self._guarded, args=(self._read,)))

    def __enter__(self) -> Shop:
        """Start the clients."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the clients, and wait for them."""
        self.closed.set()
        self.again.set()
        for thread in self._threads:
            thread.join(timeout=PATIENCE)

    def until(self, met: Callable[[], bool], what: str) -> None:
        """Wait, while all clients go on."""
        wait_until(lambda: met() or bool(self.faults), what)
        assert self.faults == []

    def serves(self, calls: int) -> None:
        """Wait until so many more calls have been answered."""
        enough = len(self.answered) + calls
        self.until(lambda: len(self.answered) >= enough, f"{calls} calls are answered")

    def open_channel(self, client: httpx.Client, destination: str) -> None:
        """Make one call, and keep what became of it."""
        method = "broker_requestSwapDepositAddress"
        parameters = (ETHER, ARBITRUM_USDC, destination, 10, None, None, None, REFUND)
        try:
            answer = post(client, method, *parameters, path="/broker")
        except httpx.TransportError as error:
            self.unanswered[destination] = repr(error)
            return
        if answer.status_code == 200 and "result" in answer.json():
            self.answered[destination] = answer.json()["result"]
        else:
            self.unanswered[destination] = f"{answer.status_code} {answer.text}"

    def _serve(self) -> None:
        with self.proxy.client(SHOP) as client:
            while not self.closed.is_set():
                destination = f"0x{next(self._numbers):040x}"
                self.open_channel(client, destination)
                if destination in self.unanswered:
                    assert self.again.wait(PATIENCE)

    def _read(self) -> None:
        genesis = None
        while not self.closed.is_set():
            with self.proxy.client() as client:  # a reload closes idle connections
                answer = call(client, "chain_getBlockHash", 0)
            assert answer == (genesis := genesis or answer)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.faults.append(repr(error))


class Chain:
    """An authority that is read, and two nodes with one broker key that follow it: primary and stand-by."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        spec = folder / "spec.json"
        shell = Shell(folder)
        shell.run("cfnode export-chain-spec --dev --light -o spec.json")
        dev = (*BEHIND, "--dev", "--dev-block-time=1000")
        self.authority = Site(stack, folder / "authority", None, *dev, friends=[])
        self.authority.start()
        self.ports = {name: free_port() for name in ("primary", "standby")}
        self.primary, self.standby = (self._follower(stack, folder, spec, name) for name in self.ports)
        self.account = json.loads(shell.run("cfnode key inspect //Broker --json"))["ss58Address"]

    def _follower(self, stack: ExitStack, folder: Path, spec: Path, name: str) -> Site:
        flags = (f"--chain={spec}", "--sync=light-rpc", f"--rpc-port={self.ports[name]}", *BEHIND)
        allowed = f"--rpc-broker-clients={SHOP}"
        site = Site(stack, folder / name, None, *flags, allowed, friends=[self.authority])
        give_broker_key(site, json.loads(spec.read_text())["id"])
        site.start()
        return site

    def register(self, proxy: Proxy) -> None:
        """Make the account of the key a broker, once all follow the chain."""
        for site in (self.primary, self.standby):
            wait_until(partial(site.is_in_step, self.authority), f"{site.folder.name} is in step")
        self.authority.call("dev_fundAccount", self.account)
        funded = self.authority.best
        self.reaches(self.primary, funded)
        with proxy.client(SHOP) as client:
            assert len(call(client, "broker_registerAccount", path="/broker")["result"]) == 66

    def kill_the_primary_with_calls_in_flight(self) -> None:
        """Kill the primary while the chain has transactions of calls that it cannot answer."""
        process = self.primary.node.process
        while True:
            process.send_signal(signal.SIGSTOP)
            if self.authority.call("author_pendingExtrinsics"):
                break
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait(timeout=60)

    def nonce(self, site: Site) -> int:
        """Return the broker's next nonce, as a node knows it."""
        return int(site.call("system_accountNextIndex", self.account))

    def grow(self, last: int) -> None:
        """Add blocks, no faster than the stand-by follows, until it has `last` as a final one."""
        while self.standby.final < last:
            self.authority.node.call("dev_newBlock", finalize=True)
            self.reaches(self.standby, self.authority.best)

    def reaches(self, site: Site, number: int) -> None:
        """Wait until a node has the block of this number."""
        wait_until(lambda: site.best >= number, f"{site.folder.name} has block #{number}")
