"""`CustomRuntimeApi` methods for epochs, auctions, contracts, FLIP, accounts and assets."""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, method, struct
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funding_storage import FundingStorage
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage

__all__ = ["ChainApi"]

struct(
    "state_chain_runtime::runtime_apis::custom_api::types::AuctionState",
    epoch_duration="u32",
    current_epoch_started_at="u32",
    redemption_period_as_percentage="u8",
    min_funding="u128",
    min_bid="u128",
    auction_size_range="(u32, u32)",
    min_active_bid="Option<u128>",
)


class ChainApi(RuntimeApi):
    """The chain as a whole."""

    api = "CustomRuntimeApi"

    @method("bool")
    def cf_is_auction_phase(self) -> bool:
        """Whether an auction is running: never, the authorities stay."""
        return False

    @method("u32")
    def cf_current_epoch(self) -> int:
        """Return the number of the epoch; the first is 1."""
        return self.other(ValidatorStorage).CurrentEpoch.get()

    @method("u32")
    def cf_epoch_duration(self) -> int:
        """Blocks of an epoch."""
        return self.other(ValidatorStorage).EpochDuration.get()

    @method("u32")
    def cf_current_epoch_started_at(self) -> int:
        """Return the block in which the epoch began."""
        return self.other(ValidatorStorage).CurrentEpochStartedAt.get()

    @method("AuctionState")
    def cf_auction_state(self) -> values.AuctionState:
        """Return what the next auction would ask for."""
        validator = self.other(ValidatorStorage)
        sizes = validator.AuctionParameters.get()
        return values.AuctionState(
            epoch_duration=validator.EpochDuration.get(),
            current_epoch_started_at=validator.CurrentEpochStartedAt.get(),
            redemption_period_as_percentage=validator.RedemptionPeriodAsPercentage.get(),
            min_funding=self.other(FundingStorage).MinimumFunding.get(),
            min_bid=validator.MinimumAuctionBid.get(),
            auction_size_range=(sizes.min_size, sizes.max_size),
            min_active_bid=validator.next_auction().bond,
        )

    @method("H160")
    def cf_eth_flip_token_address(self) -> bytes:
        """Return the address of the FLIP token's contract."""
        return self.other(EnvironmentStorage).EthereumSupportedAssets.get("Flip") or bytes(20)

    @method("H160")
    def cf_eth_state_chain_gateway_address(self) -> bytes:
        """Return the address of the contract through which accounts are funded."""
        return self.other(EnvironmentStorage).EthereumStateChainGatewayAddress.get()

    @method("H160")
    def cf_eth_key_manager_address(self) -> bytes:
        """Return the address of the contract that checks the authorities' signatures."""
        return self.other(EnvironmentStorage).EthereumKeyManagerAddress.get()

    @method("u64")
    def cf_eth_chain_id(self) -> int:
        """Ethereum's chain id."""
        return self.other(EnvironmentStorage).EthereumChainId.get()

    @method("SemVer")
    def cf_current_compatibility_version(self) -> values.SemVer:
        """Return the release whose clients understand this chain."""
        return self.other(EnvironmentStorage).CurrentReleaseVersion.get()

    @method("RuntimeSafeMode")
    def cf_safe_mode_statuses(self) -> values.RuntimeSafeMode:
        """Return what the safe mode leaves on, by pallet."""
        return self.other(EnvironmentStorage).RuntimeSafeMode.get()

    @method("(u128, u128)")
    def cf_flip_supply(self) -> tuple[int, int]:
        """All FLIP, and how much of it is outside of this chain."""
        flip = self.other(Flip)
        return flip.TotalIssuance.get(), flip.OffchainFunds.get()

    @method("Vec<(AccountId32, Bytes)>")
    def cf_accounts(self) -> list[tuple[bytes, bytes]]:
        """All accounts with their names for people, in the order of the storage keys of `System.Account`."""
        roles = self.other(AccountRoles)
        names = dict(roles.VanityNames.get())
        account_ids = list(self.other(System).Account.keys())
        return [(account, names.get(account, b"")) for account in account_ids]

    @method("Vec<Asset>")
    def cf_supported_assets(self) -> tuple[str, ...]:
        """All assets."""
        return self.runtime.release.asset_names
