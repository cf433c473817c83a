"""The pools of a new development chain, and what runtime APIs return of them."""

from __future__ import annotations

import pytest

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.config import DevGenesis, DevPool
from cfnode.devchain.runtime.pallets.ingress_egress.boost import BOOSTER
from cfnode.devchain.runtime.pallets.pools.first_liquidity import MAKER
from tests.devchain.runtime.broker import request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, Swapper
from tests.devchain.runtime.world import World

API = "CustomRuntimeApi_cf_"


@pytest.fixture(scope="module")
def world() -> World:
    """Return a new chain; no test of this file changes it."""
    return World()


def test_every_asset_has_a_pool_but_usdc_and_that_of_the_chain_that_was_left(world: World) -> None:
    """Open a pool for every asset but USDC itself and the deprecated DOT."""
    pools = world.api(API + "pools")
    assert {pool["quote"] for pool in pools} == {"Usdc"}
    assert {pool["base"] for pool in pools} == set(ASSETS) - {"Usdc", "Dot"}


def test_a_price_is_returned_for_both_directions(world: World) -> None:
    """Return prices for selling and buying, apart by the pool's fee."""
    kind, prices = world.api(API + "pool_price_v2", "Eth", "Usdc")
    assert kind == "Ok"
    assert prices["sell"] < prices["range_order"] < prices["buy"]
    selling = world.api(API + "pool_price", "Eth", "Usdc")
    buying = world.api(API + "pool_price", "Usdc", "Eth")
    assert (selling["sqrt_price"], buying["sqrt_price"]) == (prices["sell"], prices["buy"])
    assert selling["price"] * 10**18 >> 128 == 2_799_943_999  # 2,800 USDC less 20 millionths
    assert buying["tick"] == -196_947


def test_there_is_no_price_without_a_pool(world: World) -> None:
    """Answer without a price, or with PoolDoesNotExist, for a pair without a pool."""
    assert world.api(API + "pool_price", "Eth", "Btc") is None
    text = b"PoolDoesNotExist"
    for base, quote in (("Eth", "Btc"), ("Usdc", "Usdc")):
        assert world.api(API + "pool_price_v2", base, quote) == ("Err", ("Module", text))
        assert world.api(API + "pool_info", base, quote) == ("Err", ("Module", text))


def test_the_depth_of_all_prices_is_that_of_genesis(world: World) -> None:
    """Report the genesis depth of a pool over all prices, on both sides."""
    everything = {"start": -887_272, "end": 887_272}
    kind, depth = world.api(API + "pool_depth", "Btc", "Usdc", everything)
    assert kind == "Ok"
    assert 0 <= 10**13 - depth["bids"]["range_orders"]["depth"] < 10
    bitcoins = depth["asks"]["range_orders"]["depth"] / 10**8
    assert bitcoins == pytest.approx(10_000_000 / 86_500)
    kind, liquidity = world.api(API + "pool_liquidity", "Btc", "Usdc")
    assert [range_order["tick"] for range_order in liquidity["range_orders"]] == [-887_272, 887_272]
    assert liquidity["range_orders"][1]["liquidity"] == 0


def test_genesis_can_say_other_prices() -> None:
    """Take price and depth of a pool from the genesis configuration."""
    world = World(DevGenesis(pools=(DevPool("Eth", price=4_000 * 10**6, depth=10**9),)))
    _, prices = world.api(API + "pool_price_v2", "Eth", "Usdc")
    assert (prices["range_order"] ** 2 * 10**18 >> 192) == 3_999_999_999
    _, depth = world.api(API + "pool_depth", "Eth", "Usdc", {"start": -887_272, "end": 887_272})
    assert 0 <= 10**9 - depth["bids"]["range_orders"]["depth"] < 10


def test_the_makers_order_earns_the_fees_of_swaps() -> None:
    """Credit the fees of swaps to the maker's range order, and value its liquidity."""
    broker = Swapper()
    broker.deposit("Eth", "Btc", ETHER)
    broker.blocks(2)
    kind, orders = broker.world.api(API + "pool_orders", "Eth", "Usdc", None, False)
    assert (kind, orders["limit_orders"]) == ("Ok", {"asks": [], "bids": []})
    (order,) = orders["range_orders"]
    assert (order["lp"], order["range"]) == (MAKER, {"start": -887_272, "end": 887_272})
    earned = broker.pool("Eth").total_fees_earned
    assert 0 <= earned["base"] - order["fees_earned"]["base"] <= 1
    assert earned["base"] > 0
    assert broker.world.api(API + "pool_orders", "Eth", "Usdc", bytes(32), False)[1]["range_orders"] == []
    value = broker.world.api(
        API + "pool_range_order_liquidity_value", "Eth", "Usdc", order["range"], order["liquidity"]
    )
    depth = broker.pool("Eth").depth(-887_272, 887_272)
    assert value == ("Ok", {side: amount + 1 for side, amount in depth.items()})  # what it would take in


def test_boost_pools_are_listed_once_they_have_a_balance() -> None:
    """List a boost pool once it has a balance, with what is available and what is owed to it."""
    broker = Swapper()
    assert broker.world.api(API + "boost_pools_depth") == []
    assert broker.world.api(API + "boost_pool_details", "Btc") == []
    broker.dev("set_boost_depth", asset="Btc", amount=2 * BITCOIN)
    address = broker.opened(**request("Btc", "Eth", boost_fee=10))["deposit_address"]
    broker.announce(address, "Btc", BITCOIN)
    left = BITCOIN + BITCOIN * 5 // 10_000
    assert broker.world.api(API + "boost_pools_depth") == [
        {"asset": "Btc", "tier": 5, "available_amount": left}
    ]
    ((tier, details),) = broker.world.api(API + "boost_pool_details", "Btc")
    assert (tier, details["available_amounts"]) == (5, [(BOOSTER, left)])
    fee = BITCOIN * 5 // 10_000
    owed = {"total": BITCOIN - fee // 2, "fee": fee // 2}  # the other half is the network's
    assert details["pending_boosts"] == [(1, [(BOOSTER, owed)])]
