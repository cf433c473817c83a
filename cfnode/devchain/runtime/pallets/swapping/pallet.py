"""Swapping pallet: calls of brokers, and the hooks that run swaps.

Swapping (30): a broker registers, opens deposit channels for its users' swaps, earns a commission on them and
withdraws it. Each of these has a module of this package: `account_creation`, `brokers`, `channels`,
`destinations`, `gateway`, `governance`; and the swaps themselves `execution` and `outcome`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfnode.core.addresses import EncodedAddress
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Origin, Pallet, call, part
from cfnode.devchain.runtime.frame.calls import Arguments
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment import SignatureData
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.pools.stored import pair_of
from cfnode.devchain.runtime.pallets.swap_requests.parameters import (
    FLIP_BUY_INTERVAL,
    INTERNAL_NETWORK_FEE,
    NETWORK_FEE,
    SLIPPAGE_OF_STABLES,
    STABLES,
    destination_on,
)
from cfnode.devchain.runtime.pallets.swap_requests.requests import request_network_fee_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.swaps.limits import MAX_COMMISSION_BPS

from . import brokers
from .account_creation import open_account_channel
from .channels import SwapChannelRequest, check_request_bounds, open_swap_channel
from .execution import run_due_swaps
from .gateway import pay_rewards
from .governance import SwappingGovernance

if TYPE_CHECKING:
    from cfnode.devchain.runtime.config import DevGenesis

__all__ = ["Swapping"]

BROKER = "Broker"


class Swapping(Pallet):
    """Brokers' calls, and the hooks that run swaps."""

    index = 30
    crate = "pallet_cf_swapping"

    storage = part(SwappingStorage)
    governance = part(SwappingGovernance, storage)

    def genesis(self, config: DevGenesis) -> None:
        """Store network fees, the interval of FLIP buys, and the slippage limit of stablecoins."""
        self.storage.NetworkFee.put(NETWORK_FEE)
        self.storage.InternalSwapNetworkFee.put(INTERNAL_NETWORK_FEE)
        self.storage.FlipBuyInterval.put(FLIP_BUY_INTERVAL)
        for asset in sorted(STABLES):
            self.storage.DefaultOraclePriceSlippageProtection.put(pair_of(asset), SLIPPAGE_OF_STABLES)

    def on_epoch_ending(self, epoch: int) -> None:
        """Pay the rewards of an epoch that ends."""
        pay_rewards(self.storage, epoch)

    # Swaps

    def on_initialize(self, number: int) -> None:
        """Buy FLIP at each interval with the network fees collected."""
        interval = self.storage.FlipBuyInterval.get()
        if interval and number % interval == 0 and (earned := self.storage.CollectedNetworkFee.get()):
            self.storage.CollectedNetworkFee.kill()
            request_network_fee_swap(self.storage, "Usdc", earned)

    def on_finalize(self, number: int) -> None:
        """Execute the swaps that are due in this block."""
        run_due_swaps(self.storage, number)

    # Deposit channels

    @call(
        0,
        source_asset="Asset",
        destination_asset="Asset",
        destination_address="EncodedAddress",
        broker_commission="u16",
        channel_metadata="Option<CcmMetadata>",
        boost_fee="u16",
        refund_parameters="RefundParameters",
    )
    def request_swap_deposit_address(
        self,
        origin: Origin,
        source_asset: str,
        destination_asset: str,
        destination_address: EncodedAddress,
        broker_commission: int,
        channel_metadata: values.CcmMetadata | None,
        boost_fee: int,
        refund_parameters: values.RefundParameters,
    ) -> None:
        """Open a deposit channel for a swap, without affiliates and in one piece."""
        request = SwapChannelRequest(
            source_asset,
            destination_asset,
            destination_address,
            broker_commission,
            channel_metadata,
            boost_fee,
            (),
            refund_parameters,
            None,
        )
        open_swap_channel(self.storage, self._broker(origin), request)

    @call(
        11,
        source_asset="Asset",
        destination_asset="Asset",
        destination_address="EncodedAddress",
        broker_commission="u16",
        channel_metadata="Option<CcmMetadata>",
        boost_fee="u16",
        affiliate_fees="BoundedVec<Beneficiary<AccountId32>>",
        refund_parameters="RefundParameters",
        dca_parameters="Option<DcaParameters>",
    )
    def request_swap_deposit_address_with_affiliates(
        self,
        origin: Origin,
        source_asset: str,
        destination_asset: str,
        destination_address: EncodedAddress,
        broker_commission: int,
        channel_metadata: values.CcmMetadata | None,
        boost_fee: int,
        affiliate_fees: Sequence[values.Beneficiary[bytes]],
        refund_parameters: values.RefundParameters,
        dca_parameters: values.DcaParameters | None,
    ) -> None:
        """Open a deposit channel for a swap; up to five affiliates share the fees."""
        request = SwapChannelRequest(
            source_asset,
            destination_asset,
            destination_address,
            broker_commission,
            channel_metadata,
            boost_fee,
            affiliate_fees,
            refund_parameters,
            dca_parameters,
        )
        open_swap_channel(self.storage, self._broker(origin), request)

    @call(
        18,
        signature_data="SignatureData",
        transaction_metadata="TransactionMetadata",
        asset="Asset",
        boost_fee="u16",
        refund_address="EncodedAddress",
    )
    def request_account_creation_deposit_address(
        self,
        origin: Origin,
        signature_data: SignatureData,
        transaction_metadata: values.TransactionMetadata,
        asset: str,
        boost_fee: int,
        refund_address: EncodedAddress,
    ) -> None:
        """Open a channel whose first deposit creates and funds the account of the wallet that signed."""
        enabled = self.other(EnvironmentStorage).safe_mode("swapping", "deposit_enabled")
        self.ensure(enabled, self.storage.Error.LiquidityDepositDisabled)
        open_account_channel(
            self.storage,
            self._broker(origin),
            signature_data=signature_data,
            transaction_metadata=transaction_metadata,
            asset=asset,
            boost_fee=boost_fee,
            refund_address=refund_address,
        )

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        """Raise ScaleError if an argument is longer than its bound."""
        self.governance.check_bounds(arguments)
        if "refund_parameters" in arguments:
            check_request_bounds(arguments)

    # Registration

    @call(4)
    def register_as_broker(self, origin: Origin) -> None:
        """Take the role of a broker."""
        who = origin.ensure_signed()
        enabled = self.other(EnvironmentStorage).safe_mode("swapping", "broker_registration_enabled")
        self.ensure(enabled, self.storage.Error.BrokerRegistrationDisabled)
        self.other(AccountRoles).register(who, BROKER)

    @call(9)
    def deregister_as_broker(self, origin: Origin) -> None:
        """Give the role up, with all affiliates; open channels go on."""
        broker = self._broker(origin)
        brokers.ensure_may_deregister(self.storage, broker)
        self.other(AccountRoles).deregister(broker, BROKER)
        self.other(AssetBalances).drop_pending(broker)
        brokers.forget_affiliates(self.storage, broker)

    # Fees

    @call(1, asset="Asset", destination_address="EncodedAddress")
    def withdraw(self, origin: Origin, asset: str, destination_address: EncodedAddress) -> None:
        """Send all earned fees in an asset to an address on its chain."""
        if not self.runtime.release.rules.withdrawals_share_checks:
            brokers.ensure_withdrawals_are_enabled(self.storage)
        broker = self._broker(origin)
        destination = destination_on(self.storage, asset, destination_address)
        brokers.ensure_bound_address(self.storage, broker, asset, destination)
        brokers.withdraw_all(self.storage, broker, asset, destination, destination_address)

    @call(19, address="H160")
    def bind_broker_fee_withdrawal_address(self, origin: Origin, address: bytes) -> None:
        """Bind withdrawals on Ethereum to one address, for ever."""
        broker = self._broker(origin)
        bound = self.storage.bound_addresses
        self.ensure(not bound.contains(broker), self.storage.Error.BrokerAlreadyBound)
        bound.put(broker, address)
        self.deposit(self.storage.Event.BoundBrokerWithdrawalAddress, broker=broker, address=address)

    @call(17, minimum_fee_bps="u16")
    def set_vault_swap_minimum_broker_fee(self, origin: Origin, minimum_fee_bps: int) -> None:
        """Refuse swaps by vault contract that pay this broker less."""
        broker = self._broker(origin)
        self.ensure(minimum_fee_bps <= MAX_COMMISSION_BPS, self.storage.Error.BrokerCommissionBpsTooHigh)
        self.storage.VaultSwapMinimumBrokerFee.put(broker, minimum_fee_bps)
        self.deposit(
            self.storage.Event.VaultSwapMinimumBrokerFeeSet, broker_id=broker, minimum_fee_bps=minimum_fee_bps
        )

    # Private Bitcoin channels

    @call(12)
    def open_private_btc_channel(self, origin: Origin) -> None:
        """Open a Bitcoin channel of the broker's own, against a bond."""
        brokers.open_private_channel(self.storage, self._broker(origin))

    @call(13)
    def close_private_btc_channel(self, origin: Origin) -> None:
        """Close it and free the bond."""
        brokers.close_private_channel(self.storage, self._broker(origin))

    # Affiliates

    @call(14, withdrawal_address="H160")
    def register_affiliate(self, origin: Origin, withdrawal_address: bytes) -> None:
        """Make an account that shares this broker's fees."""
        brokers.register_affiliate(self.storage, self._broker(origin), withdrawal_address)

    @call(15, affiliate_account_id="AccountId32")
    def deregister_affiliate(self, origin: Origin, affiliate_account_id: bytes) -> None:
        """Take an affiliate away that has nothing left to withdraw."""
        brokers.deregister_affiliate(self.storage, self._broker(origin), affiliate_account_id)

    @call(16, affiliate_account_id="AccountId32")
    def affiliate_withdrawal_request(self, origin: Origin, affiliate_account_id: bytes) -> None:
        """Send an affiliate's fees to its address."""
        brokers.withdraw_for_affiliate(self.storage, self._broker(origin), affiliate_account_id)

    def _broker(self, origin: Origin) -> bytes:
        return self.other(AccountRoles).ensure_broker(origin)
