"""A broker, and a provider with money."""

from __future__ import annotations

from typing import Any

from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import BITCOIN, ETHER, Swapper
from tests.devchain.runtime.world import BOB

PAIR = {"base_asset": "Eth", "quote_asset": "Usdc"}


class Market(Swapper):
    """A broker, and Bob, who is a provider with money."""

    def __init__(self, config: DevGenesis | None = None) -> None:
        super().__init__(config=config)
        assert self.provide("register_lp_account") == "Ok"
        for chain in ("Ethereum", "Bitcoin"):
            assert self.provide("register_liquidity_refund_address", address=address_on(chain)) == "Ok"
        with self.arranging() as runtime:
            for asset, amount in (("Eth", 1_000 * ETHER), ("Usdc", 10**13), ("Btc", 100 * BITCOIN)):
                runtime.pallet(AssetBalances).FreeBalances.put(BOB.account, asset, amount)

    def provide(self, name: str, **arguments: Any) -> str:
        """Call the provider's pallet; return the outcome."""
        return self.submit("LiquidityProvider", name, BOB, **arguments)

    def order(self, name: str, **arguments: Any) -> str:
        """Change an order; return the outcome."""
        return self.submit("LiquidityPools", name, BOB, **(PAIR | arguments))

    def limit(self, side: str, tick: int | None, amount: int, **changes: Any) -> str:
        """Set a limit order; return the outcome."""
        usual = {"side": side, "id": 1, "option_tick": tick, "sell_amount": amount}
        times = {"dispatch_at": None, "close_order_at": None}
        return self.order("set_limit_order", **(usual | times | changes))

    def ranged(self, start: int, end: int, liquidity: int) -> str:
        """Set a range order; return the outcome."""
        ticks = {"start": start, "end": end}
        size = ("Liquidity", {"liquidity": liquidity})
        return self.order("set_range_order", id=1, option_tick_range=ticks, size=size)

    def owned(self, asset: str) -> int:
        """Return the provider's balance of an asset."""
        return self.balance(BOB.account, asset)

    @property
    def tick(self) -> int:
        """The tick of the pool's price."""
        return self.pool("Eth").current_tick

    def api(self, name: str, *arguments: Any) -> Any:
        """Return the answer of a method of CustomRuntimeApi, which must succeed."""
        kind, answer = self.world.api(f"CustomRuntimeApi_{name}", *arguments)
        assert kind == "Ok", answer
        return answer
