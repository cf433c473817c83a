"""Types of authorities: their rotation, delegation, settings and finality votes."""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import Catalog, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import environment

__all__ = ["environment"]

struct(
    "pallet_cf_validator::rotation_state::RotationState<Id, Amount>",
    primary_candidates="Vec<Id>",
    banned="BTreeSet<Id>",
    bond="Amount",
    new_epoch_index="u32",
)
enum(
    "pallet_cf_validator::RotationPhase",
    "Idle",
    *(
        f"{phase}(RotationState<AccountId32, u128>)"
        for phase in ("KeygensInProgress", "KeyHandoversInProgress", "ActivatingKeys", "NewKeysActivated")
    ),
    "SessionRotating(Vec<AccountId32>, u128)",
)
struct(
    "pallet_cf_validator::auction_resolver::SetSizeParameters",
    min_size="u32",
    max_size="u32",
    max_expansion="u32",
)
enum("pallet_cf_validator::delegation::DelegationAcceptance", "Allow", "Deny")
struct(
    "pallet_cf_validator::delegation::OperatorSettings",
    fee_bps="u32",
    delegation_acceptance="DelegationAcceptance",
)
struct(
    "pallet_cf_validator::delegation::DelegationSnapshot<Account, Bid>",
    operator="Account",
    validators="BTreeMap<Account, Bid>",
    delegators="BTreeMap<Account, Bid>",
    delegation_fee_bps="u32",
)
enum(
    "pallet_cf_validator::PalletConfigUpdate",
    "MinimumValidatorStake{min_stake: u32}",
    "RedemptionPeriodAsPercentage{percentage: Percent}",
    "EpochDuration{blocks: u32}",
    "AuthoritySetMinSize{min_size: u32}",
    "AuctionParameters{parameters: SetSizeParameters}",
    "MinimumReportedCfeVersion{version: SemVer}",
    "MaxAuthoritySetContractionPercentage{percentage: Percent}",
    "MinimumAuctionBid{minimum_flip_bid: u32}",
    "MinimumOperatorFee{minimum_operator_fee_in_bps: u32}",
    name="validator::PalletConfigUpdate",
)
enum("pallet_cf_validator::delegation::Change<T>", "Increase(T)", "Decrease(T)")
enum(
    "pallet_grandpa::StoredState<N>",
    "Live",
    "PendingPause{scheduled_at: N, delay: N}",
    "Paused",
    "PendingResume{scheduled_at: N, delay: N}",
)
struct(
    "pallet_grandpa::StoredPendingChange<N>",
    scheduled_at="N",
    delay="N",
    next_authorities="WeakBoundedVec<(grandpa::Public, u64)>",
    forced="Option<N>",
)

_TASKS = ("Ethereum", "Bitcoin", "Arbitrum", "Solana", "Assethub", "Oracle")
"""What the authorities witness, in order; then come the chains that were added later."""


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    later = [name for name, chain in release.chains.items() if chain.tracked and name not in _TASKS]
    catalog.enum("cf_primitives::WitnessingTaskName", *_TASKS, *later)
