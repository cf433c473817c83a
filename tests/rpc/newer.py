"""A runtime that is newer than ours: what its metadata says of runtime APIs that 2.2.3 does not have."""

from __future__ import annotations

from typing import Any

from cfnode.core.scale.metadata import Metadata, decode_metadata, encode_metadata
from cfnode.runtime.dev.executive import Executive
from cfnode.runtime.dev.frame import Composition, RuntimeApi, method, struct
from cfnode.runtime.dev.releases import DEFAULT_RELEASE, RELEASES
from cfnode.runtime.dev.runtime import APIS, pallets_of

_TYPES = "state_chain_runtime::runtime_apis::custom_api::types"
struct(
    f"{_TYPES}::AccountReward<Amount>",
    account="AccountId32",
    bid="Amount",
    bond="Amount",
    reward="Amount",
    role="AccountRole",
    managed_by="Option<AccountId32>",
    delegated_to="Option<AccountId32>",
)
struct(
    f"{_TYPES}::RewardDistributionEstimate<Amount>",
    epoch_index="u32",
    current_block="u32",
    current_epoch_started_at="u32",
    epoch_duration="u32",
    bond="Amount",
    authority_count="u32",
    total_rewards="Amount",
    per_authority_share="Amount",
    reward_pool="Vec<AccountReward<Amount>>",
)


class NewerApi(RuntimeApi):
    """Declared only."""

    api = "CustomRuntimeApi"

    @method("RewardDistributionEstimate<u128>")
    def cf_reward_distribution_estimate(self) -> Any:
        """What the authorities would get if the epoch ended now."""
        raise NotImplementedError


def newer_metadata() -> Metadata:
    """Version 15."""
    release = RELEASES[DEFAULT_RELEASE]
    runtime = Composition(pallets_of(release), (*APIS, NewerApi), release)
    return decode_metadata(encode_metadata(runtime.service(Executive).metadata(15)))
