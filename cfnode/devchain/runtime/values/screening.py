"""Frozen dataclasses of the chain's values: screening.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.addresses import Script
from cfnode.core.scale import PythonForm

from .bitcoin import Utxo
from .deposits import EvmDepositDetails, SolanaDeposit

__all__ = [
    "ChannelRejectionRequestReceived",
    "RejectedByBroker",
    "RejectionRequestExpired",
    "RejectionRequestReceived",
    "TransactionScreeningEvent",
    "TransactionScreeningEvents",
]

Address = TypeVar("Address", covariant=True)
DepositDetails = TypeVar("DepositDetails", covariant=True)
TxId = TypeVar("TxId", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionRequestReceived(Generic[TxId]):
    """`state_chain_runtime::TransactionScreeningEvent::TransactionRejectionRequestReceived`."""

    account_id: bytes
    tx_id: TxId


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionRequestExpired(Generic[TxId]):
    """`state_chain_runtime::TransactionScreeningEvent::TransactionRejectionRequestExpired`."""

    account_id: bytes
    tx_id: TxId


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedByBroker(Generic[DepositDetails]):
    """`state_chain_runtime::TransactionScreeningEvent::TransactionRejectedByBroker`."""

    refund_broadcast_id: int
    deposit_details: DepositDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRejectionRequestReceived(Generic[Address]):
    """`state_chain_runtime::TransactionScreeningEvent::ChannelRejectionRequestReceived`."""

    account_id: bytes
    deposit_address: Address


TransactionScreeningEvent: TypeAlias = (
    RejectionRequestReceived[TxId]
    | RejectionRequestExpired[TxId]
    | RejectedByBroker[DepositDetails]
    | ChannelRejectionRequestReceived[Address]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionScreeningEvents:
    """`state_chain_runtime::TransactionScreeningEvents`."""

    btc_events: Sequence[TransactionScreeningEvent[bytes, Utxo, Script]]
    eth_events: Sequence[TransactionScreeningEvent[bytes, EvmDepositDetails, bytes]]
    arb_events: Sequence[TransactionScreeningEvent[bytes, EvmDepositDetails, bytes]]
    sol_events: Sequence[TransactionScreeningEvent[tuple[bytes, int], SolanaDeposit, bytes]]
    tron_events: Sequence[TransactionScreeningEvent[bytes, EvmDepositDetails, bytes]]
    bsc_events: Sequence[TransactionScreeningEvent[bytes, EvmDepositDetails, bytes]] | None = None


FORMS: Mapping[str, PythonForm] = {
    "TransactionScreeningEvent": {
        "TransactionRejectionRequestReceived": RejectionRequestReceived,
        "TransactionRejectionRequestExpired": RejectionRequestExpired,
        "TransactionRejectedByBroker": RejectedByBroker,
        "ChannelRejectionRequestReceived": ChannelRejectionRequestReceived,
    },
    "TransactionScreeningEvents": TransactionScreeningEvents,
}
