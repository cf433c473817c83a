"""What a deposit and a transfer cost on each chain, by hand, from the rules of the chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.chains.evm import EvmCosts
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.pallets.chain_tracking import FIXED_ONE
from cfnode.devchain.runtime.pallets.ingress_egress.fees import (
    egress_estimate,
    fee_of,
    ingress_estimate,
    withhold,
)
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.releases import RELEASES
from tests.devchain.runtime.broker import GAS_ASSETS, typed_ccm
from tests.devchain.runtime.swapper import Swapper

TRACKED: dict[str, Any] = {
    "Ethereum": values.EthereumTrackedData(base_fee=7, priority_fee=3),
    "Arbitrum": values.ArbitrumTrackedData(base_fee=1_000, l1_base_fee_estimate=33),
    "Bitcoin": values.BitcoinTrackedData(values.BitcoinFeeInfo(1_999)),
    "Solana": values.SolTrackedData(20_000_001),
    "Assethub": values.AssethubTrackedData(
        median_tip=5,
        runtime_version=values.DotRuntimeVersion(spec_version=1, transaction_version=1),
    ),
    "Tron": (),
}
RENT = 2_039_280
L1_OF_CCM = -(-33 * 16 * 392 // 1_000)
ROWS = [
    # asset, deposit, vault swap, transfer, transfer with a message of 5 bytes and a budget of 100,000
    ("Eth", 50_000 * 10, 0, 70_000 * 10, 190_005 * 10),
    ("Usdc", 80_000 * 10, 0, 90_000 * 10, 220_005 * 10),
    ("ArbEth", 60_000_000, 0, 80_000_000, (190_005 + L1_OF_CCM) * 1_000),
    ("ArbUsdc", 90_000_000, 0, 100_000_000, (220_005 + L1_OF_CCM) * 1_000),
    ("Btc", 155, 155, 31 + 115 + 2 * 101, None),
    ("Sol", 5_000 + 763_501, 5_000 + 780_001, 5_000 + 18_001, 5_000 + 2_800_001),
    ("SolUsdc", 5_000 + 1_363_501, 5_000 + 780_001, 5_000 + 1_513_501 + RENT, 5_000 + 3_600_001 + RENT),
    ("HubDot", 197_300_005, 0, 197_450_005, 110_000_005),
    ("HubUsdc", 197_300_005, 0, 197_450_005, 110_000_005),
    ("Trx", 5_136_000, 0, 6_168_000, 16_673_000),
    ("TrxUsdt", 11_236_000, 0, 12_668_000, 23_173_000),
]


@pytest.fixture(scope="module")
def broker() -> Swapper:
    """Return a broker on a chain of 2.2.9 with known fees of all chains."""
    swapper = Swapper(config=DevGenesis(release="2.2.9"))
    with swapper.arranging() as runtime:
        for chain, tracked in TRACKED.items():
            tracking: Any = runtime.by_name[f"{chain}ChainTracking"]
            state = tracking.CurrentChainState
            state.put(replace(state.known(), tracked_data=tracked))
    return swapper


@pytest.mark.parametrize(("asset", "deposit", "vault", "transfer", "message"), ROWS)
def test_the_fee_of_each_kind_of_transport(
    broker: Swapper, asset: str, deposit: int, vault: int, transfer: int, message: int | None
) -> None:
    """Estimate the fee of each kind of transport by the chain's rule, computed here by hand."""
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS[ASSETS[asset].chain])
        assert ingress_estimate(pallet, asset) == deposit
        assert ingress_estimate(pallet, asset, "Vault") == vault
        assert egress_estimate(pallet, asset) == transfer
        if message is not None:
            assert egress_estimate(pallet, asset, typed_ccm(b"hello")) == message


@pytest.mark.parametrize(("asset", "doubled"), [("Eth", True), ("Sol", True), ("Trx", False)])
def test_a_multiplier_scales_all_fees_but_that_of_a_message_on_tron(
    broker: Swapper, asset: str, doubled: bool
) -> None:
    """Scale all fees by the multiplier, except a message's gas on Tron."""
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS[ASSETS[asset].chain])
        before = [f(pallet, asset) for f in (ingress_estimate, egress_estimate)]
        with_message = egress_estimate(pallet, asset, typed_ccm())
        pallet.tracking.FeeMultiplier.put(FIXED_ONE * 3 // 2)
        after = [f(pallet, asset) for f in (ingress_estimate, egress_estimate)]
        assert after == [fee * 3 // 2 for fee in before]
        assert egress_estimate(pallet, asset, typed_ccm()) == (
            with_message * 3 // 2 if doubled else with_message
        )
        pallet.tracking.FeeMultiplier.put(FIXED_ONE)


@pytest.mark.parametrize(("chain", "bits"), [("Bitcoin", 64), ("Solana", 64), ("Ethereum", 128)])
def test_no_fee_is_more_than_the_chain_can_count(chain: str, bits: int) -> None:
    """Clamp a fee to what the chain's amounts can hold."""
    swapper = Swapper()
    with swapper.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS[chain])
        pallet.tracking.FeeMultiplier.put(2**128 - 1)
        if chain == "Ethereum":
            state = pallet.tracking.CurrentChainState
            dear = values.EthereumTrackedData(base_fee=2**127, priority_fee=0)
            state.put(replace(state.known(), tracked_data=dear))
        for estimate in (ingress_estimate, egress_estimate):
            assert estimate(pallet, GAS_ASSETS[chain]) == 2**bits - 1


@pytest.mark.parametrize(
    ("chain", "budget", "limit"),
    [
        ("Ethereum", 10_000_000 - 90_000 - 5, 10_000_000),
        ("Ethereum", 10_000_000 - 90_000 - 6, 9_999_999),
        ("Ethereum", 2**100, 10_000_000),
        ("Arbitrum", 25_000_000 - 90_000 - 5 - L1_OF_CCM - 1, 24_999_999),
        ("Arbitrum", 2**100, 25_000_000),
        ("Tron", 2**100, 10**9),
        ("Tron", 0, 60_000 * 100 + 673_000),
    ],
)
def test_no_message_gets_more_gas_than_its_chain_allows(chain: str, budget: int, limit: int) -> None:
    """Clamp a message's gas to the limit of its chain."""
    data = RELEASES["2.2.9"].rules.tron_energy if chain == "Tron" else TRACKED[chain]
    costs = CHAIN_INSTANCES[chain].costs
    assert isinstance(costs, EvmCosts)
    assert costs.limit(data, True, budget, 5) == limit


def test_tron_took_less_energy_in_2_2_3() -> None:
    """Charge less energy on Tron in 2.2.3."""
    swapper = Swapper(config=DevGenesis(release="2.2.3"))
    with swapper.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS["Tron"])
        estimates = [
            (
                ingress_estimate(pallet, asset),
                egress_estimate(pallet, asset),
                egress_estimate(pallet, asset, typed_ccm(b"hello")),
            )
            for asset in ("Trx", "TrxUsdt")
        ]
    assert estimates == [(5_136_000, 5_668_000, 15_673_000), (11_136_000, 12_168_000, 22_173_000)]


def test_the_price_of_solanas_compute_units_has_a_floor() -> None:
    """Charge at least the minimum price for Solana's compute units."""
    swapper = Swapper()
    with swapper.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS["Solana"])
        assert ingress_estimate(pallet, "Sol") == 5_000 + 10 * 38_175


@pytest.mark.parametrize("chain", list(GAS_ASSETS))
def test_the_event_has_the_full_fee_in_the_chains_coin_even_of_a_smaller_deposit(chain: str) -> None:
    """State the full fee in the event even where the deposit was smaller; withhold what there was."""
    swapper, asset = Swapper(), GAS_ASSETS[chain]
    with swapper.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS[chain])
        estimate = ingress_estimate(pallet, asset)
        withheld = withhold(pallet, asset, estimate - 1, estimate)
        assert (withheld.remaining, withheld.fee) == (0, estimate)
        assert withheld == fee_of(pallet, asset, estimate - 1, estimate)
    assert swapper.world.stored("AssetBalances", "WithheldAssets", asset) == estimate - 1


def test_a_fee_in_a_token_is_no_more_than_there_is() -> None:
    """Charge a fee in a token up to the amount that there is."""
    swapper = Swapper()
    with swapper.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS["Ethereum"])
        estimate = ingress_estimate(pallet, "Usdc")
        whole = fee_of(pallet, "Usdc", 10**12, estimate)
        assert whole.remaining + whole.fee == 10**12
        assert fee_of(pallet, "Usdc", whole.fee, estimate).remaining == 0
        assert fee_of(pallet, "Usdc", whole.fee - 1, estimate).fee == whole.fee - 1
        assert fee_of(pallet, "Usdc", 0, estimate).fee == 0
