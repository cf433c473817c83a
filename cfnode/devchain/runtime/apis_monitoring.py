"""What do operators watch? (`MonitoringRuntimeApi`)"""

from __future__ import annotations

from typing import Any

from .apis_accounts import AccountsApi
from .frame import RuntimeApi, enum, method, struct
from .frame.types import Catalog
from .pallets.asset_balances import AssetBalances
from .pallets.broadcast.pallet import BROADCASTERS
from .pallets.chain_tracking import CHAIN_TRACKING
from .pallets.environment import Environment
from .pallets.flip import Flip
from .pallets.funding import Funding
from .pallets.ingress_egress.pallet import INGRESS_EGRESS
from .pallets.swapping.pallet import Swapping
from .pallets.system import System
from .pallets.threshold_signer import EvmThresholdSigner, PolkadotThresholdSigner, SolanaThresholdSigner
from .pallets.validator import Validator
from .releases import Release, by_release
from .types.safe_mode import boards_of_chains

__all__ = ["MonitoringApi"]

_API = "state_chain_runtime::runtime_apis::monitoring_api::types"
_HEIGHTS = ("bitcoin", "ethereum", "polkadot", "solana", "arbitrum", "assethub", "tron", "bsc")
_IMBALANCES = ("ethereum", "polkadot", "arbitrum", "bitcoin", "solana", "assethub", "tron", "bsc")

struct(
    f"{_API}::AuthoritiesInfo",
    authorities="u32",
    online_authorities="u32",
    backups="u32",
    online_backups="u32",
)
struct(f"{_API}::BtcUtxos", total_balance="u64", count="u32")
struct(
    f"{_API}::EpochState",
    epoch_duration="u32",
    current_epoch_started_at="u32",
    current_epoch_index="u32",
    min_active_bid="Option<u128>",
    rotation_phase="str",
)
struct(f"{_API}::RedemptionsInfo", total_balance="u128", count="u32")
struct(f"{_API}::PendingTssCeremonies", evm="u32", bitcoin="u32", polkadot="u32", solana="u32")
enum("pallet_cf_asset_balances::VaultImbalance<Amount>", "Surplus(Amount)", "Deficit(Amount)")
struct(
    f"{_API}::LastRuntimeUpgradeInfo",
    spec_version="u32",
    spec_name="str",
    name="monitoring::LastRuntimeUpgradeInfo",
)
_SOLANA_KEY = {"solana": "(Option<u32>, Option<sol::Signature>)"}
struct(f"{_API}::SolanaNonces", available="Vec<(Address, sol::Digest)>", unavailable="Vec<Address>")
struct(f"{_API}::FlipSupply", total_supply="u128", offchain_supply="u128")
struct(
    f"{_API}::MonitoringDataV2",
    external_chains_height="ExternalChainsBlockHeight",
    btc_utxos="BtcUtxos",
    epoch="EpochState",
    pending_redemptions="RedemptionsInfo",
    pending_broadcasts="PendingBroadcasts",
    pending_tss="PendingTssCeremonies",
    open_deposit_channels="OpenDepositChannels",
    fee_imbalance="FeeImbalance<u128>",
    authorities="AuthoritiesInfo",
    build_version="monitoring::LastRuntimeUpgradeInfo",
    suspended_validators="Vec<(Offence, u32)>",
    pending_swaps="u32",
    dot_aggkey="PolkadotAccountId",
    flip_supply="FlipSupply",
    sol_aggkey="Address",
    sol_onchain_key="Address",
    sol_nonces="SolanaNonces",
    activating_key_broadcast_ids="ActivateKeysBroadcastIds",
)
struct("pallet_cf_validator::auction_resolver::AuctionOutcome<Id, Amount>", winners="Vec<Id>", bond="Amount")


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    counted = boards_of_chains(release)
    catalog.struct(f"{_API}::ExternalChainsBlockHeight", **dict.fromkeys(_known(release, _HEIGHTS), "u64"))
    for name in ("PendingBroadcasts", "OpenDepositChannels"):
        catalog.struct(f"{_API}::{name}", **dict.fromkeys(counted, "u32"))
    imbalances = dict.fromkeys(_known(release, _IMBALANCES), "VaultImbalance<Amount>")
    catalog.struct(f"{_API}::FeeImbalance<Amount>", **imbalances)
    keys = {name: _SOLANA_KEY.get(name, "Option<u32>") for name in counted}
    catalog.struct(f"{_API}::ActivateKeysBroadcastIds", **keys)


def _known(release: Release, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name.capitalize() in release.chains]


class MonitoringApi(RuntimeApi):
    """The figures of a development chain: no validator is suspended."""

    api = "MonitoringRuntimeApi"

    @method("AuthoritiesInfo")
    def cf_authorities(self) -> dict[str, int]:
        """How many authorities there are: all of them are online."""
        count = len(self.other(Validator).CurrentAuthorities.get())
        return {"authorities": count, "online_authorities": count, "backups": 0, "online_backups": 0}

    @method("ExternalChainsBlockHeight")
    def cf_external_chains_block_height(self) -> dict[str, int]:
        """The foreign chains' heights."""
        names = _known(self.runtime.release, _HEIGHTS)
        return {name: self.other(CHAIN_TRACKING[name.capitalize()]).height() for name in names}

    @method("BtcUtxos")
    def cf_btc_utxos(self) -> dict[str, int]:
        """The vault's unspent Bitcoin outputs."""
        outputs = self.other(Environment).BitcoinAvailableUtxos.get()
        return {"total_balance": sum(each.amount for each in outputs), "count": len(outputs)}

    @method("PolkadotAccountId")
    def cf_dot_aggkey(self) -> bytes:
        """The aggregate key that acts for the vault on Assethub."""
        key: bytes | None = self.other(PolkadotThresholdSigner).active_key()
        return key or bytes(32)

    @method("Vec<(Offence, u32)>")
    def cf_suspended_validators(self) -> list[Any]:
        """How many are suspended, by offence."""
        return []

    @method("EpochState")
    def cf_epoch_state(self) -> dict[str, Any]:
        """Epoch and rotation."""
        validator = self.other(Validator)
        phase = validator.CurrentRotationPhase.get()
        return {
            "epoch_duration": validator.EpochDuration.get(),
            "current_epoch_started_at": validator.CurrentEpochStartedAt.get(),
            "current_epoch_index": validator.CurrentEpoch.get(),
            "min_active_bid": validator.next_auction()["bond"],
            "rotation_phase": phase if isinstance(phase, str) else phase[0],
        }

    @method("RedemptionsInfo")
    def cf_redemptions(self) -> dict[str, int]:
        """Redemptions that are pending."""
        pending = [info for _, info in self.other(Funding).PendingRedemptions.items()]
        return {"total_balance": sum(each.total for each in pending), "count": len(pending)}

    @method("PendingBroadcasts")
    def cf_pending_broadcasts_count(self) -> dict[str, int]:
        """Broadcasts under way."""
        names = boards_of_chains(self.runtime.release)
        pallets = {name: self.other(BROADCASTERS[name.capitalize()]) for name in names}
        return {name: len(pallet.PendingBroadcasts.get()) for name, pallet in pallets.items()}

    @method("PendingTssCeremonies")
    def cf_pending_tss_ceremonies_count(self) -> dict[str, int]:
        """Signing ceremonies under way: only the EVM chains have any."""
        evm = len(list(self.other(EvmThresholdSigner).PendingCeremonies.keys()))
        return {"evm": evm, "bitcoin": 0, "polkadot": 0, "solana": 0}

    @method("u32")
    def cf_pending_swaps_count(self) -> int:
        """Swaps that wait."""
        return len(self.other(Swapping).ScheduledSwaps.get())

    @method("OpenDepositChannels")
    def cf_open_deposit_channels_count(self) -> dict[str, int]:
        """Open deposit channels."""
        names = boards_of_chains(self.runtime.release)
        pallets = {name: self.other(INGRESS_EGRESS[name.capitalize()]) for name in names}
        return {name: len(list(pallet.DepositChannelLookup.items())) for name, pallet in pallets.items()}

    @method("FeeImbalance<u128>")
    def cf_fee_imbalance(self) -> dict[str, Any]:
        """What was withheld for fees against what is owed to those who paid them."""
        return {
            name: self._imbalance(name.capitalize()) for name in _known(self.runtime.release, _IMBALANCES)
        }

    def _imbalance(self, chain: str) -> tuple[str, int]:
        balances, asset = self.other(AssetBalances), self.other(INGRESS_EGRESS[chain]).gas_asset
        owed = sum(amount for _, amount in balances.Liabilities.get(asset))
        withheld = balances.WithheldAssets.get(asset)
        return ("Surplus", withheld - owed) if withheld >= owed else ("Deficit", owed - withheld)

    @method("monitoring::LastRuntimeUpgradeInfo")
    def cf_build_version(self) -> dict[str, Any]:
        """The name and version of the runtime that made the block."""
        made_by: dict[str, Any] = self.other(System).LastRuntimeUpgrade.known()
        return made_by

    @method("ActivateKeysBroadcastIds")
    def cf_rotation_broadcast_ids(self) -> dict[str, Any]:
        """The broadcasts that give chains a new key and are not through; Solana's has no signature."""
        names = boards_of_chains(self.runtime.release)
        incoming = {name: self._rotation_broadcast(name.capitalize()) for name in names}
        return incoming | {"solana": (incoming["solana"], None)}

    def _rotation_broadcast(self, chain: str) -> int | None:
        incoming = self.other(BROADCASTERS[chain]).IncomingKeyAndBroadcastId.get()
        return None if incoming is None else incoming[1]

    @method("SolanaNonces")
    def cf_sol_nonces(self) -> dict[str, Any]:
        """Solana's durable nonces, free and in use."""
        environment = self.other(Environment)
        return {
            "available": environment.SolanaAvailableNonceAccounts.get(),
            "unavailable": list(environment.SolanaUnavailableNonceAccounts.keys()),
        }

    @method("Address")
    def cf_sol_aggkey(self) -> bytes:
        """The aggregate key on Solana."""
        key: bytes | None = self.other(SolanaThresholdSigner).active_key()
        return key or bytes(32)

    @method("Address")
    def cf_sol_onchain_key(self) -> bytes:
        """The key that a rotation has given Solana's program; zeros before the first."""
        key: bytes | None = self.other(BROADCASTERS["Solana"]).CurrentOnChainKey.get()
        return key or bytes(32)

    @method("MonitoringDataV2")
    def cf_monitoring_data(self) -> dict[str, Any]:
        """All of these in one."""
        flip = self.other(Flip)
        return {
            "external_chains_height": self.cf_external_chains_block_height(),
            "btc_utxos": self.cf_btc_utxos(),
            "epoch": self.cf_epoch_state(),
            "pending_redemptions": self.cf_redemptions(),
            "pending_broadcasts": self.cf_pending_broadcasts_count(),
            "pending_tss": self.cf_pending_tss_ceremonies_count(),
            "open_deposit_channels": self.cf_open_deposit_channels_count(),
            "fee_imbalance": self.cf_fee_imbalance(),
            "authorities": self.cf_authorities(),
            "build_version": self.cf_build_version(),
            "suspended_validators": self.cf_suspended_validators(),
            "pending_swaps": self.cf_pending_swaps_count(),
            "dot_aggkey": self.cf_dot_aggkey(),
            "flip_supply": {
                "total_supply": flip.TotalIssuance.get(),
                "offchain_supply": flip.OffchainFunds.get(),
            },
            "sol_aggkey": self.cf_sol_aggkey(),
            "sol_onchain_key": self.cf_sol_onchain_key(),
            "sol_nonces": self.cf_sol_nonces(),
            "activating_key_broadcast_ids": self.cf_rotation_broadcast_ids(),
        }

    @method("Vec<ValidatorInfo>", accounts="BoundedVec<AccountId32>")
    def cf_accounts_info(self, accounts: list[bytes]) -> list[dict[str, Any]]:
        """Validator information of some accounts."""
        ask = AccountsApi(self.runtime).cf_validator_info
        return [ask(account) for account in accounts]

    @method(
        "Result<(AuctionOutcome<AccountId32, u128>,"
        " BTreeMap<AccountId32, DelegationSnapshot<AccountId32, u128>>, Vec<AccountId32>, u128),"
        " DispatchErrorWithMessage>"
    )
    def cf_simulate_auction(self) -> Any:
        """How an auction would end now; nobody delegates, and nobody is new."""
        validator = self.other(Validator)
        return "Ok", (validator.next_auction(), [], [], validator.Bond.get())
