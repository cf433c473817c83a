"""What a new development chain says about swaps, deposits and its brokers."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from tests.devchain.runtime.broker import Broker
from tests.devchain.runtime.world import ALICE, World

API = "CustomRuntimeApi_cf_"


@pytest.fixture(scope="module")
def world() -> World:
    """Return a new chain; no test of this file changes it."""
    return World()


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("SwapRetryDelay", 5),
        ("MaxSwapRetryDurationBlocks", 600),
        ("MaxSwapRequestDurationBlocks", 14_400),
        ("BrokerBond", 100 * 10**18),
        ("NetworkFee", {"rate": 1_000, "minimum": 500_000}),
        ("InternalSwapNetworkFee", {"rate": 100, "minimum": 500_000}),
        ("FlipBuyInterval", 100),
        ("SwapRequestIdCounter", 0),
    ],
)
def test_swapping_begins_with_the_main_nets_figures(world: World, item: str, value: Any) -> None:
    """Begin with the figures of swapping that the main net has."""
    assert world.stored("Swapping", item) == value


def test_stable_tokens_are_protected_more_closely_than_others(world: World) -> None:
    """Protect stable tokens to 50 basis points and others to 100 by default."""

    def protection(base: str) -> Any:
        pair = {"assets": {"base": base, "quote": "Usdc"}}
        return world.stored("Swapping", "DefaultOraclePriceSlippageProtection", pair)

    assert [protection(asset) for asset in ("Usdt", "SolUsdc", "Eth", "Btc")] == [50, 50, 100, 100]


@pytest.mark.parametrize(
    ("chain", "lifetime", "margin"),
    [
        ("Ethereum", 6_171, 2),
        ("Bitcoin", 144, 2),
        ("Arbitrum", 345_600, 1),
        ("Solana", 216_000, 1),
        ("Assethub", 7_200, None),
        ("Tron", 28_800, 19),
        ("Polkadot", 14_400, None),
    ],
)
def test_channels_live_a_day_and_deposits_wait_for_a_margin(
    world: World, chain: str, lifetime: int, margin: int | None
) -> None:
    """Begin with each chain's channel lifetime of a day or so, its safety margin, and no opening fee."""
    pallet = f"{chain}IngressEgress"
    assert world.stored(pallet, "DepositChannelLifetime") == lifetime
    assert world.stored(pallet, "WitnessSafetyMargin") == margin
    assert world.stored(f"{chain}Vault", "ChainInitialized") is True
    assert world.api(API + "channel_opening_fee", chain) == 0


def test_every_asset_has_a_minimum_deposit_and_a_dust_limit(world: World) -> None:
    """Give every asset a minimum deposit above zero and a dust limit."""
    for asset in ASSETS.values():
        pallet = f"{asset.chain}IngressEgress"
        assert world.stored(pallet, "MinimumDeposit", asset.name) > 0, asset.name
        dust = 600 if asset.name == "Btc" else 1
        assert world.stored(pallet, "EgressDustLimit", asset.name) == dust


def test_the_first_questions_of_a_broker_are_answered(world: World) -> None:
    """Answer what a broker asks first: network, funding, tax, role, balance and preallocated channels."""
    assert world.api(API + "network_environment") == "Development"
    assert world.api(API + "min_funding") == 10**18
    assert world.api(API + "redemption_tax") < 10**18
    assert world.api(API + "account_role", ALICE.account) == "Unregistered"
    assert world.api(API + "account_role", b"absent" + bytes(26)) is None
    assert world.api(API + "account_flip_balance", ALICE.account) == 1_000_000 * 10**18
    assert world.api(API + "get_preallocated_deposit_channels", ALICE.account, "Bitcoin") == []


def test_free_balances_stand_by_chain_and_symbol() -> None:
    """List free balances of all assets by chain and symbol, and as fees in the broker's info."""
    broker = Broker()
    with broker.arranging() as runtime:
        for asset in ASSETS.values():
            runtime.pallet(AssetBalances).credit(broker.account, asset.name, 1_000 + asset.index)
    balances = broker.world.api(API + "free_balances", broker.account)
    assert list(balances) == ["eth", "dot", "btc", "arb", "sol", "hub", "tron", "bsc"]
    assert balances["hub"] == {"dot": 1_011, "usdt": 1_012, "usdc": 1_013}
    assert sum(len(symbols) for symbols in balances.values()) == 21
    info = broker.world.api(API + "broker_info", broker.account)
    assert dict(info["earned_fees"]) == {name: 1_000 + asset.index for name, asset in ASSETS.items()}
    assert (info["btc_vault_deposit_address"], info["affiliates"], info["bond"]) == (None, [], 0)


def test_a_balance_that_reaches_zero_leaves_no_entry() -> None:
    """Remove the entry of a balance that reaches zero: storage would grow with every account that left."""
    broker = Broker()
    with broker.arranging() as runtime:
        balances = runtime.pallet(AssetBalances)
        balances.credit(broker.account, "Usdc", 5)
        balances.debit(broker.account, "Usdc", 5)
        assert list(balances.FreeBalances.items(broker.account)) == []
