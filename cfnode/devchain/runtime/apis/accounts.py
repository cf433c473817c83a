"""`CustomRuntimeApi` methods for accounts, their roles, validators and operators.

There are no delegations here: those parts of the answers are empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError, RuntimeApi, enum, method, since, struct
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.evm_signer import EvmThresholdSigner
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funding_storage import FundingStorage
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.sweeping import sweep
from cfnode.devchain.runtime.pallets.redemption import planned
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage
from cfnode.devchain.runtime.pallets.vault import VAULTS
from cfnode.devchain.runtime.releases import Release, by_release

from .chainflip import ChainflipApi
from .providers import ProvidersApi, free_balances

__all__ = ["AccountsApi"]

_API = "state_chain_runtime::runtime_apis::custom_api::types"
struct(f"{_API}::DelegationInfo<Amount>", operator="AccountId32", bid="Amount")
struct(
    f"{_API}::RpcAccountInfoCommonItems<Balance>",
    account_id="Option<AccountId32>",
    vanity_name="Bytes",
    flip_balance="Balance",
    asset_balances="AssetMap<Balance>",
    bond="Balance",
    estimated_redeemable_balance="Balance",
    bound_redeem_address="Option<H160>",
    restricted_balances="BTreeMap<H160, Balance>",
    current_delegation_status="Option<DelegationInfo<Balance>>",
    upcoming_delegation_status="Option<DelegationInfo<Balance>>",
)
struct(
    f"{_API}::OperatorInfo<Amount>",
    managed_validators="BTreeMap<AccountId32, Amount>",
    settings="OperatorSettings",
    allowed="Vec<AccountId32>",
    blocked="Vec<AccountId32>",
    delegators="BTreeMap<AccountId32, Amount>",
    active_delegation="Option<DelegationSnapshot<AccountId32, Amount>>",
)
enum(
    f"{_API}::RuntimeApiAccountInfo",
    "Unregistered",
    "Broker(BrokerInfo<ScriptPubkey>)",
    "LiquidityProvider(LiquidityProviderInfo)",
    "Validator(ValidatorInfo)",
    "Operator(OperatorInfo<u128>)",
)
struct(
    f"{_API}::RuntimeApiAccountInfoWrapper",
    common_items="RpcAccountInfoCommonItems<u128>",
    role="RuntimeApiAccountInfo",
)
enum(
    "state_chain_runtime::chainflip::offences::Offence",
    "ParticipateSigningFailed",
    "ParticipateKeygenFailed",
    "FailedToBroadcastTransaction",
    "MissedAuthorshipSlot",
    "MissedHeartbeat",
    "GrandpaEquivocation",
    "ParticipateKeyHandoverFailed",
    "FailedToWitnessInTime",
    "FailedLivenessCheck(ForeignChain)",
)
struct(f"{_API}::RuntimeApiPenalty", reputation_points="i32", suspension_duration_blocks="u32")

struct(
    f"{_API}::AccountReward<Amount>",
    account="AccountId32",
    bid="Amount",
    bond="Amount",
    reward="Amount",
    role="AccountRole",
    managed_by="Option<AccountId32>",
    delegated_to="Option<AccountId32>",
)
struct(
    f"{_API}::RewardDistributionEstimate<Amount>",
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

NO_SETTINGS = values.OperatorSettings(fee_bps=0, delegation_acceptance="Deny")


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    bids = {"bid": "u128", "max_bid": "Option<u128>"} if release.rules.validators_limit_bids else {}
    catalog.struct(
        f"{_API}::ValidatorInfo",
        balance="u128",
        bond="u128",
        last_heartbeat="u32",
        reputation_points="i32",
        keyholder_epochs="Vec<u32>",
        is_current_authority="bool",
        is_current_backup="bool",
        is_qualified="bool",
        is_online="bool",
        is_bidding="bool",
        bound_redeem_address="Option<H160>",
        apy_bp="Option<u32>",
        restricted_balances="BTreeMap<H160, u128>",
        estimated_redeemable_balance="u128",
        operator="Option<AccountId32>",
        **bids,
    )


class AccountsApi(RuntimeApi):
    """Accounts by their roles, and what validators earn and lose."""

    api = "CustomRuntimeApi"

    @method("RpcAccountInfoCommonItems<u128>", account_id="AccountId32", should_sweep="ShouldSweep")
    def cf_common_account_info(
        self, account_id: bytes, should_sweep: str
    ) -> values.RpcAccountInfoCommonItems[int]:
        """Return what every account has; zeros for one that does not exist."""
        flip, funding = self.other(Flip), self.other(FundingStorage)
        names = dict(self.other(AccountRoles).VanityNames.get())
        return values.RpcAccountInfoCommonItems(
            account_id=account_id,
            vanity_name=names.get(account_id, b""),
            flip_balance=flip.balance(account_id),
            asset_balances=free_balances(self, account_id, should_sweep),
            bond=flip.bond(account_id),
            estimated_redeemable_balance=self._redeemable(account_id),
            bound_redeem_address=funding.BoundRedeemAddress.get(account_id),
            restricted_balances=funding.RestrictedBalances.get(account_id),
            current_delegation_status=None,
            upcoming_delegation_status=None,
        )

    @method("RewardDistributionEstimate<u128>", since("2.3.0"))
    def cf_reward_distribution_estimate(self) -> values.RewardDistributionEstimate[int]:
        """Return each authority's share of the fees if the epoch ended now; empty until rewards are paid."""
        flip, validator = self.other(Flip), self.other(ValidatorStorage)
        authorities = validator.CurrentAuthorities.get()
        total = flip.pending_rewards if flip.pays_rewards else 0
        share = total // len(authorities)
        return values.RewardDistributionEstimate(
            epoch_index=validator.CurrentEpoch.get(),
            current_block=self.other(System).Number.get(),
            current_epoch_started_at=validator.CurrentEpochStartedAt.get(),
            epoch_duration=validator.EpochDuration.get(),
            bond=validator.Bond.get(),
            authority_count=len(authorities),
            total_rewards=total,
            per_authority_share=share,
            reward_pool=[self._reward(authority, share) for authority in sorted(authorities)]
            if flip.pays_rewards
            else [],
        )

    def _reward(self, account: bytes, share: int) -> values.AccountReward[int]:
        flip = self.other(Flip)
        return values.AccountReward(
            account=account,
            bid=flip.balance(account),
            bond=flip.bond(account),
            reward=share,
            role="Validator",
            managed_by=None,
            delegated_to=None,
        )

    @method("ValidatorInfo", account_id="AccountId32")
    def cf_validator_info(self, account_id: bytes) -> values.ValidatorInfo:
        """Describe a validator: all of them are online, and none has lost reputation."""
        flip, funding, validator = self.other(Flip), self.other(FundingStorage), self.other(ValidatorStorage)
        bid, max_bid = self._bids(account_id)
        is_authority = account_id in validator.CurrentAuthorities.get()
        return values.ValidatorInfo(
            balance=flip.balance(account_id),
            bond=flip.bond(account_id),
            last_heartbeat=0,
            reputation_points=0,
            keyholder_epochs=[epoch for epoch, _ in validator.HistoricalActiveEpochs.get(account_id)],
            is_current_authority=is_authority,
            is_current_backup=False,
            is_qualified=is_authority,
            is_online=is_authority,
            is_bidding=account_id in validator.ActiveBidder.get(),
            bound_redeem_address=funding.BoundRedeemAddress.get(account_id),
            apy_bp=None,
            restricted_balances=funding.RestrictedBalances.get(account_id),
            estimated_redeemable_balance=self._redeemable(account_id),
            operator=validator.OperatorChoice.get(account_id),
            bid=bid,
            max_bid=max_bid,
        )

    def _bids(self, account_id: bytes) -> tuple[int | None, int | None]:
        """Return a validator's bid in the next auction, all it has up to its own limit, and that limit."""
        validator, balance = self.other(ValidatorStorage), self.other(Flip).balance(account_id)
        if not self.runtime.release.rules.validators_limit_bids:
            return None, None
        max_bid = validator.ValidatorMaxBid.get(account_id)
        return balance if max_bid is None else min(balance, max_bid), max_bid

    @method("OperatorInfo<u128>", account_id="AccountId32")
    def cf_operator_info(self, account_id: bytes) -> values.OperatorInfo[int]:
        """Return an operator's settings, and whom it manages."""
        validator, flip = self.other(ValidatorStorage), self.other(Flip)
        managed = validator.ManagedValidators.get(account_id)
        epoch = validator.CurrentEpoch.get()
        return values.OperatorInfo(
            managed_validators=[(managed_id, flip.balance(managed_id)) for managed_id in managed],
            settings=validator.OperatorSettingsLookup.get(account_id) or NO_SETTINGS,
            allowed=[],
            blocked=[],
            delegators=[],
            active_delegation=validator.DelegationSnapshots.get(epoch, account_id),
        )

    @method("Vec<RuntimeApiAccountInfoWrapper>", roles="Option<Vec<AccountRole>>")
    def cf_all_account_infos(self, roles: Sequence[str] | None) -> list[values.RuntimeApiAccountInfoWrapper]:
        """All accounts, or those of some roles, in the order of the storage keys of `System.Account`."""
        account_roles = self.other(AccountRoles)
        account_ids = list(self.other(System).Account.keys())
        accounts = [(who, account_roles.role(who) or "Unregistered") for who in account_ids]
        sweep(self.other(PoolsStorage))
        return [
            values.RuntimeApiAccountInfoWrapper(
                common_items=self.cf_common_account_info(account, "No"), role=self._info(account, role)
            )
            for account, role in accounts
            if roles is None or role in roles
        ]

    def _info(self, account: bytes, role: str) -> values.RuntimeApiAccountInfo:
        match role:
            case "Broker":
                return values.RuntimeApiAccountInfoBroker(ChainflipApi(self.runtime).cf_broker_info(account))
            case "LiquidityProvider":
                info = ProvidersApi(self.runtime).cf_liquidity_provider_info(account, "No")
                return values.RuntimeApiAccountInfoLiquidityProvider(info)
            case "Validator":
                return values.RuntimeApiAccountInfoValidator(self.cf_validator_info(account))
            case "Operator":
                return values.RuntimeApiAccountInfoOperator(self.cf_operator_info(account))
        return "Unregistered"

    def _redeemable(self, account_id: bytes) -> int:
        """Return what a redemption of all that may go would pay out, in FLIP atoms.

        If that is all that there is, no tax is taken.
        """
        funding = self.other(FundingStorage)
        try:
            return planned(funding, account_id, "Max", fee=funding.RedemptionTax.get(), leaves=False).amount
        except DispatchError:
            return 0

    # Validators

    @method("([u8; 33], u32)")
    def cf_eth_vault(self) -> tuple[bytes, int]:
        """Return the EVM chains' aggregate key, compressed, and Ethereum's block since which it holds."""
        epoch = self.other(ValidatorStorage).CurrentEpoch.get()
        key = self.other(EvmThresholdSigner).Keys.get(epoch)
        if not isinstance(key, values.EvmAggKey):
            return bytes(33), 0
        parity = b"\x03" if key.pub_key_y_parity == "Odd" else b"\x02"
        start_block: int = self.other(VAULTS["Ethereum"]).VaultStartBlockNumbers.get(epoch) or 0
        return parity + key.pub_key_x, start_block

    @method("(u32, u32)")
    def cf_auction_parameters(self) -> tuple[int, int]:
        """Return the minimum and the maximum number of authorities."""
        sizes = self.other(ValidatorStorage).AuctionParameters.get()
        return sizes.min_size, sizes.max_size

    @method("u128")
    def cf_authority_emission_per_block(self) -> int:
        """Return what the authorities earn for a block: nothing is emitted here."""
        return 0

    @method("u128")
    def cf_backup_emission_per_block(self) -> int:
        """Return what the backups earn for a block: nothing is emitted here."""
        return 0

    @method("Vec<(Offence, RuntimeApiPenalty)>")
    def cf_penalties(self) -> list[tuple[values.Offence, values.RuntimeApiPenalty]]:
        """Return what each offence costs: nobody is punished here."""
        return []

    @method("Vec<(Offence, Vec<(u32, AccountId32)>)>")
    def cf_suspensions(self) -> list[tuple[values.Offence, Sequence[tuple[int, bytes]]]]:
        """Return the suspended validators: nobody is punished here."""
        return []

    @method("Vec<DelegationSnapshot<AccountId32, u128>>", account="Option<AccountId32>")
    def cf_active_delegations(self, account: bytes | None) -> list[values.DelegationSnapshot[bytes, int]]:
        """Who delegates to which operator in this epoch."""
        validator = self.other(ValidatorStorage)
        snapshots = validator.DelegationSnapshots.items(validator.CurrentEpoch.get())
        return [snapshot for operator, snapshot in snapshots if account in (None, operator)]
