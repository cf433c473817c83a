"""What governance changes: storage, events, and what it does to swaps, deposits and pools."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.amm import price_of, sqrt_price_at
from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime.config import FLIP
from tests.devchain.runtime.broker import refund, request
from tests.devchain.runtime.swapper import ETHER, USDC, Swapper
from tests.devchain.runtime.world import bare_extrinsic

ETH_POOL = {"base_asset": "Eth", "quote_asset": "Usdc"}


class Governed(Swapper):
    """A broker on a chain whose governance does what a test says."""

    def govern(self, pallet: str, name: str, **arguments: Any) -> str:
        """Make a call as governance; return the outcome."""
        return self.dev("as_governance", call=(pallet, (name, arguments)))

    def update(self, pallet: str, *updates: Any) -> str:
        """Update settings of a pallet as governance; return the outcome."""
        return self.govern(pallet, "update_pallet_config", updates=list(updates))


@pytest.fixture
def chain() -> Governed:
    """Return a broker on a chain with its governance."""
    return Governed()


SWAPPING: list[tuple[str, dict[str, Any], tuple[str, list[Any]], Any]] = [
    ("MaximumSwapAmount", {"asset": "Eth", "amount": 5}, ("MaximumSwapAmount", ["Eth"]), 5),
    ("SwapRetryDelay", {"delay": 7}, ("SwapRetryDelay", []), 7),
    ("FlipBuyInterval", {"interval": 9}, ("FlipBuyInterval", []), 9),
    ("SetMaxSwapRetryDuration", {"blocks": 11}, ("MaxSwapRetryDurationBlocks", []), 11),
    ("SetMaxSwapRequestDuration", {"blocks": 13}, ("MaxSwapRequestDurationBlocks", []), 13),
    ("SetMinimumChunkSize", {"asset": "Btc", "size": 15}, ("MinimumChunkSize", ["Btc"]), 15),
    ("SetBrokerBond", {"bond": 17}, ("BrokerBond", []), 17),
    (
        "SetNetworkFee",
        {"rate": 19, "minimum": None},
        ("NetworkFee", []),
        {"rate": 19, "minimum": 500_000},
    ),
    (
        "SetInternalSwapNetworkFee",
        {"rate": None, "minimum": 21},
        ("InternalSwapNetworkFee", []),
        {"rate": 100, "minimum": 21},
    ),
    ("SetNetworkFeeForAsset", {"asset": "Sol", "rate": 23}, ("NetworkFeeForAsset", ["Sol"]), 23),
    (
        "SetInternalSwapNetworkFeeForAsset",
        {"asset": "Sol", "rate": 25},
        ("InternalSwapNetworkFeeForAsset", ["Sol"]),
        25,
    ),
    (
        "SetDefaultOraclePriceSlippageProtectionForAsset",
        ETH_POOL | {"bps": 27},
        ("DefaultOraclePriceSlippageProtection", [{"assets": {"base": "Eth", "quote": "Usdc"}}]),
        27,
    ),
]


@pytest.mark.parametrize(("name", "terms", "place", "value"), SWAPPING)
def test_each_setting_of_swaps(chain: Governed, name: str, terms: Any, place: Any, value: Any) -> None:
    """Store each setting of swaps under its own item, with its event."""
    assert chain.update("Swapping", (name, terms)) == "Ok"
    assert chain.event("PalletConfigUpdated") == {"update": (name, terms)}
    item, keys = place
    assert chain.world.stored("Swapping", item, *keys) == value


def test_a_setting_of_none_is_the_common_one_again(chain: Governed) -> None:
    """Return an asset to the common setting where its own is removed."""
    own, none = ({"asset": "Sol", "rate": rate} for rate in (23, None))
    slippage = ETH_POOL | {"bps": 27}
    chain.update(
        "Swapping",
        ("SetNetworkFeeForAsset", own),
        ("SetDefaultOraclePriceSlippageProtectionForAsset", slippage),
    )
    chain.update(
        "Swapping",
        ("SetNetworkFeeForAsset", none),
        ("SetDefaultOraclePriceSlippageProtectionForAsset", slippage | {"bps": None}),
    )
    assert chain.world.stored("Swapping", "NetworkFeeForAsset", "Sol") is None
    pair = {"assets": {"base": "Eth", "quote": "Usdc"}}
    assert chain.world.stored("Swapping", "DefaultOraclePriceSlippageProtection", pair) == 100


@pytest.mark.parametrize(
    ("update", "error"),
    [
        (("SwapRetryDelay", {"delay": 0}), "ZeroSwapRetryDelayNotAllowed"),
        (("FlipBuyInterval", {"interval": 0}), "ZeroBuyIntervalNotAllowed"),
        (("SetMaxSwapRequestDuration", {"blocks": 1}), "MaxSwapRequestDurationTooShort"),
        (
            ("SetDefaultOraclePriceSlippageProtectionForAsset", ETH_POOL | {"bps": 0}),
            "ZeroDefaultSlippageNotAllowed",
        ),
        (
            (
                "SetDefaultOraclePriceSlippageProtectionForAsset",
                {"base_asset": "Usdc", "quote_asset": "Eth", "bps": 1},
            ),
            "PoolDoesNotExist",
        ),
    ],
)
def test_of_many_settings_all_are_made_or_none(chain: Governed, update: Any, error: str) -> None:
    """Apply all settings of a call or none: a valid one before a wrong one is not kept."""
    fine = ("SetBrokerBond", {"bond": 1})
    assert chain.update("Swapping", fine, update) == f"Swapping.{error}"
    assert chain.world.stored("Swapping", "BrokerBond") == 100 * FLIP


@pytest.mark.parametrize("pallet", ["Swapping", "LiquidityPools", "EthereumIngressEgress"])
def test_other_accounts_may_not_update_settings(chain: Governed, pallet: str) -> None:
    """Refuse updates of settings from accounts."""
    assert chain.submit(pallet, "update_pallet_config", updates=[]) == "BadOrigin"


def test_there_is_a_most_of_settings_at_once(chain: Governed) -> None:
    """Limit the settings of one call to the number that the official type allows."""
    for pallet, update, most in (
        ("Swapping", ("SetBrokerBond", {"bond": 1}), 100),
        ("EthereumIngressEgress", ("ChannelOpeningFeeEthereum", {"fee": 1}), 10),
        ("LiquidityPools", ("LimitOrderAutoSweepingThreshold", {"asset": "Eth", "amount": 1}), 100),
    ):
        for count in (most, most + 1):
            call = chain.world.call(pallet, "update_pallet_config", updates=[update] * count)
            try:
                chain.world.runtime.composition.check_bounds(chain.world.metadata.call_codec.decode(call))
            except ScaleError:
                assert count == most + 1
            else:
                assert count == most


def test_a_new_fee_is_that_of_the_next_swap(chain: Governed) -> None:
    """Charge a new fee from the next swap on."""
    dearer = ("SetNetworkFeeForAsset", {"asset": "Eth", "rate": 10_000})
    paid = []
    for _ in range(2):
        chain.deposit("Eth", "Btc", ETHER)
        chain.blocks(2)
        swapped = next(event for event in chain.all_of("SwapExecuted") if event["output_asset"] == "Btc")
        paid.append(swapped["network_fee"])
        chain.update("Swapping", dearer)
    assert paid[1] == pytest.approx(10 * paid[0], rel=0.01)


CHANNELS: list[tuple[str, dict[str, Any], tuple[str, list[Any]], Any]] = [
    ("ChannelOpeningFee", {"fee": FLIP}, ("ChannelOpeningFee", []), FLIP),
    ("SetMinimumDeposit", {"asset": "Usdc", "minimum_deposit": 9}, ("MinimumDeposit", ["Usdc"]), 9),
    ("SetDepositChannelLifetime", {"lifetime": 11}, ("DepositChannelLifetime", []), 11),
    ("SetWitnessSafetyMargin", {"margin": 3}, ("WitnessSafetyMargin", []), 3),
    ("SetBoostDelay", {"delay_blocks": 4}, ("BoostDelayBlocks", []), 4),
    (
        "SetMaximumPreallocatedChannels",
        {"account_role": "Broker", "num_channels": 5},
        ("MaximumPreallocatedChannels", ["Broker"]),
        5,
    ),
    ("SetIngressDelay", {"delay_blocks": 6}, ("IngressDelayBlocks", []), 6),
]


@pytest.mark.parametrize(("name", "terms", "place", "value"), CHANNELS)
def test_each_setting_of_a_chain(chain: Governed, name: str, terms: Any, place: Any, value: Any) -> None:
    """Store each setting of a foreign chain under its own item, with its event."""
    update = (f"{name}Ethereum", terms)
    assert chain.update("EthereumIngressEgress", update) == "Ok"
    assert chain.event("PalletConfigUpdated") == {"update": update}
    item, keys = place
    assert chain.world.stored("EthereumIngressEgress", item, *keys) == value


def test_an_opening_fee_and_a_least_deposit_hold_for_the_next(chain: Governed) -> None:
    """Apply a new opening fee and minimum deposit to the next channel and deposit."""
    pallet, least = "EthereumIngressEgress", {"asset": "Eth", "minimum_deposit": ETHER + 1}
    fee = ("ChannelOpeningFeeEthereum", {"fee": FLIP})
    assert chain.update(pallet, fee, ("SetMinimumDepositEthereum", least)) == "Ok"
    opened = chain.opened(**request("Eth", "Btc"))
    assert opened["channel_opening_fee"] == FLIP
    chain.pay(opened["deposit_address"], "Eth", ETHER)
    assert chain.event("DepositFailed")["reason"] == "BelowMinimumDeposit"


def test_a_deposit_waits_as_long_as_governance_wants(chain: Governed) -> None:
    """Hold deposits back for the delay that governance set, even if it is changed meanwhile."""
    chain.update("EthereumIngressEgress", ("SetIngressDelayEthereum", {"delay_blocks": 2}))
    opened = chain.opened(**request("Eth", "Btc"))
    assert chain.pay(opened["deposit_address"], "Eth", ETHER) == []
    chain.update("EthereumIngressEgress", ("SetIngressDelayEthereum", {"delay_blocks": 0}))
    assert chain.all_of("DepositFinalised") == []
    chain.world.block()
    assert chain.event("DepositFinalised")["amount"] == ETHER
    assert {phase for phase, _, name, _ in chain.world.events() if name == "DepositFinalised"} == {
        "Initialization"
    }


def test_transfers_cost_as_many_times_as_much_as_governance_wants(chain: Governed) -> None:
    """Multiply the egress fee as governance sets it, and refuse that call from accounts."""
    before = chain.world.api("CustomRuntimeApi_cf_egress_fee", "Btc")
    doubled = {"new_fee_multiplier": 2 * 10**18}
    assert chain.govern("BitcoinChainTracking", "update_fee_multiplier", **doubled) == "Ok"
    assert chain.event("FeeMultiplierUpdated") == doubled
    assert chain.world.api("CustomRuntimeApi_cf_egress_fee", "Btc") == 2 * before
    assert chain.submit("BitcoinChainTracking", "update_fee_multiplier", **doubled) == "BadOrigin"


def test_no_setting_stops_the_chain(chain: Governed) -> None:
    """Survive the largest delays: a block number that overflows would stop the chain."""
    most = 2**32 - 1
    chain.update("Swapping", ("SwapRetryDelay", {"delay": most}))
    chain.update("BitcoinIngressEgress", ("SetIngressDelayBitcoin", {"delay_blocks": most}))
    opened = chain.opened(**request("Btc", "Eth"))
    assert chain.pay(opened["deposit_address"], "Btc", 10**8) == []
    impossible = refund("Ethereum", min_price=2**255)
    chain.deposit("Eth", "Btc", ETHER, refund_parameters=impossible)
    chain.blocks(4)
    assert chain.all_of("DepositFinalised") == []


def test_transfers_are_held_back_and_let_go(chain: Governed) -> None:
    """Hold transfers of a disabled asset back, emit the change once, and send them once enabled."""
    egress = {"asset": "Btc", "set_disabled": True}
    assert chain.govern("BitcoinIngressEgress", "enable_or_disable_egress", **egress) == "Ok"
    assert chain.event("AssetEgressStatusChanged") == {"asset": "Btc", "disabled": True}
    chain.govern("BitcoinIngressEgress", "enable_or_disable_egress", **egress)
    assert chain.all_of("AssetEgressStatusChanged") == []
    chain.deposit("Eth", "Btc", ETHER)
    sent = "BitcoinIngressEgress.BatchBroadcastRequested"
    assert [block for block in chain.blocks(3) if sent in block] == []
    egress["set_disabled"] = False
    chain.govern("BitcoinIngressEgress", "enable_or_disable_egress", **egress)
    assert sent in chain.happened()


# Pools


def test_a_pool_is_opened_once_and_without_liquidity(chain: Governed) -> None:
    """Open a pool once, without liquidity; refuse wrong fees, prices and pairs."""
    pool = {"base_asset": "Dot", "quote_asset": "Usdc", "fee_hundredth_pips": 500}
    wrong = [
        ({"fee_hundredth_pips": 500_001}, "InvalidFeeAmount"),
        ({"initial_price": 0}, "InvalidInitialPrice"),
        ({"initial_price": 2**256 - 1}, "InvalidInitialPrice"),
        ({"base_asset": "Usdc"}, "PoolDoesNotExist"),
        ({"quote_asset": "Btc"}, "PoolDoesNotExist"),
        ({"base_asset": "Eth"}, "PoolAlreadyExists"),
    ]
    right = pool | {"initial_price": price_of(sqrt_price_at(1_000))}
    for changes, error in wrong:
        assert chain.govern("LiquidityPools", "new_pool", **(right | changes)) == f"LiquidityPools.{error}"
    assert chain.govern("LiquidityPools", "new_pool", **right) == "Ok"
    assert chain.event("NewPoolCreated") == right
    made = chain.pool("Dot")
    assert (made.fee_hundredth_pips, made.current_tick, made.current_liquidity) == (500, 999, 0)
    assert chain.govern("LiquidityPools", "new_pool", **right) == "LiquidityPools.PoolAlreadyExists"
    asked = ("Dot", "Usdc", 10**10, 0, None, None, [], None, None)
    kind, error = chain.world.api("CustomRuntimeApi_cf_pool_simulate_swap", *asked)
    refused = b"Simulated swap failed on the input leg: swap leg failed."
    assert (kind, error) == ("Err", ("RawMessage", refused))


def test_a_dearer_pool_gives_less(chain: Governed) -> None:
    """Return less from a pool whose fee is raised, and refuse a fee above half."""
    fee = ETH_POOL | {"fee_hundredth_pips": 500_000}

    def given() -> int:
        asked = ("Eth", "Usdc", ETHER, 0, None, None, [], None, None)
        _, answer = chain.world.api("CustomRuntimeApi_cf_pool_simulate_swap", *asked)
        amount: int = answer["output"]
        return amount

    before = given()
    assert chain.govern("LiquidityPools", "set_pool_fees", **fee) == "Ok"
    assert chain.event("PoolFeeSet") == fee
    assert given() == pytest.approx(before / 2, rel=0.01)
    too_much = fee | {"fee_hundredth_pips": 500_001}
    assert chain.govern("LiquidityPools", "set_pool_fees", **too_much) == "LiquidityPools.InvalidFeeAmount"


def test_the_threshold_of_paying_out_by_itself(chain: Governed) -> None:
    """Set the threshold of automatic payout for one asset, and leave the others as they are."""
    update = ("LimitOrderAutoSweepingThreshold", {"asset": "Eth", "amount": 77})
    assert chain.update("LiquidityPools", update, update) == "Ok"
    thresholds = dict(chain.world.stored("LiquidityPools", "LimitOrderAutoSweepingThresholds"))
    assert (thresholds["Eth"], thresholds["Usdc"]) == (77, 1_000 * USDC)


def test_a_call_of_governance_comes_from_no_peer(chain: Governed) -> None:
    """Refuse a governance call that comes from a peer."""
    call = chain.world.call(
        "Dev", "as_governance", call=("Swapping", ("update_pallet_config", {"updates": []}))
    )

    assert chain.world.validate(bare_extrinsic(call)) == ("Err", ("Invalid", "Call"))
