"""`CustomRuntimeApi` methods for funding, roles, brokers, channel fees and failed calls.

Each method has the arguments and the result of runtime 2.2; those that need what the development chain does
not do yet are missing.
"""

from __future__ import annotations

from cfnode.core.addresses import Script
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, method, struct
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funding_storage import FundingStorage
from cfnode.devchain.runtime.pallets.ingress_egress.derivation import bitcoin_channel
from cfnode.devchain.runtime.pallets.ingress_egress.fallback import failed_call
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

__all__ = ["ChainflipApi"]

Transaction = values.EvmTransaction | values.TronTransaction

struct(
    "state_chain_runtime::runtime_apis::custom_api::types::BrokerInfo<BtcAddress>",
    earned_fees="Vec<(Asset, u128)>",
    btc_vault_deposit_address="Option<BtcAddress>",
    affiliates="Vec<(AccountId32, AffiliateDetails)>",
    bond="u128",
    bound_fee_withdrawal_address="Option<H160>",
)


class ChainflipApi(RuntimeApi):
    """Accounts, brokers and their channels."""

    api = "CustomRuntimeApi"

    @method("NetworkEnvironment")
    def cf_network_environment(self) -> str:
        """Which of the foreign chains' networks addresses belong to."""
        return self.other(EnvironmentStorage).ChainflipNetworkEnvironment.get()

    @method("u128")
    def cf_min_funding(self) -> int:
        """Return the minimum of FLIP that an account may be left with."""
        return self.other(FundingStorage).MinimumFunding.get()

    @method("u128")
    def cf_redemption_tax(self) -> int:
        """Return what taking FLIP out of an account costs."""
        return self.other(FundingStorage).RedemptionTax.get()

    @method("u128", account_id="AccountId32")
    def cf_account_flip_balance(self, account_id: bytes) -> int:
        """All FLIP of an account, bonded or not."""
        return self.other(Flip).balance(account_id)

    @method("Option<AccountRole>", account_id="AccountId32")
    def cf_account_role(self, account_id: bytes) -> str | None:
        """Return the role of an account, None if it does not exist."""
        return self.other(AccountRoles).role(account_id)

    @method("BrokerInfo<ScriptPubkey>", account_id="AccountId32")
    def cf_broker_info(self, account_id: bytes) -> values.BrokerInfo[Script]:
        """Return a broker's fees, affiliates, bond and private Bitcoin channel."""
        swapping, balances = self.other(SwappingStorage), self.other(AssetBalances)
        return values.BrokerInfo(
            earned_fees=[
                (asset, balances.balance(account_id, asset)) for asset in self.runtime.release.asset_names
            ],
            btc_vault_deposit_address=self._private_channel(swapping, account_id),
            affiliates=list(swapping.AffiliateAccountDetails.items(account_id)),
            bond=self.other(Flip).bond(account_id),
            bound_fee_withdrawal_address=swapping.bound_addresses.get(account_id),
        )

    @method("Vec<(AccountId32, AffiliateDetails)>", broker="AccountId32", affiliate="Option<AccountId32>")
    def cf_affiliate_details(
        self, broker: bytes, affiliate: bytes | None
    ) -> list[tuple[bytes, values.AffiliateDetails]]:
        """Return a broker's affiliates, or the one that is asked for."""
        affiliates = self.other(SwappingStorage).AffiliateAccountDetails.items(broker)
        return [(account, details) for account, details in affiliates if affiliate in (None, account)]

    @method("Vec<u64>", account_id="AccountId32", chain="ForeignChain")
    def cf_get_preallocated_deposit_channels(self, account_id: bytes, chain: str) -> list[int]:
        """Return the ids of the channels that are kept back for an account."""
        channels = self.other(INGRESS_EGRESS[chain]).PreallocatedChannels.get(account_id)
        return [channel.channel_id for channel in channels]

    @method("u128", chain="ForeignChain")
    def cf_channel_opening_fee(self, chain: str) -> int:
        """Return what opening a deposit channel costs, in FLIP."""
        return self.other(INGRESS_EGRESS[chain]).ChannelOpeningFee.get()

    @method("Option<evm::Transaction>", broadcast_id="u32")
    def cf_failed_call_ethereum(self, broadcast_id: int) -> Transaction | None:
        """Return a transaction that anybody may send for a failed transfer or message on Ethereum."""
        return failed_call(self.other(INGRESS_EGRESS["Ethereum"]), broadcast_id)

    @method("Option<evm::Transaction>", broadcast_id="u32")
    def cf_failed_call_arbitrum(self, broadcast_id: int) -> Transaction | None:
        """Return a transaction that anybody may send for a failed transfer or message on Arbitrum."""
        return failed_call(self.other(INGRESS_EGRESS["Arbitrum"]), broadcast_id)

    @method("Option<TronTransaction>", broadcast_id="u32")
    def cf_failed_call_tron(self, broadcast_id: int) -> Transaction | None:
        """Return a transaction that anybody may send for a failed transfer or message on Tron."""
        return failed_call(self.other(INGRESS_EGRESS["Tron"]), broadcast_id)

    def _private_channel(self, swapping: SwappingStorage, broker: bytes) -> Script | None:
        channel_id = swapping.BrokerPrivateBtcChannels.get(broker)
        if channel_id is None:
            return None
        return bitcoin_channel(self.other(INGRESS_EGRESS["Bitcoin"]), channel_id).script
