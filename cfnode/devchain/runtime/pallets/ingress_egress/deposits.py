"""Deposits, on a channel or by way of the vault: their value, origin and events.

A `PendingDeposit` goes through the steps of `pipeline`, which reports its outcome at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from cfnode.core.addresses import EncodedAddress, Script
from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame.errors import DispatchErrorValue
from cfnode.devchain.runtime.pallets.addresses import encoded
from cfnode.devchain.runtime.pallets.swap_requests.requests import ccm_deposit

from .storage import IngressEgressStorage

__all__ = [
    "Account",
    "Action",
    "Details",
    "PendingDeposit",
    "Transaction",
    "channel_address",
    "channel_origin",
    "deposit_on",
    "is_boosted",
    "report_failed",
    "report_finalised",
    "vault_origin",
]

CHANNEL, VAULT = "DepositChannel", "Vault"
Account = bytes | Script
Transaction = bytes | values.TxId | tuple[bytes, int]
Details = values.EvmDepositDetails | values.Utxo | values.SolanaDeposit | values.TxId | int
Action = values.ChannelAction[bytes, values.CheckedCcmDeposit, Account]


@dataclass(frozen=True, slots=True)
class PendingDeposit:
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
        """`DepositOriginType` of the deposit."""
        return VAULT if self.channel is None else CHANNEL

    @property
    def channel_account(self) -> Account:
        """Address of the channel that the deposit came to."""
        assert self.address is not None
        return self.address

    @property
    def vault_transaction(self) -> Transaction:
        """The vault's name for the deposit."""
        assert self.transaction is not None
        return self.transaction


def deposit_on(
    pallet: IngressEgressStorage,
    channel: values.DepositChannelDetails,
    witness: values.DepositWitness,
    height: int,
) -> PendingDeposit:
    """Return a deposit with the action and terms of its channel."""
    return PendingDeposit(
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
    pallet: IngressEgressStorage, channel: values.DepositChannelDetails, height: int
) -> values.SwapOrigin[bytes]:
    """Return the origin of a deposit on a channel, seen at a height of its chain."""
    deposited = channel.deposit_channel
    return values.SwapOriginDepositChannel(
        deposit_address=channel_address(pallet, deposited.address),
        channel_id=deposited.channel_id,
        deposit_block_height=height,
        broker_id=channel.owner,
    )


def vault_origin(
    pallet: IngressEgressStorage, transaction: Transaction, broker: bytes | None
) -> values.SwapOrigin[bytes]:
    """Return the origin of a deposit by way of the vault."""
    return values.SwapOriginVault(tx_id=_transaction_id(pallet, transaction), broker_id=broker)


def _transaction_id(pallet: IngressEgressStorage, transaction: Transaction) -> values.TransactionId:
    if isinstance(transaction, values.TxId):
        return values.TransactionIdPolkadot(transaction)
    if isinstance(transaction, tuple):
        return values.TransactionIdSolana(transaction)
    if pallet.chain.name == "Bitcoin":
        return values.TransactionIdBitcoin(transaction)
    return values.TransactionIdEvm(transaction)


def _with_deposit(action: values.ChannelAction[bytes, values.CheckedCcm, Account], chain: str) -> Action:
    """Return a channel's action with its messages as those that have come with a deposit."""
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


def channel_address(pallet: IngressEgressStorage, account: Account) -> EncodedAddress:
    """Return an account of the pallet's chain as extrinsics and events encode it."""
    return encoded(pallet, (CHAINS[pallet.chain.name].address, account))


def report_finalised(
    pallet: IngressEgressStorage, deposit: PendingDeposit, fee: int, action: values.DepositAction
) -> None:
    """Deposit the event of a deposit that has been acted on."""
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


def report_failed(
    pallet: IngressEgressStorage,
    details: values.DepositFailedDetails | None,
    height: int,
    reason: str | tuple[str, DispatchErrorValue],
) -> None:
    """Deposit the event of a deposit that could not be acted on, with the reason."""
    pallet.deposit(pallet.Event.DepositFailed, block_height=height, reason=reason, details=details)


def is_boosted(status: values.BoostStatus[int, int]) -> TypeGuard[values.BoostStatusBoosted[int]]:
    """Return whether boosters have paid for a deposit already."""
    return isinstance(status, values.BoostStatusBoosted)
