"""A chain in the official genesis runtime whose engine is the node's: made, run, and played from outside."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from cfnode.cli import client
from cfnode.cli.build_spec import build_spec
from cfnode.core import ss58
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import Metadata, decode_metadata
from tests.process import NodeProcess, running_node

BROKER = Keypair.from_suri("//Alice")
AMOUNTS = {"Eth": 10**18, "Btc": 10**7, "Dot": 10**12}
"""Deposits of a few hundred dollars or more, in smallest units."""
RECEIVERS: dict[str, tuple[str, bytes]] = {
    "Eth": ("Eth", b"\x11" * 20),
    "Btc": ("Btc", b"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"),
    "Dot": ("Dot", b"\x22" * 32),
}
BROADCASTERS = {"Eth": "EthereumBroadcaster", "Btc": "BitcoinBroadcaster", "Dot": "PolkadotBroadcaster"}
PATIENCE_S = 600
"""Seconds: a call may wait for the runtime on a machine that others use too."""
Event = dict[str, Any]


def engine_spec(official: Path, path: Path, *flags: str) -> Result:
    """Write the specification of a chain with an engine; returns what the command said."""
    arguments = ["--chain", str(official), "--engine", "--output", str(path), *flags]
    done = CliRunner().invoke(build_spec, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@dataclass
class Play:
    """A running node of such a chain; blocks are made on request."""

    node: NodeProcess
    metadata: Metadata = field(init=False)
    genesis: bytes = field(init=False)

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of one call; raise CallRefused with the error object."""
        return client.call(self.node.url, method, list(params), timeout=PATIENCE_S)

    def __post_init__(self) -> None:
        """Read metadata and genesis from the node."""
        self.metadata = decode_metadata(bytes.fromhex(self.call("state_getMetadata")[2:]))
        self.genesis = bytes.fromhex(self.call("chain_getBlockHash", 0)[2:])

    def block(self) -> list[Event]:
        """Make a block; return its events."""
        return self.events(self.call("dev_newBlock"))

    def events(self, block: str | None = None) -> list[Event]:
        """Return the events of a block, none of which may tell of a failure."""
        events: list[Event] = self.call("dev_events", block)
        failed = [event for event in events if event["name"] in FAILURES]
        assert not failed, failed
        return events

    def begin(self, *assets: str) -> None:
        """Make pools with liquidity for these assets."""
        self.block()
        for asset in assets:
            self.call("dev_setPool", asset)

    def submit(self, key: Keypair, call: Any) -> None:
        """Submit a signed call with the next nonce of its key."""
        nonce = self.call("system_accountNextIndex", ss58.encode(key.public))
        extrinsic = sign_extrinsic(
            self.metadata, self.metadata.call_codec.encode(call), key, nonce=nonce, era=IMMORTAL,
            era_hash=self.genesis, genesis_hash=self.genesis, spec_version=100, transaction_version=10,
        )  # fmt: skip
        self.call("author_submitExtrinsic", f"0x{extrinsic.hex()}")

    def request(self, source: str, destination: str, commission_bps: int = 0) -> None:
        """Ask for a swap channel, in the pool."""
        fields = {
            "source_asset": source, "destination_asset": destination,
            "destination_address": RECEIVERS[destination],
            "broker_commission_bps": commission_bps, "channel_metadata": None,
        }  # fmt: skip
        self.submit(BROKER, ("Swapping", ("request_swap_deposit_address", fields)))

    def channel(self, source: str, destination: str, commission_bps: int = 0) -> str:
        """Open a swap channel in a block; return the text of its address."""
        self.request(source, destination, commission_bps)
        (ready,) = named(self.block(), "SwapDepositAddressReady")
        return address_text(ready)

    def deposit(self, address: str, asset: str, amount: int | None = None) -> list[Event]:
        """Deposit an amount; return the events of the block."""
        return self.events(self.call("dev_deposit", address, asset, amount or AMOUNTS[asset]))

    def until(self, pallet: str, name: str, limit: int = 12) -> tuple[int, Event]:
        """Make blocks until an event; return how many, and its fields."""
        for count in range(1, limit + 1):
            for event in self.block():
                if (event["pallet"], event["name"]) == (pallet, name):
                    return count, event["fields"]
        raise AssertionError(f"no {pallet}.{name} in {limit} blocks")

    def count(self, pallet: str, item: str) -> int:
        """Return the number of entries of a storage map."""
        prefix = "0x" + self.metadata.storage(pallet, item).prefix.hex()
        return len(self.call("state_getKeysPaged", prefix, 1000))

    def value(self, pallet: str, item: str, *keys: Any) -> Any:
        """Return a decoded storage value."""
        storage = self.metadata.storage(pallet, item)
        stored = self.call("state_getStorage", "0x" + storage.key(*keys).hex())
        return storage.decode(None if stored is None else bytes.fromhex(stored[2:]))

    def value_at(self, block: str, pallet: str, item: str) -> Any:
        """Return a decoded storage value at a block."""
        storage = self.metadata.storage(pallet, item)
        stored = self.call("state_getStorage", "0x" + storage.key().hex(), block)
        return storage.decode(None if stored is None else bytes.fromhex(stored[2:]))


def share_compiled(home: Path) -> None:
    """Let a node of this home find the runtimes that the tests have compiled: each takes ten seconds."""
    compiled = os.environ.get("CFNODE_CACHE")
    place = home / ".cache" / "cfnode"
    if compiled and not place.exists():
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(compiled, target_is_directory=True)


FAILURES = ("ExtrinsicFailed", "WitnessExecutionFailed", "FailedExecution", "DepositWitnessRejected")


def named(events: Sequence[Event], name: str) -> list[Any]:
    """Return the fields of all events of a name."""
    return [event["fields"] for event in events if event["name"] == name]


def address_text(ready: dict[str, Any]) -> str:
    """Return the text of a channel's address."""
    kind, raw = ready["deposit_address"]
    return bytes.fromhex(raw[2:]).decode() if kind == "Btc" else str(raw)


@contextmanager
def playing(spec: Path | None, folder: Path, *flags: str, log_name: str = "node.log") -> Iterator[Play]:
    """Yield a node of the chain, whose broker is //Alice; `spec` None: in the development runtime."""
    share_compiled(folder)
    chain = [] if spec is None else [f"--chain={spec}"]
    paced = any(flag.startswith(("--dev-seal", "--dev-block-time")) for flag in flags)
    seal = [] if paced else ["--dev-seal=manual"]
    arguments = (*chain, "--dev", *seal, "--dev-broker=//Alice", "--no-prometheus")
    with running_node(folder, *arguments, *flags, log_name=log_name) as node:
        yield Play(node)
