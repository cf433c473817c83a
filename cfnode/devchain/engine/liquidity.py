"""The first liquidity of a pool, by the chain's own ways, as an account of the engine's.

An account without special rights brings it: the council makes the pool, the account is funded and registered,
opens deposit channels, receives deposits that the engine witnesses, and places one order over all prices. One
step is taken in each block; which one is next is read from the state.

Later its order gets another price and depth as the development runtime's does: the council writes them into
the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from cfnode.core.addresses import NETWORKS, EncodedAddress, encode_foreign_address
from cfnode.core.amm import MAX_TICK, MIN_TICK, liquidity_for_quote, sqrt_price_of_amounts, tick_at
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.hashing import blake2_256
from cfnode.core.keys import Keypair
from cfnode.devchain.engine.answers import Answer, Reported
from cfnode.devchain.engine.block import BlockView, Call
from cfnode.devchain.engine.events import RefusedWish, deposit, funding
from cfnode.devchain.engine.situation import Situation
from cfnode.devchain.runtime.config import DevPool
from cfnode.devchain.runtime.pallets.pools.first_liquidity import POOL_FEE

__all__ = ["PROVIDER", "Provision"]

PROVIDER: Final = Keypair.from_suri("//Engine//Liquidity").repeatable()
"""The account that provides the first liquidity."""
PROVIDER_FUNDS: Final = 1_000 * 10**18
ORDER_ID: Final = 0
QUOTE: Final = "Usdc"
PRICE_BITS: Final = 128

Step = Call | Callable[[Situation], Iterable[Answer]]
"""A call for the council, or answers of the engine."""


@dataclass(frozen=True, slots=True)
class Provision:
    """The wish for a pool of an asset: price of a whole unit, and USDC in the pool, both in microdollars."""

    asset: str
    price: int | None
    depth: int | None

    def next_step(self, block: BlockView) -> Step | None:
        """Return what is to be done in the next block; None if the pool has its liquidity."""
        if not block.has_call("LiquidityPools", "set_range_order"):
            raise RefusedWish("this release makes pools and orders by calls that the engine does not know")
        assets = {"base_asset": self.asset, "quote_asset": QUOTE}
        if block.stored("LiquidityPools", "Pools", _pair(self.asset)) is None:
            fields = {"fee_hundredth_pips": POOL_FEE, "initial_price": self._initial_price()}
            return block.call("LiquidityPools", "new_pool", **assets, **fields)
        if self._has_order(block):
            return None
        if block.stored("Flip", "Account", PROVIDER.account) is None:
            return lambda situation: [funding(situation, PROVIDER.account, PROVIDER_FUNDS)]
        if block.value("AccountRoles", "AccountRoles", PROVIDER.account) != "LiquidityProvider":
            return self._signed(block.call("LiquidityProvider", "register_lp_account"))
        for asset, amount in self._amounts().items():
            if (step := self._filling(block, asset, amount)) is not None:
                return step
        amounts = {"base": self._amounts()[self.asset], "quote": self._amounts()[QUOTE]}
        none = dict.fromkeys(amounts, 0)
        size = ("AssetAmounts", {"maximum": _named(amounts), "minimum": _named(none)})
        ticks = {"start": MIN_TICK, "end": MAX_TICK}
        order = {"id": ORDER_ID, "option_tick_range": ticks, "size": size}
        return self._signed(block.call("LiquidityPools", "set_range_order", **assets, **order))

    def refilled(self, block: BlockView) -> Call | None:
        """Return the call by which the council gives the pool's order another price and depth, as storage.

        What is not wished for stays; None if the pool has no order. Raises RefusedWish for a pool with other
        range orders: what they hold depends on the price, so only swaps can move it.
        """
        if not self._has_order(block):
            return None
        pool = block.value("LiquidityPools", "Pools", _pair(self.asset))
        ranges = pool["pool_state"]["range_orders"]
        if {key[0][0] for key, _ in ranges["positions"]} != {PROVIDER.account}:
            raise RefusedWish(f"other accounts have range orders for {self.asset}: only swaps move its price")
        root, liquidity = ranges["current_sqrt_price"], ranges["current_liquidity"]
        if self.price is not None:
            root = sqrt_price_of_amounts(10 ** ASSETS[self.asset].decimals, self.price)
        if self.depth is not None:
            liquidity = liquidity_for_quote(root, self.depth)
        state = {"current_sqrt_price": root, "current_tick": tick_at(root), "current_liquidity": liquidity}
        return block.stores("LiquidityPools", "Pools", _pair(self.asset), _with_liquidity(pool, state))

    def _filling(self, block: BlockView, asset: str, amount: int) -> Step | None:
        """Return the next step towards the provider's balance of an asset; None if it is there."""
        chain = ASSETS[asset].chain
        if int(block.value("AssetBalances", "FreeBalances", PROVIDER.account, asset) or 0) >= amount:
            return None
        if block.value("AssetBalances", "RefundAddresses", PROVIDER.account, chain) is None:
            refund = {"address": _address_on(chain)}
            return self._signed(
                block.call("LiquidityProvider", "register_liquidity_refund_address", **refund)
            )
        address = _channel(block, chain, asset)
        if address is None:
            call = block.call("LiquidityProvider", "request_liquidity_deposit_address", asset=asset)
            return self._signed(call)
        return lambda situation: deposit(situation, address, asset, amount, None)

    def _signed(self, call: Call) -> Step:
        return lambda _situation: [Reported(PROVIDER.public, call)]

    def _has_order(self, block: BlockView) -> bool:
        pool = block.value("LiquidityPools", "Pools", _pair(self.asset))
        return pool is not None and bool(pool["pool_state"]["range_orders"]["positions"])

    def _amounts(self) -> dict[str, int]:
        """Return the amounts of both assets, in their smallest units."""
        depth = self.depth or DevPool(self.asset).depth
        units = Fraction(depth, self._price()) * 10 ** ASSETS[self.asset].decimals
        return {self.asset: int(units), QUOTE: depth}

    def _initial_price(self) -> int:
        """Return the price of the smallest unit in smallest units of USDC, with 128 binary places."""
        price = Fraction(self._price(), 10 ** ASSETS[self.asset].decimals)
        return int(price * (1 << PRICE_BITS))

    def _price(self) -> int:
        return DevPool(self.asset, self.price).microdollars


def _with_liquidity(pool: dict[str, Any], state: dict[str, int]) -> dict[str, Any]:
    """Return a pool whose one order, over all prices, has the liquidity of another state."""
    ranges, liquidity = pool["pool_state"]["range_orders"], state["current_liquidity"]
    at_tick = {MIN_TICK: liquidity, MAX_TICK: -liquidity}
    ends = [
        (tick, {**end, "liquidity_delta": at_tick[tick], "liquidity_gross": liquidity})
        for tick, end in ranges["liquidity_map"]
    ]
    positions = [(key, {**position, "liquidity": liquidity}) for key, position in ranges["positions"]]
    changed = {**ranges, **state, "liquidity_map": ends, "positions": positions}
    return {**pool, "pool_state": {**pool["pool_state"], "range_orders": changed}}


def _named(amounts: dict[str, int]) -> dict[str, int]:
    """Return amounts of a pair, under today's name of its second asset and under the earlier one."""
    return amounts | {"pair": amounts["quote"]}


def _pair(asset: str) -> dict[str, Any]:
    return {"assets": {"base": asset, "quote": QUOTE, "zero": asset, "one": QUOTE}}


def _address_on(chain: str) -> EncodedAddress:
    unique = blake2_256(b"cfnode engine: liquidity")
    if chain == "Bitcoin":
        return encode_foreign_address((CHAINS[chain].address, ("P2WPKH", unique[:20])), NETWORKS["Mainnet"])
    return CHAINS[chain].address, unique[:20] if chain == "Ethereum" else unique


def _channel(block: BlockView, chain: str, asset: str) -> EncodedAddress | None:
    """Return the address of the provider's open channel for an asset."""
    for (account,), channel in block.entries(f"{chain}IngressEgress", "DepositChannelLookup"):
        match channel["action"]:
            case ("LiquidityProvision", {"lp_account": PROVIDER.account}):
                if channel["deposit_channel"]["asset"] == asset:
                    network = NETWORKS[str(block.value("Environment", "ChainflipNetworkEnvironment"))]
                    return encode_foreign_address((CHAINS[chain].address, account), network)
    return None
