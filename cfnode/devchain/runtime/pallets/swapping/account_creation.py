"""Deposit channels that create and fund the account of a wallet's owner.

The owner of a wallet on Ethereum or Solana signs where a deposit should go back to: the call
`System.remark(address)`, with nonce 0. A broker opens a channel with that signature, and the first deposit
creates the account, makes it a liquidity provider's and funds it. Only the signature proves the owner, so it
is checked before the channel costs anything.
"""

from __future__ import annotations

from cfnode.core.addresses import EncodedAddress, ForeignAddress, chain_of_address
from cfnode.core.assets import ASSETS
from cfnode.core.scale import ScaleError
from cfnode.core.wallets import account_of
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.addresses import decoded, encoded
from cfnode.devchain.runtime.pallets.environment import Environment, SignatureData
from cfnode.devchain.runtime.pallets.funding_storage import FundingStorage
from cfnode.devchain.runtime.pallets.ingress_egress.deposits import channel_address
from cfnode.devchain.runtime.pallets.ingress_egress.opening import open_channel
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.system import System

__all__ = ["open_account_channel"]


def open_account_channel(
    swapping: SwappingStorage,
    broker: bytes,
    *,
    signature_data: SignatureData,
    transaction_metadata: values.TransactionMetadata,
    asset: str,
    boost_fee: int,
    refund_address: EncodedAddress,
) -> None:
    """Check what was signed, open a channel for the account that signed, and report its address."""
    who, error = account_of(signature_data), swapping.Error
    swapping.ensure(not swapping.other(System).exists(who), error.AccountAlreadyExists)
    refund_to = _refund_to(swapping, asset, refund_address)
    in_time = transaction_metadata.expiry_block > swapping.other(System).Number.get()
    swapping.ensure(in_time and not transaction_metadata.nonce, error.InvalidTransactionMetadata)
    _ensure_signed(swapping, signature_data, transaction_metadata, refund_address)

    pallet = swapping.other(INGRESS_EGRESS[ASSETS[asset].chain])
    minimum_funding = swapping.other(FundingStorage).MinimumFunding.get()
    action = values.ChannelActionLiquidityProvision(
        lp_account=who,
        refund_address=refund_to,
        additional_action=values.AdditionalDepositActionFundFlip(minimum_funding),
    )
    channel = open_channel(pallet, broker, asset, action, boost_fee)
    swapping.deposit(
        swapping.Event.AccountCreationDepositAddressReady,
        channel_id=channel.channel_id,
        asset=asset,
        deposit_address=channel_address(pallet, channel.address),
        requested_by=broker,
        requested_for=who,
        deposit_chain_expiry_block=channel.expires_at,
        boost_fee=boost_fee,
        channel_opening_fee=channel.opening_fee,
        refund_address=encoded(swapping, refund_to),
    )


def _refund_to(swapping: SwappingStorage, asset: str, address: EncodedAddress) -> ForeignAddress:
    error = swapping.Error.IncompatibleAssetAndAddress
    foreign = decoded(swapping, address, error)
    swapping.ensure(chain_of_address(foreign) == ASSETS[asset].chain, error)
    return foreign


def _ensure_signed(
    swapping: SwappingStorage,
    signature_data: SignatureData,
    bounds: values.TransactionMetadata,
    address: EncodedAddress,
) -> None:
    remark = swapping.codec("EncodedAddress").encode(address)
    call = ("System", ("remark", {"remark": remark}))
    expected = swapping.other(Environment).wallet_call(
        values.ChainflipExtrinsic(call=call, transaction_metadata=bounds)
    )
    try:
        signed = expected.is_signed(signature_data)
    except ScaleError:
        swapping.fail(swapping.Error.CannotEncodeData)
    swapping.ensure(signed, swapping.Error.InvalidUserSignatureData)
