"""`MonitoringRuntimeApi` methods: heights, epochs, broadcasts, swaps, fees and keys, for operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, enum, method, struct
from cfnode.devchain.runtime.frame.classes import declared, u32, u64, u128
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.broadcast.pallet import BROADCASTERS
from cfnode.devchain.runtime.pallets.chain_tracking import CHAIN_TRACKING
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.evm_signer import EvmThresholdSigner
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funding_storage import FundingStorage
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.signers import PolkadotThresholdSigner, SolanaThresholdSigner
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage
from cfnode.devchain.runtime.releases import Release, by_release
from cfnode.devchain.runtime.types.safe_mode import boards_of_chains

from .accounts import AccountsApi
from .answers import Answer

__all__ = ["MonitoringApi"]

_API = "state_chain_runtime::runtime_apis::monitoring_api::types"
_HEIGHTS = ("bitcoin", "ethereum", "polkadot", "solana", "arbitrum", "assethub", "tron", "bsc")
_IMBALANCES = ("ethereum", "polkadot", "arbitrum", "bitcoin", "solana", "assethub", "tron", "bsc")

enum("pallet_cf_asset_balances::VaultImbalance<Amount>", "Surplus(Amount)", "Deficit(Amount)")
_SOLANA_KEY = {"solana": "(Option<u32>, Option<sol::Signature>)"}
struct("pallet_cf_validator::auction_resolver::AuctionOutcome<Id, Amount>", winners="Vec<Id>", bond="Amount")


@declared(f"{_API}::AuthoritiesInfo")
class AuthoritiesInfo:
    """The authorities, and those that are online."""

    authorities: u32
    online_authorities: u32
    backups: u32
    online_backups: u32


@declared(f"{_API}::BtcUtxos")
class BtcUtxos:
    """The outputs of the Bitcoin vault."""

    total_balance: u64
    count: u32


@declared(f"{_API}::EpochState")
class EpochState:
    """The epoch, and the phase of the rotation."""

    epoch_duration: u32
    current_epoch_started_at: u32
    current_epoch_index: u32
    min_active_bid: u128 | None
    rotation_phase: str


@declared(f"{_API}::RedemptionsInfo")
class RedemptionsInfo:
    """The redemptions that wait to be claimed."""

    total_balance: u128
    count: u32


@declared(f"{_API}::PendingTssCeremonies")
class PendingTssCeremonies:
    """The requests of signatures, by scheme."""

    evm: u32
    bitcoin: u32
    polkadot: u32
    solana: u32


@declared(f"{_API}::SolanaNonces")
class SolanaNonces:
    """The nonce accounts on Solana."""

    available: Annotated[Sequence[tuple[bytes, bytes]], "Vec<(Address, sol::Digest)>"]
    unavailable: Annotated[Sequence[bytes], "Vec<Address>"]


@declared(f"{_API}::FlipSupply")
class FlipSupply:
    """The FLIP that was issued, and that outside of the chain."""

    total_supply: u128
    offchain_supply: u128


@declared(f"{_API}::LastRuntimeUpgradeInfo", name="monitoring::LastRuntimeUpgradeInfo")
class LastRuntimeUpgradeInfo:
    """The runtime that the chain was last upgraded to."""

    spec_version: u32
    spec_name: str


@declared(f"{_API}::MonitoringDataV2")
class MonitoringDataV2:
    """All figures in one answer."""

    external_chains_height: values.ExternalChainsBlockHeight
    btc_utxos: BtcUtxos
    epoch: EpochState
    pending_redemptions: RedemptionsInfo
    pending_broadcasts: values.PendingBroadcasts
    pending_tss: PendingTssCeremonies
    open_deposit_channels: values.OpenDepositChannels
    fee_imbalance: Annotated[values.FeeImbalance[int], "FeeImbalance<u128>"]
    authorities: AuthoritiesInfo
    build_version: LastRuntimeUpgradeInfo
    suspended_validators: Annotated[Sequence[tuple[values.Offence, int]], "Vec<(Offence, u32)>"]
    pending_swaps: u32
    dot_aggkey: Annotated[bytes, "PolkadotAccountId"]
    flip_supply: FlipSupply
    sol_aggkey: Annotated[bytes, "Address"]
    sol_onchain_key: Annotated[bytes, "Address"]
    sol_nonces: SolanaNonces
    activating_key_broadcast_ids: values.ActivateKeysBroadcastIds


Auction = tuple[
    values.AuctionOutcome[bytes, int],
    Sequence[tuple[bytes, values.DelegationSnapshot[bytes, int]]],
    Sequence[bytes],
    int,
]


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    chain_names = boards_of_chains(release)
    catalog.struct(f"{_API}::ExternalChainsBlockHeight", **dict.fromkeys(_known(release, _HEIGHTS), "u64"))
    for name in ("PendingBroadcasts", "OpenDepositChannels"):
        catalog.struct(f"{_API}::{name}", **dict.fromkeys(chain_names, "u32"))
    imbalances = dict.fromkeys(_known(release, _IMBALANCES), "VaultImbalance<Amount>")
    catalog.struct(f"{_API}::FeeImbalance<Amount>", **imbalances)
    keys = {name: _SOLANA_KEY.get(name, "Option<u32>") for name in chain_names}
    catalog.struct(f"{_API}::ActivateKeysBroadcastIds", **keys)


def _known(release: Release, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name.capitalize() in release.chains]


class MonitoringApi(RuntimeApi):
    """The figures of a development chain: no validator is suspended."""

    api = "MonitoringRuntimeApi"

    @method("AuthoritiesInfo")
    def cf_authorities(self) -> AuthoritiesInfo:
        """How many authorities there are: all of them are online."""
        count = len(self.other(ValidatorStorage).CurrentAuthorities.get())
        return AuthoritiesInfo(authorities=count, online_authorities=count, backups=0, online_backups=0)

    @method("ExternalChainsBlockHeight")
    def cf_external_chains_block_height(self) -> values.ExternalChainsBlockHeight:
        """Return the foreign chains' heights."""
        names = _known(self.runtime.release, _HEIGHTS)
        return values.ExternalChainsBlockHeight(
            **{name: self.other(CHAIN_TRACKING[name.capitalize()]).height() for name in names}
        )

    @method("BtcUtxos")
    def cf_btc_utxos(self) -> BtcUtxos:
        """Return the vault's unspent Bitcoin outputs."""
        outputs = self.other(EnvironmentStorage).BitcoinAvailableUtxos.get()
        return BtcUtxos(total_balance=sum(utxo.amount for utxo in outputs), count=len(outputs))

    @method("PolkadotAccountId")
    def cf_dot_aggkey(self) -> bytes:
        """Return the aggregate key that acts for the vault on Assethub."""
        return self.other(PolkadotThresholdSigner).active_key() or bytes(32)

    @method("Vec<(Offence, u32)>")
    def cf_suspended_validators(self) -> list[tuple[values.Offence, int]]:
        """How many are suspended, by offence."""
        return []

    @method("EpochState")
    def cf_epoch_state(self) -> EpochState:
        """Epoch and rotation."""
        validator = self.other(ValidatorStorage)
        phase = validator.CurrentRotationPhase.get()
        return EpochState(
            epoch_duration=validator.EpochDuration.get(),
            current_epoch_started_at=validator.CurrentEpochStartedAt.get(),
            current_epoch_index=validator.CurrentEpoch.get(),
            min_active_bid=validator.next_auction().bond,
            rotation_phase=phase
            if isinstance(phase, str)
            else type(phase).__name__.removeprefix("RotationPhase"),
        )

    @method("RedemptionsInfo")
    def cf_redemptions(self) -> RedemptionsInfo:
        """Redemptions that are pending."""
        pending = [info for _, info in self.other(FundingStorage).PendingRedemptions.items()]
        return RedemptionsInfo(
            total_balance=sum(redemption.total for redemption in pending), count=len(pending)
        )

    @method("PendingBroadcasts")
    def cf_pending_broadcasts_count(self) -> values.PendingBroadcasts:
        """Broadcasts under way."""
        names = boards_of_chains(self.runtime.release)
        pallets = {name: self.other(BROADCASTERS[name.capitalize()]) for name in names}
        counts = {name: len(pallet.PendingBroadcasts.get()) for name, pallet in pallets.items()}
        return values.PendingBroadcasts(**counts)

    @method("PendingTssCeremonies")
    def cf_pending_tss_ceremonies_count(self) -> PendingTssCeremonies:
        """Signing ceremonies under way: only the EVM chains have any."""
        evm = len(list(self.other(EvmThresholdSigner).PendingCeremonies.keys()))
        return PendingTssCeremonies(evm=evm, bitcoin=0, polkadot=0, solana=0)

    @method("u32")
    def cf_pending_swaps_count(self) -> int:
        """Count the swaps that wait."""
        return len(self.other(SwappingStorage).ScheduledSwaps.get())

    @method("OpenDepositChannels")
    def cf_open_deposit_channels_count(self) -> values.OpenDepositChannels:
        """Open deposit channels."""
        names = boards_of_chains(self.runtime.release)
        pallets = {name: self.other(INGRESS_EGRESS[name.capitalize()]) for name in names}
        counts = {name: len(list(pallet.DepositChannelLookup.items())) for name, pallet in pallets.items()}
        return values.OpenDepositChannels(**counts)

    @method("FeeImbalance<u128>")
    def cf_fee_imbalance(self) -> values.FeeImbalance[int]:
        """Return what was withheld for fees against what is owed to those who paid them."""
        names = _known(self.runtime.release, _IMBALANCES)
        return values.FeeImbalance(**{name: self._imbalance(name.capitalize()) for name in names})

    def _imbalance(self, chain: str) -> values.VaultImbalance[int]:
        balances, asset = self.other(AssetBalances), self.other(INGRESS_EGRESS[chain]).gas_asset
        owed = sum(amount for _, amount in balances.Liabilities.get(asset))
        withheld_amount = balances.WithheldAssets.get(asset)
        if withheld_amount >= owed:
            return values.VaultImbalanceSurplus(withheld_amount - owed)
        return values.VaultImbalanceDeficit(owed - withheld_amount)

    @method("monitoring::LastRuntimeUpgradeInfo")
    def cf_build_version(self) -> LastRuntimeUpgradeInfo:
        """Return the name and version of the runtime that made the block."""
        made_by = self.other(System).LastRuntimeUpgrade.known()
        return LastRuntimeUpgradeInfo(spec_version=made_by.spec_version, spec_name=made_by.spec_name)

    @method("ActivateKeysBroadcastIds")
    def cf_rotation_broadcast_ids(self) -> values.ActivateKeysBroadcastIds:
        """Return the broadcasts of new keys that are not through yet; Solana's has no signature."""
        names = boards_of_chains(self.runtime.release)
        incoming = {name: self._rotation_broadcast(name.capitalize()) for name in names}
        solana = (incoming.pop("solana"), None)
        return values.ActivateKeysBroadcastIds(**incoming, solana=solana)

    def _rotation_broadcast(self, chain: str) -> int | None:
        incoming = self.other(BROADCASTERS[chain]).IncomingKeyAndBroadcastId.get()
        return None if incoming is None else incoming[1]

    @method("SolanaNonces")
    def cf_sol_nonces(self) -> SolanaNonces:
        """Solana's durable nonces, free and in use."""
        environment = self.other(EnvironmentStorage)
        return SolanaNonces(
            available=environment.SolanaAvailableNonceAccounts.get(),
            unavailable=list(environment.SolanaUnavailableNonceAccounts.keys()),
        )

    @method("Address")
    def cf_sol_aggkey(self) -> bytes:
        """Return the aggregate key on Solana."""
        return self.other(SolanaThresholdSigner).active_key() or bytes(32)

    @method("Address")
    def cf_sol_onchain_key(self) -> bytes:
        """Return the key that a rotation has given Solana's program; zeros before the first."""
        key = self.other(BROADCASTERS["Solana"]).CurrentOnChainKey.get()
        return key if isinstance(key, bytes) else bytes(32)

    @method("MonitoringDataV2")
    def cf_monitoring_data(self) -> MonitoringDataV2:
        """All of these in one."""
        flip = self.other(Flip)
        return MonitoringDataV2(
            external_chains_height=self.cf_external_chains_block_height(),
            btc_utxos=self.cf_btc_utxos(),
            epoch=self.cf_epoch_state(),
            pending_redemptions=self.cf_redemptions(),
            pending_broadcasts=self.cf_pending_broadcasts_count(),
            pending_tss=self.cf_pending_tss_ceremonies_count(),
            open_deposit_channels=self.cf_open_deposit_channels_count(),
            fee_imbalance=self.cf_fee_imbalance(),
            authorities=self.cf_authorities(),
            build_version=self.cf_build_version(),
            suspended_validators=self.cf_suspended_validators(),
            pending_swaps=self.cf_pending_swaps_count(),
            dot_aggkey=self.cf_dot_aggkey(),
            flip_supply=FlipSupply(
                total_supply=flip.TotalIssuance.get(), offchain_supply=flip.OffchainFunds.get()
            ),
            sol_aggkey=self.cf_sol_aggkey(),
            sol_onchain_key=self.cf_sol_onchain_key(),
            sol_nonces=self.cf_sol_nonces(),
            activating_key_broadcast_ids=self.cf_rotation_broadcast_ids(),
        )

    @method("Vec<ValidatorInfo>", accounts="BoundedVec<AccountId32>")
    def cf_accounts_info(self, accounts: Sequence[bytes]) -> list[values.ValidatorInfo]:
        """Return the validator information of some accounts."""
        validator_info = AccountsApi(self.runtime).cf_validator_info
        return [validator_info(account) for account in accounts]

    @method(
        "Result<(AuctionOutcome<AccountId32, u128>,"
        " BTreeMap<AccountId32, DelegationSnapshot<AccountId32, u128>>, Vec<AccountId32>, u128),"
        " DispatchErrorWithMessage>"
    )
    def cf_simulate_auction(self) -> Answer[Auction]:
        """How an auction would end now; nobody delegates, and nobody is new."""
        validator = self.other(ValidatorStorage)
        return "Ok", (validator.next_auction(), [], [], validator.Bond.get())
