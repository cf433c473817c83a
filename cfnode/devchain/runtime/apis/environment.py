"""`CustomRuntimeApi` methods for the limits and fees of swaps, deposits and withdrawals."""

from __future__ import annotations

from typing import Annotated

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, method, struct
from cfnode.devchain.runtime.frame.classes import declared, u32
from cfnode.devchain.runtime.frame.stored import StoredMap, StoredValue
from cfnode.devchain.runtime.pallets.boost_funding import MIN_LENDING_PERCENT, NETWORK_PERCENT
from cfnode.devchain.runtime.pallets.ingress_egress.fees import egress_estimate, ingress_estimate
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS, IngressEgressStorage
from cfnode.devchain.runtime.pallets.pools.pallet import STABLE, pair_of
from cfnode.devchain.runtime.pallets.swap_requests.conversion import input_for_output
from cfnode.devchain.runtime.pallets.swap_requests.parameters import (
    ORACLE_ASSETS,
    check_dca,
    check_price_protection,
    check_retry,
)
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

from .answers import Answer, or_message

__all__ = ["EnvironmentApi"]

UNCONVERTED = frozenset({"Btc", "Dot"})
"""Coins whose fees are returned in the coin itself; fees in other assets include a swap."""

BOOST_CONFIG = values.BoostConfiguration(
    network_fee_deduction_from_boost_percent=NETWORK_PERCENT,
    minimum_add_funds_amount=[("Btc", 11_000)],
    min_lending_pool_share=MIN_LENDING_PERCENT,
)
"""The runtime's default rules of boosting."""

_API = "state_chain_runtime::runtime_apis::custom_api::types"


@declared("cf_traits::SwapLimits")
class SwapLimits:
    """For how many blocks a swap may be retried, and go on in chunks."""

    max_swap_retry_duration_blocks: u32
    max_swap_request_duration_blocks: u32


@declared(f"{_API}::NetworkFeeDetails")
class NetworkFeeDetails:
    """A network fee, and its rate for each asset."""

    standard_rate_and_minimum: values.FeeRateAndMinimum
    rates: Annotated[dict[str, dict[str, int]], "AssetMap<Permill>"]


@declared(f"{_API}::NetworkFees")
class NetworkFees:
    """The network fees of swaps for users, and of those inside the chain."""

    regular_network_fee: NetworkFeeDetails
    internal_swap_network_fee: NetworkFeeDetails


struct(
    "pallet_cf_lending_pools::BoostConfiguration",
    network_fee_deduction_from_boost_percent="Percent",
    minimum_add_funds_amount="BTreeMap<Asset, u128>",
    min_lending_pool_share="Percent",
)


Standard = StoredValue[values.FeeRateAndMinimum, values.FeeRateAndMinimum]


class EnvironmentApi(RuntimeApi):
    """Limits and fees."""

    api = "CustomRuntimeApi"

    # Swaps

    @method("Option<u128>", asset="Asset")
    def cf_max_swap_amount(self, asset: str) -> int | None:
        """Return the largest amount of one chunk, None without a limit."""
        return self.other(SwappingStorage).MaximumSwapAmount.get(asset)

    @method("u128", asset="Asset")
    def cf_minimum_chunk_size(self, asset: str) -> int:
        """Return the smallest amount of one chunk."""
        return self.other(SwappingStorage).MinimumChunkSize.get(asset)

    @method("u32")
    def cf_swap_retry_delay_blocks(self) -> int:
        """Blocks until a swap that missed its price is tried again."""
        return self.other(SwappingStorage).SwapRetryDelay.get()

    @method("SwapLimits")
    def cf_swap_limits(self) -> SwapLimits:
        """For how many blocks a swap may be retried, and go on in chunks."""
        swapping = self.other(SwappingStorage)
        return SwapLimits(
            max_swap_retry_duration_blocks=swapping.MaxSwapRetryDurationBlocks.get(),
            max_swap_request_duration_blocks=swapping.MaxSwapRequestDurationBlocks.get(),
        )

    @method("NetworkFees")
    def cf_network_fees(self) -> NetworkFees:
        """Return the network fee of swaps for users, and of those inside the chain."""
        swapping = self.other(SwappingStorage)
        return NetworkFees(
            regular_network_fee=_fees(self, swapping.NetworkFee, swapping.NetworkFeeForAsset),
            internal_swap_network_fee=_fees(
                self, swapping.InternalSwapNetworkFee, swapping.InternalSwapNetworkFeeForAsset
            ),
        )

    @method("AssetMap<Option<u16>>")
    def cf_default_oracle_price_protection(self) -> dict[str, dict[str, int | None]]:
        """Return the slippage against the oracle that applies where nobody states one, in basis points."""
        return self.runtime.release.asset_map(self._protection)

    def _protection(self, asset: str) -> int | None:
        if asset == STABLE or asset not in ORACLE_ASSETS:
            return None
        return self.other(SwappingStorage).DefaultOraclePriceSlippageProtection.get(pair_of(asset))

    @method("Result<(), DispatchErrorWithMessage>", number_of_chunks="u32", chunk_interval="u32")
    def cf_validate_dca_params(self, number_of_chunks: int, chunk_interval: int) -> Answer[tuple[()]]:
        """Whether a swap may be cut into chunks like this."""
        dca = values.DcaParameters(number_of_chunks=number_of_chunks, chunk_interval=chunk_interval)

        def answer() -> tuple[()]:
            check_dca(self.other(SwappingStorage), dca)
            return ()

        return or_message(answer)

    @method(
        "Result<(), DispatchErrorWithMessage>",
        input_asset="Asset",
        output_asset="Asset",
        retry_duration="u32",
        max_oracle_price_slippage="Option<u16>",
    )
    def cf_validate_refund_params(
        self, input_asset: str, output_asset: str, retry_duration: int, max_oracle_price_slippage: int | None
    ) -> Answer[tuple[()]]:
        """Whether a swap may be retried for so long, and be protected by the oracle."""
        swapping = self.other(SwappingStorage)

        def answer() -> tuple[()]:
            check_retry(swapping, retry_duration)
            check_price_protection(swapping, max_oracle_price_slippage, input_asset, output_asset)
            return ()

        return or_message(answer)

    # Deposits and withdrawals

    @method("u128", asset="Asset")
    def cf_min_deposit_amount(self, asset: str) -> int:
        """Return the amount below which a deposit is ignored."""
        return self._chain_of(asset).MinimumDeposit.get(asset)

    @method("u128", asset="Asset")
    def cf_egress_dust_limit(self, asset: str) -> int:
        """Return the amount below which no transfer is made."""
        return self._chain_of(asset).EgressDustLimit.get(asset)

    @method("Option<u128>", asset="Asset")
    def cf_ingress_fee(self, asset: str) -> int | None:
        """Return what a deposit costs, in its asset."""
        pallet = self._chain_of(asset)
        return self._in_asset(asset, ingress_estimate(pallet, asset))

    @method("Option<u128>", asset="Asset")
    def cf_egress_fee(self, asset: str) -> int | None:
        """Return what a transfer costs, in its asset."""
        pallet = self._chain_of(asset)
        return self._in_asset(asset, egress_estimate(pallet, asset))

    @method("Option<u64>", chain="ForeignChain")
    def cf_witness_safety_margin(self, chain: str) -> int | None:
        """After how many further blocks of its chain a deposit counts."""
        return self.other(INGRESS_EGRESS[chain]).WitnessSafetyMargin.get()

    @method("u32", chain="ForeignChain")
    def cf_ingress_delay(self, chain: str) -> int:
        """Blocks of this chain between a deposit that counts and its swap."""
        return self.other(INGRESS_EGRESS[chain]).IngressDelayBlocks.get()

    @method("u32", chain="ForeignChain")
    def cf_boost_delay(self, chain: str) -> int:
        """Blocks of this chain between a deposit that was seen and its boost."""
        return self.other(INGRESS_EGRESS[chain]).BoostDelayBlocks.get()

    @method("BoostConfiguration")
    def cf_boost_config(self) -> values.BoostConfiguration:
        """Return the rules of boosting."""
        return BOOST_CONFIG

    def _chain_of(self, asset: str) -> IngressEgressStorage:
        return self.other(INGRESS_EGRESS[ASSETS[asset].chain])

    def _in_asset(self, asset: str, estimate: int) -> int:
        """Convert a fee in the chain's coin to the asset, with the network fee of a swap for it."""
        if asset in UNCONVERTED:
            return estimate
        return input_for_output(self.other(SwappingStorage), asset, self._chain_of(asset).gas_asset, estimate)


def _fees(
    api: RuntimeApi, standard: Standard, of_asset: StoredMap[str, int, int | None]
) -> NetworkFeeDetails:
    fee = standard.get()

    def rate(asset: str) -> int:
        own_rate = of_asset.get(asset)
        return fee.rate if own_rate is None else own_rate

    rates = api.runtime.release.asset_map(rate)
    return NetworkFeeDetails(standard_rate_and_minimum=fee, rates=rates)
