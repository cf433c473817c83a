"""Scenarios of a swap that both runtimes have, played from outside and read from the books of each chain."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cfnode.core.addresses import NETWORKS, address_to_text, encode_foreign_address
from cfnode.ledger.database import Database, sqlite_url
from tests.ledger.contents import rows
from tests.support.cli.commands import run
from tests.support.devchain.engine import RECEIVERS, Play, playing

ASSETS: Final = {
    "Eth": {"chain": "Ethereum", "asset": "ETH"},
    "Btc": {"chain": "Bitcoin", "asset": "BTC"},
    "Dot": {"chain": "Polkadot", "asset": "DOT"},
}
PRICES: Final = {"Eth": 2_500_000_000, "Btc": 60_000_000_000}
"""Prices of the pools, in microdollars."""
DEPTH: Final = 10_000_000_000_000
REFUND: Final = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
FEES: Final = ("ingress", "network", "broker", "egress")
UNRELATED: Final = ("TransactionPayment",)
"""Pallets whose events are of the authorities' calls: what engines report, they pay for."""
BLOCKS: Final = 12
"""Blocks after which each scenario has ended, on both chains."""


@dataclass(frozen=True)
class Booked:
    """What the books say of one scenario: events by pallet and name, amounts and fees by their names."""

    events: list[str]
    amounts: dict[str, int]


@dataclass(frozen=True)
class Chain:
    """A chain with two pools, whose broker is the node's; `bitcoin` is a user's address there."""

    play: Play
    books: str
    bitcoin: str

    def channel(self, source: str, target: str, commission_bps: int = 0) -> str:
        """Open a swap channel; return its address."""
        text = self.bitcoin if target == "Btc" else f"0x{RECEIVERS[target][1].hex()}"
        refund_address = self.bitcoin if source == "Btc" else REFUND
        refund = {"retry_duration": 0, "min_price": "0x0", "refund_address": refund_address}
        opened = self.play.call(
            "broker_request_swap_deposit_address", ASSETS[source], ASSETS[target], text, commission_bps,
            None, None, None, refund,
        )  # fmt: skip
        return str(opened["address"])

    def deposit(self, address: str, asset: str, amount: int) -> None:
        """Deposit an amount."""
        self.play.call("dev_deposit", address, asset, amount)

    def blocks(self, count: int = BLOCKS) -> None:
        """Add blocks."""
        for _ in range(count):
            self.play.call("dev_newBlock")

    def set_pools(self) -> None:
        """Set the pools to equal prices and depths."""
        for asset, price in PRICES.items():
            self.play.call("dev_setPool", asset, price, DEPTH)

    def head(self) -> int:
        """Return the number of the best block."""
        return int(self.play.call("chain_getHeader")["number"], 16)

    def booked(self, scenario: Scenario, amount: int) -> Booked:
        """Play a scenario with a deposit; return what the books say of its blocks."""
        self.set_pools()
        before = self.head()
        scenario(self, amount)
        self.blocks()
        self.play.call("dev_finalize")
        code, _, err = run("ledger", "run", "--node", self.play.node.url, "--database", self.books,
                           "--first-block", "1", "--once")  # fmt: skip
        assert (code, "differ" in err, "unknown shape" in err) == (0, False, False), err
        database = Database(self.books)
        try:
            return _booked(database, before)
        finally:
            database.close()


Scenario = Callable[[Chain, int], None]


def _booked(database: Database, before: int) -> Booked:
    """Return the facts of a scenario; the chain's own swaps, of fees, are left out."""
    own = {row["request"] for row in rows(database, "requests") if row["kind"] != "Regular"}

    def since(table: str) -> list[dict[str, Any]]:
        in_blocks = [row for row in rows(database, table) if row["block"] > before]
        return [row for row in in_blocks if row.get("request") not in own]

    amounts = {f"{kind} fee": 0 for kind in FEES}
    for row in since("fees"):
        if row["kind"] in FEES:
            amounts[f"{row['kind']} fee"] += row["amount"]
    for row in since("swaps"):
        if row["state"] == "executed":
            amounts |= {name: row[name] for name in ("input", "intermediate", "output")}
    for table, name in (("payouts", "payout"), ("commissions", "commission")):
        for row in since(table):
            amounts[name] = row["amount"]
    events = [
        f"{row['pallet']}.{row['name']}"
        for row in since("events")
        if row["pallet"] not in UNRELATED and json.loads(row["fields"]).get("swap_request_id") not in own
    ]
    return Booked(events, amounts)


@contextmanager
def both(spec: Path, folder: Path) -> Iterator[Sequence[Chain]]:
    """Yield a chain in the development runtime, and one in the genesis runtime, with equal pools."""
    flags = ("--dev-seal=instant", "--state-pruning=archive")
    with (
        playing(None, _new(folder / "dev"), *flags) as dev,
        playing(spec, _new(folder / "real"), *flags) as real,
    ):
        chains = [
            Chain(play, sqlite_url(folder / f"{network}.sqlite"), _bitcoin_address(network))
            for network, play in (("Development", dev), ("Mainnet", real))
        ]
        for chain in chains:
            chain.blocks(1)
            chain.set_pools()  # made now, and set to these figures before each scenario
        yield chains


def _bitcoin_address(network: str) -> str:
    return address_to_text(encode_foreign_address(("Btc", ("P2WPKH", b"\x11" * 20)), NETWORKS[network]))


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


# The scenarios


def regular_swap(chain: Chain, amount: int) -> None:
    """Play a swap of ether to bitcoin."""
    chain.deposit(chain.channel("Eth", "Btc"), "Eth", amount)


def commission(chain: Chain, amount: int) -> None:
    """Play a swap of ether to bitcoin with a commission of a quarter of a percent."""
    chain.deposit(chain.channel("Eth", "Btc", 25), "Eth", amount)


def failed_transfer(chain: Chain, amount: int) -> None:
    """Play a swap of bitcoin to ether, whose receiver refuses the ether."""
    receiver = "0x" + RECEIVERS["Eth"][1].hex()
    chain.play.call("dev_failReceiver", receiver, "Eth")
    chain.deposit(chain.channel("Btc", "Eth"), "Btc", amount)
    chain.blocks()
    chain.play.call("dev_failReceiver", receiver, "Eth", False)


def aborted_transaction(chain: Chain, amount: int) -> None:
    """Play a swap of bitcoin to ether, whose transaction no authority can send."""
    chain.blocks()
    chain.play.call("dev_abortBroadcast", "Ethereum")
    chain.deposit(chain.channel("Btc", "Eth"), "Btc", amount)


def late_transaction(chain: Chain, amount: int) -> None:
    """Play a swap of bitcoin to ether, whose transaction is held for some blocks."""
    chain.play.call("dev_holdBroadcasts", "Ethereum", True)
    chain.deposit(chain.channel("Btc", "Eth"), "Btc", amount)
    chain.blocks()
    chain.play.call("dev_holdBroadcasts", "Ethereum", False)


SCENARIOS: Final[dict[str, tuple[Scenario, int]]] = {
    "a regular swap": (regular_swap, 10**18),
    "a broker's commission": (commission, 10**18),
    "a transaction that is late": (late_transaction, 10**7),
    "a transfer of ether that fails": (failed_transfer, 10**7),
    "a transaction that no authority can send": (aborted_transaction, 10**7),
}
"""The scenarios of the guide that the genesis release has, each with its deposit."""
