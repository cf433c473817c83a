"""Status of a swap as the swap service returns it, in both versions.

Times are milliseconds since 1970; a block index is `<State Chain block>-<event index>`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from cfnode.sdk.models.payout import FailedPayout, Receiver, SwapTransfers, failed_payout
from cfnode.sdk.models.quote import Durations, Fee
from cfnode.sdk.models.request import DcaParams
from cfnode.sdk.models.transfer import Deposit, Egress
from cfnode.sdk.names import AssetSymbol, ChainName, SwapState, SwapStateV1
from cfnode.sdk.record import NULLABLE, Amount, OpenRecord

__all__ = [
    "FINAL_STATES",
    "Boost",
    "BrokerShare",
    "Chunk",
    "DcaProgress",
    "DepositChannel",
    "StatusCcm",
    "StatusFillOrKill",
    "SwapProgress",
    "SwapStatus",
    "SwapStatusV1",
]

FINAL_STATES: tuple[SwapState, ...] = ("COMPLETED", "FAILED")
"""The states of `SwapStatus` after which nothing changes any more."""


@dataclass(frozen=True)
class BrokerShare(OpenRecord):
    """A broker and its commission."""

    account: str
    commission_bps: int


@dataclass(frozen=True)
class DepositChannel(OpenRecord):
    """The channel of the deposit."""

    id: str
    created_at: int
    deposit_address: str
    src_chain_expiry_block: Amount
    estimated_expiry_time: int
    is_expired: bool
    opened_through_backend: bool
    expected_deposit_amount: Amount | None = None
    dca_params: DcaParams | None = None


@dataclass(frozen=True)
class Chunk(OpenRecord):
    """One swap in the pools."""

    input_amount: Amount
    scheduled_at: int
    scheduled_block_index: str
    retry_count: int
    intermediate_amount: Amount | None = None
    output_amount: Amount | None = None
    executed_at: int | None = None
    executed_block_index: str | None = None
    latest_swap_rescheduled_at: int | None = None
    latest_swap_rescheduled_block_index: str | None = None
    latest_swap_rescheduled_reason: str | None = None
    aborted_at: int | None = None
    aborted_block_index: str | None = None
    aborted_reason: str | None = None


@dataclass(frozen=True)
class DcaProgress(OpenRecord):
    """The number of executed chunks."""

    executed_chunks: int
    remaining_chunks: int
    last_executed_chunk: Chunk | None = field(default=None, metadata=NULLABLE)
    current_chunk: Chunk | None = field(default=None, metadata=NULLABLE)


@dataclass(frozen=True)
class SwapProgress(OpenRecord):
    """The swapped amounts: at once (`regular`) or in chunks (`dca`)."""

    original_input_amount: Amount
    remaining_input_amount: Amount
    swapped_input_amount: Amount
    swapped_intermediate_amount: Amount
    swapped_output_amount: Amount
    regular: Chunk | None = None
    dca: DcaProgress | None = None
    live_price_execution_delta_percentage: float | None = None


@dataclass(frozen=True)
class Boost(OpenRecord):
    """The outcome of boosting the deposit."""

    max_boost_fee_bps: int
    effective_boost_fee_bps: int | None = None
    boosted_at: int | None = None
    boosted_block_index: str | None = None
    skipped_at: int | None = None
    skipped_block_index: str | None = None


@dataclass(frozen=True)
class StatusFillOrKill(OpenRecord):
    """The conditions of the swap, as the chain holds them."""

    refund_address: str
    min_price: Decimal
    retry_duration_blocks: int


@dataclass(frozen=True)
class StatusCcm(OpenRecord):
    """The message of a swap to a contract: `message` 0x hex, `gas_budget` in the destination's gas units."""

    message: str | None = None
    gas_budget: int | str | None = None


@dataclass(frozen=True)
class _Status(OpenRecord):
    """The common members of both versions: state, assets and receiver."""

    state: str
    swap_id: str | None = None
    src_asset: AssetSymbol | None = None
    src_chain: ChainName | None = None
    dest_asset: AssetSymbol | None = None
    dest_chain: ChainName | None = None
    dest_address: str | None = None


@dataclass(frozen=True)
class SwapStatus(_Status):
    """The status of a swap.

    Its `state` goes from WAITING through RECEIVING, SWAPPING, SENDING and SENT to COMPLETED, or ends with
    FAILED. A refunded swap ends COMPLETED with `refund_egress`. A newer service may return another state.
    """

    state: SwapState
    src_chain_required_block_confirmations: int | None = None
    estimated_durations_seconds: Durations | None = None
    estimated_duration_seconds: float | None = None
    brokers: tuple[BrokerShare, ...] | None = None
    fees: tuple[Fee, ...] | None = None
    deposit_channel: DepositChannel | None = None
    deposit: Deposit | None = None
    swap: SwapProgress | None = None
    swap_egress: Egress | None = None
    refund_egress: Egress | None = None
    fallback_egress: Egress | None = None
    fill_or_kill_params: StatusFillOrKill | None = None
    dca_params: DcaParams | None = None
    boost: Boost | None = None
    ccm_params: StatusCcm | None = None
    last_statechain_update_at: int | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in FINAL_STATES

    @property
    def failed_payout(self) -> FailedPayout | None:
        """The failed payout of the swap, with the command that recovers it; None without a failure."""
        refund = self.fill_or_kill_params.refund_address if self.fill_or_kill_params else ""
        return failed_payout(
            SwapTransfers(
                reference=self.deposit_channel.id if self.deposit_channel else self.swap_id or "",
                has_failed=self.state == "FAILED",
                target=Receiver(self.dest_chain or "", self.dest_asset or "", self.dest_address or ""),
                refund=Receiver(self.src_chain or "", self.src_asset or "", refund),
                deposit=self.deposit,
                swap_egress=self.swap_egress,
                refund_egress=self.refund_egress,
                fallback_egress=self.fallback_egress,
            )
        )


@dataclass(frozen=True)
class SwapStatusV1(_Status):
    """The older, flat status. `state` is AWAITING_DEPOSIT … COMPLETE, BROADCAST_ABORTED or FAILED.

    Members that only some states have stay in `extra` under their JSON names.
    """

    state: SwapStateV1
    deposit_address: str | None = None
    deposit_amount: Amount | None = None
    expected_deposit_amount: Amount | None = None
    intermediate_amount: Amount | None = None
    egress_amount: Amount | None = None
    deposit_channel_broker_commission_bps: int | None = None
    deposit_channel_expiry_block: Amount | None = None
    estimated_deposit_channel_expiry_time: int | None = None
    is_deposit_channel_expired: bool | None = None
    fees_paid: tuple[Fee, ...] | None = None
