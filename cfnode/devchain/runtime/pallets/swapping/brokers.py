"""Fees, affiliates and private Bitcoin channels of brokers.

Fees are earned in USDC and lie in `AssetBalances` until the whole of them is withdrawn. An affiliate is an
account without a key, derived from its broker's, that earns a share of the fees for an Ethereum address. A
private Bitcoin channel, whose address never changes while the key stays, costs a bond.
"""

from __future__ import annotations

from cfnode.core.addresses import EncodedAddress, ForeignAddress
from cfnode.core.assets import ASSETS
from cfnode.core.hashing import blake2_256
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.ingress_egress.egress import schedule_egress
from cfnode.devchain.runtime.pallets.ingress_egress.opening import next_channel_id
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.system import System

__all__ = [
    "affiliate_account",
    "affiliate_details",
    "close_private_channel",
    "deregister_affiliate",
    "ensure_bound_address",
    "ensure_may_deregister",
    "ensure_withdrawals_are_enabled",
    "forget_affiliates",
    "open_private_channel",
    "register_affiliate",
    "withdraw_all",
    "withdraw_for_affiliate",
]

FEE_ASSET = "Usdc"
SHORT_IDS = 256


def affiliate_account(broker: bytes, short_id: int) -> bytes:
    """Return the account (32 bytes) of a broker's affiliate."""
    return blake2_256(b"chainflip/affiliate" + broker + bytes([short_id]))


def withdraw_all(
    swapping: SwappingStorage, who: bytes, asset: str, destination: ForeignAddress, stated: EncodedAddress
) -> None:
    """Send all that an account owns of an asset; `stated` is the destination as the event has it."""
    balances, is_checked = (
        swapping.other(AssetBalances),
        swapping.runtime.release.rules.withdrawals_share_checks,
    )
    if is_checked:
        ensure_withdrawals_are_enabled(swapping)
    amount = balances.balance(who, asset)
    swapping.ensure(amount, swapping.Error.NoFundsAvailable)
    if is_checked:
        balances.ensure_allowed(who, values.ExternalAddress(destination))
    balances.debit(who, asset, amount)
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[asset].chain])
    egress = schedule_egress(pallet, asset, amount, destination[1])
    swapping.deposit(
        swapping.Event.WithdrawalRequested,
        account_id=who,
        egress_id=egress.egress_id,
        egress_asset=asset,
        egress_amount=egress.amount,
        egress_fee=egress.fee,
        destination_address=stated,
    )


def ensure_withdrawals_are_enabled(swapping: SwappingStorage) -> None:
    """Fail with WithdrawalsDisabled while safe mode stops withdrawals."""
    enabled = swapping.other(EnvironmentStorage).safe_mode("swapping", "withdrawals_enabled")
    swapping.ensure(enabled, swapping.Error.WithdrawalsDisabled)


def ensure_bound_address(
    swapping: SwappingStorage, broker: bytes, asset: str, destination: ForeignAddress
) -> None:
    """Fail if a broker that is bound to an address on Ethereum withdraws to another one.

    Fails with BrokerBoundWithdrawalAddressRestrictionViolated, only in releases that check bound brokers
    first.
    """
    error = swapping.Error.BrokerBoundWithdrawalAddressRestrictionViolated
    is_checked_first = swapping.runtime.release.rules.bound_brokers_are_checked_first
    if not is_checked_first or ASSETS[asset].chain != "Ethereum":
        return
    bound_address = swapping.BoundBrokerWithdrawalAddress.get(broker)
    swapping.ensure(bound_address in (None, destination[1]), error)


def ensure_may_deregister(swapping: SwappingStorage, broker: bytes) -> None:
    """Fail if something is left that only a broker can have.

    That is funds, a whitelist, a private channel, fees of an affiliate, or a bond.
    """
    balances, error = swapping.other(AssetBalances), swapping.Error
    balances.ensure_no_funds(broker)
    balances.ensure_no_whitelist(broker)
    has_channel = swapping.BrokerPrivateBtcChannels.contains(broker)
    swapping.ensure(not has_channel, error.PrivateChannelExistsForBroker)
    for affiliate, _ in swapping.AffiliateAccountDetails.items(broker):
        owns = balances.balance(affiliate, FEE_ASSET)
        swapping.ensure(not owns, error.AffiliateEarnedFeesNotWithdrawn)
    flip = swapping.other(Flip)
    flip.ensure(not flip.bond(broker), flip.Error.AccountBonded)


def forget_affiliates(swapping: SwappingStorage, broker: bytes) -> None:
    """Remove a broker's affiliates and their accounts."""
    for affiliate, _ in list(swapping.AffiliateAccountDetails.items(broker)):
        swapping.other(System).dec_providers(affiliate)
    swapping.AffiliateAccountDetails.clear(broker)
    swapping.AffiliateIdMapping.clear(broker)


def register_affiliate(swapping: SwappingStorage, broker: bytes, withdrawal_address: bytes) -> None:
    """Give the broker an affiliate under the lowest free short id."""
    used_ids = {short_id for short_id, _ in swapping.AffiliateIdMapping.items(broker)}
    free_id = next((short_id for short_id in range(SHORT_IDS) if short_id not in used_ids), None)
    if free_id is None:
        swapping.fail(swapping.Error.AffiliateShortIdOutOfBounds)
    affiliate, system = affiliate_account(broker, free_id), swapping.other(System)
    swapping.AffiliateIdMapping.put(broker, free_id, affiliate)
    details = values.AffiliateDetails(short_id=free_id, withdrawal_address=withdrawal_address)
    swapping.AffiliateAccountDetails.put(broker, affiliate, details)
    if not system.exists(affiliate):
        system.inc_providers(affiliate)
    swapping.deposit(
        swapping.Event.AffiliateRegistration,
        broker_id=broker,
        short_id=free_id,
        withdrawal_address=withdrawal_address,
        affiliate_id=affiliate,
    )


def affiliate_details(swapping: SwappingStorage, broker: bytes, affiliate: bytes) -> values.AffiliateDetails:
    """Return what was registered for an affiliate. Fails with AffiliateNotRegisteredForBroker."""
    details = swapping.AffiliateAccountDetails.get(broker, affiliate)
    return swapping.require(details, swapping.Error.AffiliateNotRegisteredForBroker)


def deregister_affiliate(swapping: SwappingStorage, broker: bytes, affiliate: bytes) -> None:
    """Remove an affiliate. Fails with AffiliateEarnedFeesNotWithdrawn before it has withdrawn its fees."""
    details = affiliate_details(swapping, broker, affiliate)
    owns = swapping.other(AssetBalances).balance(affiliate, FEE_ASSET)
    swapping.ensure(not owns, swapping.Error.AffiliateEarnedFeesNotWithdrawn)
    swapping.AffiliateAccountDetails.remove(broker, affiliate)
    swapping.AffiliateIdMapping.remove(broker, details.short_id)
    swapping.other(System).dec_providers(affiliate)
    swapping.deposit(
        swapping.Event.AffiliateDeregistration,
        broker_id=broker,
        short_id=details.short_id,
        affiliate_account_id=affiliate,
    )


def withdraw_for_affiliate(swapping: SwappingStorage, broker: bytes, affiliate: bytes) -> None:
    """Send an affiliate's fees to the Ethereum address it was registered with; in 2.2 even in safe mode."""
    address = ("Eth", affiliate_details(swapping, broker, affiliate).withdrawal_address)
    withdraw_all(swapping, affiliate, FEE_ASSET, address, address)


def open_private_channel(swapping: SwappingStorage, broker: bytes) -> None:
    """Give the broker a Bitcoin channel of its own, against a bond."""
    channels, flip, error = swapping.BrokerPrivateBtcChannels, swapping.other(Flip), swapping.Error
    swapping.ensure(not channels.contains(broker), error.PrivateChannelExistsForBroker)
    bond = swapping.BrokerBond.get()
    swapping.ensure(flip.balance(broker) >= bond, error.InsufficientFunds)
    channel_id = next_channel_id(swapping.other(INGRESS_EGRESS["Bitcoin"]))
    channels.put(broker, channel_id)
    flip.set_bond(broker, bond)
    swapping.deposit(swapping.Event.PrivateBrokerChannelOpened, broker_id=broker, channel_id=channel_id)


def close_private_channel(swapping: SwappingStorage, broker: bytes) -> None:
    """Close the broker's private channel, and free its bond."""
    channel_id = swapping.BrokerPrivateBtcChannels.take(broker)
    swapping.ensure(channel_id is not None, swapping.Error.NoPrivateChannelExistsForBroker)
    swapping.other(Flip).set_bond(broker, 0)
    swapping.deposit(swapping.Event.PrivateBrokerChannelClosed, broker_id=broker, channel_id=channel_id)
