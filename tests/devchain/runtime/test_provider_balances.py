"""What a liquidity provider owns and has earned, as runtime APIs return it: nothing is lost in orders."""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.ingress_egress.boost import BOOSTER
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC
from tests.devchain.runtime.world import BOB
from tests.support.devchain.api import ask
from tests.support.devchain.market import Market


def amount_in(market: Market, name: str, asset: str, *arguments: Any) -> int:
    """Return Bob's amount of an asset in the answer of an API that lists amounts by asset."""
    answer = ask(market.world, name, BOB.account, *arguments)
    answer = answer.get("earned_fees", answer)
    amount: int = answer[CHAIN_INSTANCES[ASSETS[asset].chain].module][ASSETS[asset].symbol.lower()]
    return amount


def test_amounts_in_orders_count_as_the_providers() -> None:
    """Count amounts in orders as the provider's: the total stays equal wherever they lie."""
    market = Market()
    whole = {asset: amount_in(market, "cf_lp_total_balances", asset) for asset in ("Eth", "Usdc", "Btc")}
    assert whole == {"Eth": 1_000 * ETHER, "Usdc": 10**13, "Btc": 100 * BITCOIN}
    assert market.limit("Sell", market.tick + 10, ETHER) == "Ok"
    assert market.limit("Buy", market.tick - 10, 5 * USDC, id=2) == "Ok"
    assert market.ranged(market.tick - 1000, market.tick + 1000, 10**12) == "Ok"
    assert amount_in(market, "cf_free_balances", "Eth") == market.owned("Eth") < 999 * ETHER
    assert amount_in(market, "cf_free_balances", "Usdc") == market.owned("Usdc") < 10**13 - 5 * USDC
    for asset, amount in whole.items():
        assert amount_in(market, "cf_lp_total_balances", asset) == amount


def test_the_earnings_of_orders_are_listed_before_they_are_paid_out() -> None:
    """List the earnings of orders before they are paid out, and store them only with the next update."""
    market = Market()
    assert market.ranged(market.tick - 1000, market.tick + 1000, 10**17) == "Ok"
    before = market.owned("Usdc")
    market.deposit("Usdc", "Eth", 10_000 * USDC)
    market.blocks(2)
    paid = [market.owned("Usdc"), amount_in(market, "cf_liquidity_provider_info", "Usdc", "No")]
    assert paid == [before, 0]
    earned = amount_in(market, "cf_liquidity_provider_info", "Usdc", "Yes")
    assert earned > 0
    assert amount_in(market, "cf_free_balances", "Usdc") == before + earned
    common = ask(market.world, "cf_common_account_info", BOB.account, "Yes")["asset_balances"]
    assert common["eth"]["usdc"] == before + earned
    infos = {
        account["common_items"]["account_id"]: account
        for account in ask(market.world, "cf_all_account_infos", None)
    }
    role, mine = infos[BOB.account]["role"]
    assert (role, mine["earned_fees"]["eth"]["usdc"]) == ("LiquidityProvider", earned)
    assert infos[BOB.account]["common_items"]["asset_balances"] == common
    assert [market.owned("Usdc"), amount_in(market, "cf_liquidity_provider_info", "Usdc", "No")] == paid
    assert market.ranged(market.tick - 1000, market.tick + 1000, 10**17) == "Ok"  # sweeps
    assert amount_in(market, "cf_liquidity_provider_info", "Usdc", "No") == earned


def test_a_providers_refund_addresses_are_listed_by_chain() -> None:
    """List a provider's refund addresses for every chain, empty where none is registered."""
    market = Market()
    info = ask(market.world, "cf_liquidity_provider_info", BOB.account, "Yes")
    addresses = dict(info["refund_addresses"])
    assert list(addresses) == list(RELEASES[DEFAULT_RELEASE].chains)
    assert {chain for chain, address in addresses.items() if address} == {"Ethereum", "Bitcoin"}
    assert addresses["Ethereum"] == address_on("Ethereum")


def test_the_boosters_balance_is_available_or_in_use() -> None:
    """Split a booster's balance into what is available and what is in use."""
    market = Market()
    with market.arranging() as runtime:
        runtime.pallet(AssetBalances).FreeBalances.put(BOOSTER, "Btc", 7 * BITCOIN)
    (tier,) = ask(market.world, "cf_liquidity_provider_info", BOOSTER, "Yes")["boost_balances"]["btc"]["btc"]
    assert tier == {
        "fee_tier": 5,
        "total_balance": 7 * BITCOIN,
        "available_balance": 7 * BITCOIN,
        "in_use_balance": 0,
        "is_withdrawing": False,
    }
