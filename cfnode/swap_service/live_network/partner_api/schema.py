"""Declarations of the partner API's requests and answers.

Requests are validated with them, answers are written with them, and the OpenAPI document is made of them.
Amounts are decimal digits in the asset's smallest unit, times Unix milliseconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from cfnode.core.assets import CHAINS, symbols_of
from cfnode.swaps.limits import BPS, MAX_CCM_MESSAGE_BYTES

__all__ = [
    "Asset",
    "Channel",
    "ChannelRequest",
    "Quote",
    "QuoteRequest",
    "Quotes",
    "Statement",
    "StatementQuery",
    "Swap",
]

Amount = Annotated[
    str, Meta(pattern=r"^[0-9]{1,39}$", description="In the smallest unit.", examples=["10000000"])
]
Address = Annotated[str, Meta(min_length=1, max_length=200, description="In the usual form of its chain.")]
BasisPoints = Annotated[int, Meta(ge=0, le=BPS)]
Value = Annotated[
    str, Meta(pattern=r"^[0-9]+(\.[0-9]{1,6})?$", description="In whole units of the statement's currency.")
]
Milliseconds = Annotated[int, Meta(description="Unix milliseconds.")]


class Asset(Struct, forbid_unknown_fields=True):
    """An asset by its chain and symbol."""

    chain: Annotated[
        str, Meta(max_length=40, examples=["Bitcoin"], extra_json_schema={"enum": [*sorted(CHAINS)]})
    ]
    asset: Annotated[str, Meta(max_length=40, examples=["BTC"], extra_json_schema={"enum": symbols_of(None)})]


class DcaParams(Struct, forbid_unknown_fields=True):
    """The chunks of a swap."""

    number_of_chunks: Annotated[int, Meta(ge=1, le=2**32 - 1)]
    chunk_interval_blocks: Annotated[int, Meta(ge=1, le=2**32 - 1)]


# Quotes


class MessageSize(Struct, forbid_unknown_fields=True):
    """A message that the destination is called with, for a quote."""

    gas_budget: Amount
    message_length_bytes: Annotated[int, Meta(ge=0, le=MAX_CCM_MESSAGE_BYTES)]


class QuoteRequest(Struct, forbid_unknown_fields=True):
    """A swap to be quoted."""

    src_asset: Asset
    dest_asset: Asset
    amount: Amount
    dca_enabled: Annotated[bool, Meta(description="Also quote the swap in chunks.")] = False
    ccm_params: MessageSize | None = None


class Fee(Struct):
    """A fee, with its asset."""

    type: str
    chain: str
    asset: str
    amount: Amount


class BoostQuote(Struct):
    """The quoted swap with a boosted deposit."""

    egress_amount: Amount
    estimated_price: str
    estimated_boost_fee_bps: BasisPoints
    max_boost_fee_bps: BasisPoints
    included_fees: list[Fee]


class Quote(Struct):
    """Quote of a swap now, without other swaps in between."""

    type: Annotated[str, Meta(extra_json_schema={"enum": ["REGULAR", "DCA"]})]
    src_asset: Asset
    dest_asset: Asset
    deposit_amount: Amount
    egress_amount: Amount
    estimated_price: Annotated[str, Meta(description="Whole units of dest_asset for one of src_asset.")]
    included_fees: list[Fee]
    low_liquidity_warning: bool
    estimated_duration_seconds: float
    recommended_slippage_tolerance_percent: float
    recommended_min_price_x128: Annotated[
        str, Meta(description="min_price_x128 of a channel that allows the recommended slippage.")
    ]
    recommended_retry_duration_blocks: int
    intermediate_amount: Amount | None = None
    dca_params: DcaParams | None = None
    boost_quote: BoostQuote | None = None


class Quotes(Struct):
    """All quotes of a request; the first one is without chunks."""

    quotes: list[Quote]


# Channels


class RefundParams(Struct, forbid_unknown_fields=True):
    """Conditions under which a deposit is refunded instead of swapped, and the address for that."""

    refund_address: Address
    min_price_x128: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{1,78}$",
            description="Smallest units of dest_asset for one of src_asset, times 2^128.",
        ),
    ]
    retry_duration_blocks: Annotated[int, Meta(ge=0, le=2**32 - 1)]
    max_oracle_price_slippage: Annotated[int, Meta(ge=0, le=2**16 - 1)] | None = None


class CcmParams(Struct, forbid_unknown_fields=True):
    """A message that the destination is called with."""

    message: Annotated[str, Meta(max_length=30_002, description="Hex.")]
    gas_budget: Amount
    additional_data: Annotated[str, Meta(max_length=6_002, description="Hex.")] = "0x"


class ChannelRequest(Struct, forbid_unknown_fields=True):
    """A deposit channel to be opened. Commission and affiliate follow from the partner's terms."""

    src_asset: Asset
    dest_asset: Asset
    amount: Annotated[Amount, Meta(description="The deposit that is expected.")]
    dest_address: Address
    refund_params: RefundParams
    max_boost_fee_bps: BasisPoints = 0
    dca_params: DcaParams | None = None
    ccm_params: CcmParams | None = None


class Broker(Struct):
    """An account that gets a commission of a swap."""

    account: str
    commission_bps: BasisPoints


class Channel(Struct):
    """An open deposit channel."""

    id: Annotated[str, Meta(examples=["1234-Bitcoin-56"])]
    deposit_address: Address
    src_asset: Asset
    dest_asset: Asset
    dest_address: Address
    expected_amount: Amount
    commission_bps: BasisPoints
    affiliates: list[Broker]
    max_boost_fee_bps: BasisPoints
    issued_block: int
    src_chain_expiry_block: str
    estimated_expiry_at: Milliseconds
    opening_fee: Annotated[Amount, Meta(description="In the smallest unit of FLIP; the broker has paid it.")]


# Statuses


class Failure(Struct):
    """Reason why a deposit, output or refund failed."""

    mode: str
    reason_name: str
    reason_message: str


class Deposit(Struct):
    """The deposit of a swap."""

    amount: Amount
    tx_ref: str | None = None
    witnessed_at: Milliseconds | None = None
    failed_at: Milliseconds | None = None
    failure: Failure | None = None


class Progress(Struct):
    """Progress of a swap: the amounts that have been swapped."""

    original_input_amount: Amount
    remaining_input_amount: Amount
    swapped_input_amount: Amount
    swapped_output_amount: Amount
    executed_chunks: int | None = None
    remaining_chunks: int | None = None


class Egress(Struct):
    """An output, or a refund."""

    amount: Amount
    scheduled_at: Milliseconds
    tx_ref: str | None = None
    witnessed_at: Milliseconds | None = None
    failed_at: Milliseconds | None = None
    failure: Failure | None = None


class ChannelState(Struct):
    """The channel of a swap."""

    id: str
    deposit_address: Address
    src_chain_expiry_block: str
    is_expired: bool
    expected_amount: Amount | None = None


class Swap(Struct):
    """The status of a swap of one of the partner's channels."""

    state: Annotated[
        str,
        Meta(
            extra_json_schema={
                "enum": ["WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED", "FAILED"]
            }
        ),
    ]
    src_asset: Asset
    dest_asset: Asset
    dest_address: Address
    deposit_channel: ChannelState
    brokers: list[Broker]
    fees: list[Fee]
    swap_id: str | None = None
    deposit: Deposit | None = None
    swap: Progress | None = None
    swap_egress: Egress | None = None
    refund_egress: Egress | None = None
    last_updated_at: Milliseconds | None = None


# Statements


class StatementQuery(Struct, forbid_unknown_fields=True):
    """Month of a statement, and its format."""

    month: Annotated[
        str, Meta(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$", description="In UTC.", examples=["2026-11"])
    ]
    format: Annotated[
        Literal["json", "csv", "csv-totals"], Meta(description="json, or CSV of the lines, or of the totals.")
    ] = "json"


class StatementLine(Struct, forbid_unknown_fields=True):
    """A fact of the month: an executed chunk, a fee, a payout, or a commission."""

    block: int
    event: int
    time: Annotated[str, Meta(description="ISO 8601, in UTC.")]
    line: str
    kind: str
    state: str | None
    account: str | None
    request: int | None
    swap: int | None
    chain: str | None
    channel: int | None
    channel_id: Annotated[str, Meta(description="The channel's id, as in its answer.")] | None
    egress: int | None
    destination: str | None
    asset: str
    amount: Amount | None
    units: str | None
    to_asset: str | None
    to_amount: Amount | None
    to_units: str | None
    value: Value | None
    currency: str
    valued_by: Annotated[str, Meta(extra_json_schema={"enum": ["swap", "usdc", "pool"]})] | None


class StatementTotal(Struct, forbid_unknown_fields=True):
    """The sum of all lines of a kind, state and pair of assets."""

    line: str
    kind: str
    state: str | None
    count: int
    asset: str
    amount: Annotated[str, Meta(description="In the smallest unit.")]
    units: str | None
    to_asset: str | None
    to_amount: str | None
    to_units: str | None
    value: Value | None
    currency: str


class Statement(Struct, forbid_unknown_fields=True):
    """All facts of a month about the partner's channels.

    `notes` are reasons why it is not complete; `unvalued` counts the lines without a value, by asset.
    """

    title: str
    period: str
    begins: Annotated[str, Meta(description="The first second, in UTC.")]
    ends: Annotated[str, Meta(description="The last second, in UTC.")]
    account: None
    partner: str
    currency: Annotated[str, Meta(description="That of the values.", examples=["USD"])]
    lines: list[StatementLine]
    totals: list[StatementTotal]
    notes: list[str]
    unvalued: dict[str, int]


Document = dict[str, Any]
