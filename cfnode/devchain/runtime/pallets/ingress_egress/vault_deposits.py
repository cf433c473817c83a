"""Deposits to the vault itself, which carry the terms of their swap.

No call has checked the terms before. What would have been refused when a channel was opened is found here,
and the money goes back; if there is nowhere to send it back to, it stays.
(`derive_channel_action_from_vault_deposit_witness` of the ingress-egress pallet.)
"""

from __future__ import annotations

from cfnode.core.addresses import ForeignAddress
from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.swap_requests.ccm import CcmError, check_ccm, supports_ccm
from cfnode.devchain.runtime.pallets.swap_requests.parameters import (
    check_dca,
    check_price_protection,
    check_retry,
    destination_on,
)
from cfnode.devchain.runtime.pallets.swap_requests.requests import ccm_deposit
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.swaps.limits import MAX_COMMISSION_BPS

from .boost_delay import admit_prewitnessed
from .deposits import Account, Action, PendingDeposit, vault_origin
from .pipeline import process
from .storage import IngressEgressStorage

__all__ = ["burn_address", "prewitness_vault_deposit", "process_vault_deposit"]

Witness = values.VaultDepositWitness
WitnessedRefund = values.ChannelRefundParameters[Account, values.CcmMetadata | None]


class _SentBack(Exception):
    """The terms cannot be met, and why."""

    def __init__(self, reason: values.RefundReason) -> None:
        super().__init__(reason)
        self.reason = reason


def process_vault_deposit(pallet: IngressEgressStorage, witness: Witness, height: int) -> None:
    """Process a vault swap that is final."""
    process(pallet, _deposit(pallet, witness, height))


def prewitness_vault_deposit(pallet: IngressEgressStorage, witness: Witness, height: int) -> None:
    """Admit a vault swap that is not yet final: it may be boosted, but is not refunded yet."""
    deposit = _deposit(pallet, witness, height)
    if isinstance(deposit.action, values.ChannelActionSwap):
        admit_prewitnessed(pallet, deposit)


def burn_address(pallet: IngressEgressStorage) -> Account:
    """Return the address that stands for a missing refund address."""
    return pallet.chain.family.burn_address


def _deposit(pallet: IngressEgressStorage, witness: Witness, height: int) -> PendingDeposit:
    fee, transaction = witness.broker_fee, witness.tx_id
    broker = None if fee is None else fee.account
    return PendingDeposit(
        asset=witness.input_asset,
        amount=witness.deposit_amount,
        details=witness.deposit_details,
        height=height,
        action=_action(pallet, witness),
        origin=vault_origin(pallet, transaction, broker),
        broker=broker,
        max_boost_fee=witness.boost_fee,
        boost_status=pallet.BoostedVaultTransactions.get(transaction),
        failed=values.DepositFailedInVault(witness),
        address=witness.deposit_address,
        channel_id=witness.channel_id,
        transaction=transaction,
    )


def _action(pallet: IngressEgressStorage, witness: Witness) -> Action:
    """Return the action that the terms ask for, as far as they can be met."""
    refund, source = witness.refund_params, witness.input_asset
    address = refund.refund_address
    if address == burn_address(pallet):
        return "Unrefundable"
    try:
        message = _refund_message(pallet, refund, source)
    except CcmError:
        return "Unrefundable"
    refund_terms = values.ChannelRefundParameters(
        retry_duration=refund.retry_duration,
        refund_address=(CHAINS[pallet.chain.name].address, address),
        min_price=refund.min_price,
        refund_ccm_metadata=message,
        max_oracle_price_slippage=refund.max_oracle_price_slippage,
    )
    try:
        return _terms(pallet, witness, refund_terms)
    except _SentBack as sent_back:
        return values.ChannelActionRefund(
            reason=sent_back.reason, refund_address=address, refund_ccm_metadata=message
        )


def _refund_message(
    pallet: IngressEgressStorage, refund: WitnessedRefund, asset: str
) -> values.CheckedCcmDeposit | None:
    ccm = refund.refund_ccm_metadata
    if ccm is None:
        return None
    if not supports_ccm(asset):
        raise CcmError("Ccm not supported for the refund chain.")
    return ccm_deposit(check_ccm(pallet, ccm, asset, refund.refund_address), pallet.chain.name)


def _terms(
    pallet: IngressEgressStorage,
    witness: Witness,
    refund: values.ChannelRefundParameters[ForeignAddress, values.CheckedCcmDeposit | None],
) -> values.ChannelActionSwap[bytes, values.CheckedCcmDeposit]:
    swapping = pallet.other(SwappingStorage)
    source, target = witness.input_asset, witness.output_asset
    fees = _broker_fees(pallet, witness)
    try:
        destination = destination_on(swapping, target, witness.destination_address)
    except DispatchError:
        raise _SentBack("InvalidDestinationAddress") from None
    message = _message(swapping, witness.deposit_metadata, target, destination)
    try:
        check_retry(swapping, refund.retry_duration)
        check_price_protection(swapping, refund.max_oracle_price_slippage, source, target)
    except DispatchError:
        raise _SentBack("InvalidRefundParameters") from None
    try:
        check_dca(swapping, witness.dca_params)
    except DispatchError:
        raise _SentBack("InvalidDcaParameters") from None
    return values.ChannelActionSwap(
        destination_asset=target,
        destination_address=destination,
        broker_fees=fees,
        channel_metadata=message,
        refund_params=refund,
        dca_params=witness.dca_params,
    )


def _broker_fees(pallet: IngressEgressStorage, witness: Witness) -> list[values.Beneficiary[bytes]]:
    """Return the fees of the broker, at least its own minimum, and of its affiliates. Raises _SentBack."""
    fee, swapping = witness.broker_fee, pallet.other(SwappingStorage)
    if fee is None:
        raise _SentBack("InvalidBrokerFees")
    broker = fee.account
    if pallet.other(AccountRoles).role(broker) != "Broker":
        pallet.deposit(pallet.Event.UnknownBroker, broker_id=broker)
        raise _SentBack("InvalidBrokerFees")
    minimum = swapping.VaultSwapMinimumBrokerFee.get(broker)
    fees = [values.Beneficiary(account=broker, bps=max(fee.bps, minimum))]
    for affiliate in witness.affiliate_fees:
        account = swapping.AffiliateIdMapping.get(broker, affiliate.account)
        if account is None:
            pallet.deposit(
                pallet.Event.UnknownAffiliate, broker_id=broker, short_affiliate_id=affiliate.account
            )
        else:
            fees.append(values.Beneficiary(account=account, bps=affiliate.bps))
    if sum(entry.bps for entry in fees) > MAX_COMMISSION_BPS:
        raise _SentBack("InvalidBrokerFees")
    return fees


def _message(
    swapping: SwappingStorage,
    ccm: values.CcmDepositMetadata[ForeignAddress, bytes] | None,
    asset: str,
    destination: ForeignAddress,
) -> values.CheckedCcmDeposit | None:
    """Return the message in its checked form, or None. Raises _SentBack."""
    if ccm is None:
        return None
    if not supports_ccm(asset):
        raise _SentBack("CcmUnsupportedForTargetChain")
    account = destination[1]
    assert isinstance(account, bytes)
    try:
        return values.CcmDepositMetadata(
            channel_metadata=check_ccm(swapping, ccm.channel_metadata, asset, account),
            source_chain=ccm.source_chain,
            source_address=ccm.source_address,
        )
    except CcmError:
        raise _SentBack("CcmInvalidMetadata") from None
