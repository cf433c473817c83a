"""A development node that is broker, swap service and chain, and what tests do there."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfnode.sdk import DepositAddress
from tests.process import NodeProcess, command, environment, running_node

RECEIVER = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"
REFUND = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
BITCOIN = {"chain": "Bitcoin", "asset": "BTC"}
AMOUNT = 10_000_000
OWN_BPS, AFFILIATE_BPS = 10, 25


@dataclass
class Place:
    """A node that seals when there is something to seal; its broker has an affiliate, and there is boost."""

    node: NodeProcess
    affiliate: str
    transactions: Iterator[int] = field(default_factory=lambda: iter(range(1, 1000)))

    def options(self, broker: str) -> dict[str, Any]:
        """Return options of a client that swaps by its "own broker" or by the "swap service"."""
        url = self.node.url
        named = {"network": "dev", "rpcUrl": url, "backendUrl": url, "enabledFeatures": {"dca": True}}
        own = {"broker": {"url": url, "commissionBps": OWN_BPS}}
        return named | (own if broker == "own broker" else {})

    @contextmanager
    def sealing(self) -> Iterator[None]:
        """Make blocks while the body runs, as a chain with a clock does."""
        over = threading.Event()

        def work() -> None:
            while not over.is_set():
                self.node.call("dev_newBlock")

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def announce(self, channel: DepositAddress) -> str:
        """Witness a payment into the channel; return its transaction id, as Bitcoin's explorers write it."""
        transaction = next(self.transactions).to_bytes(32, "big")
        self._pay("dev_announceDeposit", channel, transaction)
        return transaction[::-1].hex()

    def confirm(self, channel: DepositAddress, transaction: str) -> None:
        """Confirm the transaction: it is deep enough."""
        self._pay("dev_deposit", channel, bytes.fromhex(transaction)[::-1])

    def _pay(self, method: str, channel: DepositAddress, transaction: bytes) -> None:
        self.node.call(method, channel.deposit_address, BITCOIN, AMOUNT, "0x" + transaction.hex())


@contextmanager
def node_with_broker(folder: Path, *flags: str) -> Iterator[NodeProcess]:
    """Yield a node that seals when there is something to seal, with a registered broker."""
    base = f"--base-path={folder}/base"
    insert = command("key", "insert", "--chain=dev", base, "--suri=//Alice", "--key-type=brok")
    subprocess.run([*insert, "--scheme=sr25519"], env=environment(folder), check=True, capture_output=True)
    with running_node(folder, base, "--dev", "--dev-seal=instant", *flags) as node:
        node.call("broker_register_account")
        yield node
