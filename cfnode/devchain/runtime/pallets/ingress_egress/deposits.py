"""What happens when a deposit has been seen, on a channel or by way of the vault?

In this order: is there such a channel, is the amount enough, has somebody asked to reject it; then it is
fetched into the vault (if it is not there already), the fee is withheld, and what remains becomes a swap. A
deposit in another asset of the same chain is swapped as the asset that it is. Each deposit on a channel is a
swap of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from cfnode.core.addresses import EncodedAddress, Script
from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.addresses import encoded
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment import Environment
from cfnode.devchain.runtime.pallets.swapping.requests import (
    UserSwap,
    ccm_deposit,
    limits_of,
    request_swap,
)
from cfnode.devchain.runtime.pallets.swapping.storage import SwappingStorage

from .account_creation import create_account
from .fees import ingress_estimate, withhold

if TYPE_CHECKING:
    from .pallet import IngressEgress

__all__ = [
    "Account",
    "Action",
    "Deposit",
    "Details",
    "Transaction",
    "channel_address",
    "channel_origin",
    "deposit_on",
    "finalised",
    "is_boosted",
    "perform_action",
    "process",
    "process_deposit",
    "schedule_fetch",
    "vault_origin",
    "withhold_ingress_fee",
]

CHANNEL, VAULT = "DepositChannel", "Vault"
Account = bytes | Script
Transaction = bytes | values.TxId | tuple[bytes, int]
Details = values.EvmDepositDetails | values.Utxo | values.SolanaDeposit | values.TxId | int
Action = values.ChannelAction[bytes, values.CheckedCcmDeposit, Account]


@dataclass(frozen=True, slots=True)
class Deposit:
    """A deposit and what is to be done with it.

    `details` is how its chain identifies it. `channel` is None for one by way of the vault, `transaction` the
    vault's name for that one; `failed` is missing for one that is not final.
    """

    asset: str
    amount: int
    details: Details
    height: int
    action: Action
    origin: values.SwapOrigin[bytes]
    broker: bytes | None
    max_boost_fee: int
    boost_status: values.BoostStatus[int, int]
    failed: values.DepositFailedDetails | None
    address: Account | None = None
    channel: values.DepositChannel | None = None
    channel_id: int | None = None
    transaction: Transaction | None = None
    is_marked: bool = False

    @property
    def origin_type(self) -> str:
        """`DepositOriginType`."""
        return VAULT if self.channel is None else CHANNEL

    @property
    def channel_account(self) -> Account:
        """The address of the channel that it came to."""
        assert self.address is not None
        return self.address

    @property
    def vault_transaction(self) -> Transaction:
        """The vault's name for it."""
        assert self.transaction is not None
        return self.transaction


def process_deposit(pallet: IngressEgress, witness: values.DepositWitness, height: int) -> None:
    """Take a deposit that has reached the chain's safety margin at `height`."""
    channel = pallet.DepositChannelLookup.get(witness.deposit_address)
    if channel is None:
        reason = pallet.error(pallet.Error.InvalidDepositAddress).value
        return _failed(
            pallet, values.DepositFailedOnChannel(witness), height, ("DepositWitnessRejected", reason)
        )
    return process(pallet, deposit_on(pallet, channel, witness, height))


def deposit_on(
    pallet: IngressEgress,
    channel: values.DepositChannelDetails,
    witness: values.DepositWitness,
    height: int,
) -> Deposit:
    """A deposit with what its channel was opened for."""
    return Deposit(
        asset=witness.asset,
        amount=witness.amount,
        details=witness.deposit_details,
        height=height,
        action=_with_deposit(channel.action, pallet.chain.name),
        origin=channel_origin(pallet, channel, height),
        broker=channel.owner,
        max_boost_fee=channel.boost_fee,
        boost_status=channel.boost_status,
        failed=values.DepositFailedOnChannel(witness),
        address=witness.deposit_address,
        channel=channel.deposit_channel,
        channel_id=channel.deposit_channel.channel_id,
        is_marked=channel.is_marked_for_rejection,
    )


def channel_origin(
    pallet: IngressEgress, channel: values.DepositChannelDetails, height: int
) -> values.SwapOrigin[bytes]:
    """The origin of a deposit on a channel, seen at a height of its chain."""
    deposited = channel.deposit_channel
    return values.SwapOriginDepositChannel(
        deposit_address=channel_address(pallet, deposited.address),
        channel_id=deposited.channel_id,
        deposit_block_height=height,
        broker_id=channel.owner,
    )


def vault_origin(pallet: IngressEgress, transaction: Any, broker: bytes | None) -> values.SwapOrigin[bytes]:
    """The origin of a deposit by way of the vault."""
    named = _TRANSACTIONS.get(pallet.chain.name, values.TransactionIdEvm)
    return values.SwapOriginVault(tx_id=named(transaction), broker_id=broker)


_TRANSACTIONS: dict[str, Callable[[Any], values.TransactionId]] = {
    "Bitcoin": values.TransactionIdBitcoin,
    "Polkadot": values.TransactionIdPolkadot,
    "Solana": values.TransactionIdSolana,
}


def _with_deposit(action: values.ChannelAction[bytes, values.CheckedCcm, Account], chain: str) -> Action:
    """A channel's action, its messages now as those that have come with a deposit."""
    match action:
        case values.ChannelActionSwap(refund_params=refund):
            return values.ChannelActionSwap(
                destination_asset=action.destination_asset,
                destination_address=action.destination_address,
                broker_fees=action.broker_fees,
                channel_metadata=ccm_deposit(action.channel_metadata, chain),
                refund_params=values.ChannelRefundParameters(
                    retry_duration=refund.retry_duration,
                    refund_address=refund.refund_address,
                    min_price=refund.min_price,
                    refund_ccm_metadata=ccm_deposit(refund.refund_ccm_metadata, chain),
                    max_oracle_price_slippage=refund.max_oracle_price_slippage,
                ),
                dca_params=action.dca_params,
            )
        case values.ChannelActionRefund():
            return values.ChannelActionRefund(
                reason=action.reason,
                refund_address=action.refund_address,
                refund_ccm_metadata=ccm_deposit(action.refund_ccm_metadata, chain),
            )
    return action


def process(pallet: IngressEgress, deposit: Deposit) -> None:
    """Take a deposit that is final."""
    boosted = is_boosted(deposit.boost_status)
    if not boosted and deposit.amount < pallet.MinimumDeposit.get(deposit.asset):
        return _failed(pallet, deposit.failed, deposit.height, "BelowMinimumDeposit")
    if not boosted and (reason := pallet.reject_if_marked(deposit)):
        return _failed(pallet, deposit.failed, deposit.height, reason)
    schedule_fetch(pallet, deposit)
    if pallet.finalise_if_boosted(deposit):
        return None
    available, fee = withhold_ingress_fee(pallet, deposit, deposit.amount)
    if not available:
        return _failed(pallet, deposit.failed, deposit.height, "NotEnoughToPayFees")
    pallet.cancel_boost(deposit)
    return finalised(pallet, deposit, fee, perform_action(pallet, deposit, available))


def withhold_ingress_fee(pallet: IngressEgress, deposit: Deposit, amount: int) -> tuple[int, int]:
    """What remains of a deposit's amount, and the fee."""
    estimate = ingress_estimate(pallet, deposit.asset, deposit.origin_type)
    withheld = withhold(pallet, deposit.asset, amount, estimate)
    return withheld.remaining, withheld.fee


# What becomes of it


def perform_action(pallet: IngressEgress, deposit: Deposit, amount: int) -> values.DepositAction:
    """Do with an amount what the deposit is for."""
    match deposit.action:
        case values.ChannelActionSwap() as terms:
            return _swap(pallet, deposit, terms, amount)
        case values.ChannelActionLiquidityProvision() as terms:
            return _provide(pallet, deposit, terms, amount)
        case values.ChannelActionRefund() as terms:
            return _refund(pallet, deposit, terms, amount)
    return "Unrefundable"


def _swap(
    pallet: IngressEgress,
    deposit: Deposit,
    terms: values.ChannelActionSwap[bytes, values.CheckedCcmDeposit],
    amount: int,
) -> values.DepositAction:
    refund = terms.refund_params
    destination = values.SwapOutputActionEgress(
        ccm_deposit_metadata=terms.channel_metadata, output_address=terms.destination_address
    )
    back = values.ExternalAddress(refund.refund_address)
    swap = UserSwap(
        input_asset=deposit.asset,
        input_amount=amount,
        output_asset=terms.destination_asset,
        output_action=destination,
        origin=deposit.origin,
        limits=limits_of(refund, refund.retry_duration, back, refund.refund_ccm_metadata),
        broker_fees=terms.broker_fees,
        dca=terms.dca_params,
    )
    return values.DepositActionSwap(request_swap(pallet.other(SwappingStorage), swap))


def _refund(
    pallet: IngressEgress,
    deposit: Deposit,
    terms: values.ChannelActionRefund[Account, values.CheckedCcmDeposit],
    amount: int,
) -> values.DepositAction:
    try:
        egress_id = pallet.schedule_egress(
            deposit.asset, amount, terms.refund_address, terms.refund_ccm_metadata
        ).egress_id
    except DispatchError:  # too little to be sent
        egress_id = None
    return values.DepositActionRefund(egress_id=egress_id, reason=terms.reason, amount=amount)


def _provide(
    pallet: IngressEgress,
    deposit: Deposit,
    terms: values.ChannelActionLiquidityProvision[bytes],
    amount: int,
) -> values.DepositAction:
    account = terms.lp_account
    spent = create_account(pallet, deposit, terms, amount)
    pallet.other(AssetBalances).credit(account, deposit.asset, amount - spent)
    return values.DepositActionLiquidityProvision(account)


def channel_address(pallet: IngressEgress, account: Account) -> EncodedAddress:
    """An account of the pallet's chain as extrinsics and events have it."""
    return encoded(pallet, (CHAINS[pallet.chain.name].address, account))


def finalised(pallet: IngressEgress, deposit: Deposit, fee: int, action: values.DepositAction) -> None:
    """Say what has become of a deposit."""
    pallet.deposit(
        pallet.Event.DepositFinalised,
        deposit_address=deposit.address,
        asset=deposit.asset,
        amount=deposit.amount,
        block_height=deposit.height,
        deposit_details=deposit.details,
        ingress_fee=fee,
        max_boost_fee_bps=deposit.max_boost_fee,
        action=action,
        channel_id=deposit.channel_id,
        origin_type=deposit.origin_type,
    )


def _failed(
    pallet: IngressEgress, details: values.DepositFailedDetails | None, height: int, reason: Any
) -> None:
    """Say why a deposit leads to nothing."""
    pallet.deposit(pallet.Event.DepositFailed, block_height=height, reason=reason, details=details)


# Into the vault


def is_boosted(status: values.BoostStatus[int, int]) -> TypeGuard[values.BoostStatusBoosted[int]]:
    """Whether somebody has paid for a deposit already."""
    return isinstance(status, values.BoostStatusBoosted)


def schedule_fetch(pallet: IngressEgress, deposit: Deposit) -> None:
    """Have a channel's deposit brought into the vault; Bitcoin spends it from where it lies."""
    if deposit.channel is not None:
        _fetch_from(pallet, deposit.channel, deposit)
    if isinstance(utxo := deposit.details, values.Utxo):
        pallet.other(Environment).BitcoinAvailableUtxos.mutate(lambda known: [*known, utxo])


def _fetch_from(pallet: IngressEgress, channel: values.DepositChannel, deposit: Deposit) -> None:
    own, address = channel.asset, channel.address
    if pallet.chain.is_evm and deposit.asset != own and channel.state in ("Undeployed", "Pending"):
        # The contract's constructor fetches its own asset, and it must be there to fetch another.
        _queue_fetch(pallet, own, address, 0)
    _queue_fetch(pallet, deposit.asset, address, deposit.amount)
    pallet.deposit(pallet.Event.DepositFetchesScheduled, channel_id=channel.channel_id, asset=deposit.asset)


def _queue_fetch(pallet: IngressEgress, asset: str, address: Account, amount: int) -> None:
    fetch = {"asset": asset, "deposit_address": address, "deposit_fetch_id": None, "amount": amount}
    pallet.ScheduledEgressFetchOrTransfer.mutate(lambda queue: [*queue, ("Fetch", fetch)])
