"""Types of funding and redemption of FLIP, and of delegation from Ethereum."""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import Catalog, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import assets, swaps

__all__ = ["assets", "swaps"]

struct(
    "pallet_cf_funding::PendingRedemptionInfo<FlipBalance>",
    total="FlipBalance",
    restricted="FlipBalance",
    redeem_address="H160",
)
enum("pallet_cf_funding::pallet::RedemptionAmount<T>", "Max", "Exact(T)")
enum("pallet_cf_validator::delegation::DelegationAmount<T>", "Max", "Some(T)")
enum(
    "state_chain_runtime::chainflip::ethereum_sc_calls::DelegationApi<A>",
    "Delegate{operator: AccountId32, increase: DelegationAmount<A>}",
    "Undelegate{decrease: DelegationAmount<A>}",
    "Redeem{amount: RedemptionAmount<A>, address: H160, executor: Option<H160>}",
)
enum(
    "state_chain_runtime::chainflip::ethereum_sc_calls::EthereumSCApi<A>",
    "Delegation{call: DelegationApi<A>}",
)


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    catalog.enum(
        "cf_traits::FundingSource",
        "EthTransaction{tx_hash: [u8; 32], funder: H160}",
        "Swap{swap_request_id: SwapRequestId}",
        "InitialFunding{channel_id: Option<u64>, asset: Asset}",
        *(["FreeBalance"] if release.rules.balances_can_fund else []),
    )
