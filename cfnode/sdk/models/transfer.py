"""Deposits, egresses and their failures in the status of a swap.

Times are milliseconds since 1970; a block index is `<State Chain block>-<event index>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.sdk.names import FailureMode
from cfnode.sdk.record import Amount, OpenRecord

__all__ = ["Deposit", "Egress", "Failure", "Transfer"]


@dataclass(frozen=True)
class Failure(OpenRecord):
    """A failure: its `mode` (DEPOSIT_IGNORED, SENDING_FAILED, …) and its `reason` (name and message)."""

    failed_at: int
    failed_block_index: str
    mode: FailureMode
    reason: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Transfer(OpenRecord):
    """A payment on a foreign chain, base units: its transaction, and when it was witnessed or failed."""

    amount: Amount
    tx_ref: str | None = None
    witnessed_at: int | None = None
    witnessed_block_index: str | None = None
    failure: Failure | None = None
    failed_at: int | None = None
    failed_block_index: str | None = None


@dataclass(frozen=True, kw_only=True)
class Deposit(Transfer):
    """The deposit into the channel; it has `tx_confirmations` until it is witnessed."""

    tx_confirmations: int | None = None


@dataclass(frozen=True, kw_only=True)
class Egress(Transfer):
    """A payout: the swapped amount, a refund, or the fallback of a failed transfer.

    `transaction_payload` is the call with which any account may make a transfer that failed.
    """

    scheduled_at: int
    scheduled_block_index: str
    transaction_payload: Mapping[str, Any] | None = None
