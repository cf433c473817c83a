"""A broker whose users pay into channels: what the tests of swaps have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core.addresses import EncodedAddress
from cfnode.core.amm import RangePool
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from tests.devchain.runtime.broker import Broker, request
from tests.devchain.runtime.world import bare_extrinsic

ETHER = 10**18
BITCOIN = 10**8
USDC = 10**6
QUIET = ("System.", "Timestamp.", "TransactionPayment.")


class Swapper(Broker):
    """Opens channels, pays into them, and lets blocks go by."""

    def dev(self, name: str, **arguments: Any) -> str:
        """Apply a call of the Dev pallet in a block; "Ok" or the error's name."""
        ((included, outcome),) = self.world.block(bare_extrinsic(self.world.call("Dev", name, **arguments)))
        assert included == "Ok", outcome
        return "Ok" if outcome[0] == "Ok" else self.error_name(outcome[1])

    def pay(
        self, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None = None
    ) -> list[str]:
        """See a deposit; the events of the block's end."""
        arguments = {"deposit_address": address, "asset": asset, "amount": amount, "transaction": transaction}
        assert self.dev("witness_deposit", **arguments) == "Ok"
        return self.happened()

    def announce(
        self, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None = None
    ) -> list[str]:
        """See a deposit before it is final; the events of the block's end."""
        arguments = {"deposit_address": address, "asset": asset, "amount": amount, "transaction": transaction}
        assert self.dev("prewitness_deposit", **arguments) == "Ok"
        return self.happened()

    def deposit(self, source: str, destination: str, amount: int, **changes: Any) -> list[str]:
        """Open a channel and pay into it; the events of the end of the deposit's block."""
        opened = self.opened(**request(source, destination, **changes))
        return self.pay(opened["deposit_address"], source, amount)

    def blocks(self, count: int) -> list[list[str]]:
        """Let empty blocks go by; what happened at the end of each."""
        blocks = []
        for _ in range(count):
            self.world.block()
            blocks.append(self.happened())
        return blocks

    def happened(self) -> list[str]:
        """Return the events of the block's end, without those of the chains' clocks."""
        return [
            f"{pallet}.{name}"
            for phase, pallet, name, _ in self.world.events()
            if phase == "Finalization" and name != "ChainStateUpdated"
        ]

    def all_of(self, name: str) -> list[Mapping[str, Any]]:
        """Return the fields of all the block's events of this name."""
        return [fields for _, _, event, fields in self.world.events() if event == name]

    def pool(self, asset: str) -> RangePool:
        """Return an asset's pool at the best block."""
        with self.arranging() as runtime:
            return runtime.pallet(PoolsStorage).pool(asset).range_orders

    def balance(self, account: bytes, asset: str = "Usdc") -> int:
        """Return the earned balance of an account."""
        amount: int = self.world.stored("AssetBalances", "FreeBalances", account, asset)
        return amount

    def scheduled(self) -> dict[int, Any]:
        """Return the scheduled swaps by id."""
        return dict(self.world.stored("Swapping", "ScheduledSwaps"))
