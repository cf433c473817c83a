"""Checks of a swap's terms, and their wire formats.

The checks and their order are those of the JavaScript SDK; the limits on messages are those of its
documentation. Errors have the Python names of the arguments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import ForeignAsset
from cfnode.sdk.addresses import is_account, is_address
from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import Issue, ValidationError
from cfnode.sdk.models.quote import Quote
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.options import ClientSession, checked_commission
from cfnode.sdk.price import minimum_price, price_to_x128, read_number
from cfnode.sdk.record import read_int
from cfnode.swaps.address_faults import address_fault
from cfnode.swaps.limits import MAX_AFFILIATES, MAX_CCM_ADDITIONAL_DATA_BYTES, MAX_COMMISSION_BPS

__all__ = [
    "RefundTerms",
    "affiliates_for_broker",
    "check_addresses",
    "check_broker_options",
    "check_ccm_of_quote",
    "check_dca",
    "checked_boost",
    "checked_ccm",
    "checked_dca",
    "checked_shares",
    "dca_for_broker",
    "refund_terms",
    "whole_number",
]

_MIN_CHUNK_INTERVAL_BLOCKS = 2
_BLOCKS_PER_MINUTE = 10
_FOK = "fill_or_kill_params"
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*\Z")
_BUDGET = re.compile(r"(?:0x[0-9a-fA-F]+|[0-9]+)\Z")
_MAX_GAS_BUDGET = 2**128 - 1
_U16, _U32 = 2**16 - 1, 2**32 - 1


@dataclass(frozen=True, slots=True)
class RefundTerms:
    """Conditions of a refund in the chain's format.

    The minimum price is X128, the duration is in blocks, the slippage in basis points.
    """

    refund_address: str
    min_price_x128: int
    retry_duration: int
    max_oracle_price_slippage: int | None = None
    refund_ccm_metadata: Any = None

    def wire(self) -> dict[str, Any]:
        """Return the terms in the format of `broker_request_swap_deposit_address`."""
        return {
            "retry_duration": self.retry_duration,
            "refund_address": self.refund_address,
            "min_price": hex(self.min_price_x128),
            "max_oracle_price_slippage": self.max_oracle_price_slippage,
            "refund_ccm_metadata": self.refund_ccm_metadata,
        }

    def backend(self) -> dict[str, Any]:
        """Return the terms in the format of the swap service."""
        return {
            "retryDurationBlocks": self.retry_duration,
            "minPriceX128": str(self.min_price_x128),
            "maxOraclePriceSlippage": self.max_oracle_price_slippage,
            "refundCcmMetadata": self.refund_ccm_metadata,
            "refundAddress": self.refund_address,
        }


def refund_terms(
    params: FillOrKillParams | None,
    source: ForeignAsset,
    destination: ForeignAsset,
    session: ClientSession,
    *,
    quote: Quote | None,
    dca: bool,
) -> RefundTerms:
    """Return the caller's terms; without any, terms that never refund because of the price.

    Raises ValidationError.
    """
    if params is None:
        return _any_price(source, session, dca)
    price = _lowest_price(params, destination, quote)
    return RefundTerms(
        params.refund_address,
        price_to_x128(price, source, destination),
        _retry_blocks(params),
        _oracle_slippage(params, quote),
        params.refund_ccm_metadata,
    )


def _any_price(source: ForeignAsset, session: ClientSession, dca: bool) -> RefundTerms:
    if dca:
        raise ValidationError(_FOK, "dca_params requires fill_or_kill_params")
    address = session.options.refund_address_on(source.chain)
    if address is None:
        raise ValidationError(
            _FOK,
            f"{_FOK} is missing, and today's brokers need a refund address: give {_FOK}, "
            f"or name an address on {source.chain} in the option default_refund_addresses",
        )
    return RefundTerms(address, 0, 0)


def _lowest_price(params: FillOrKillParams, destination: ForeignAsset, quote: Quote | None) -> Any:
    if params.min_price is not None and params.slippage_tolerance_percent is not None:
        raise ValidationError.at(_FOK, "cannot have both min_price and slippage_tolerance_percent")
    if params.min_price is not None:
        return params.min_price
    if params.slippage_tolerance_percent is None or quote is None:
        if quote is None:
            raise ValidationError.at(f"{_FOK}.min_price", "Required without a quote")
        raise ValidationError.at(_FOK, "either min_price or slippage_tolerance_percent must be provided")
    return minimum_price(quote.estimated_price, params.slippage_tolerance_percent, destination)


def _retry_blocks(params: FillOrKillParams) -> int:
    minutes = params.retry_duration_minutes
    if params.retry_duration_blocks is None and minutes is not None:
        number = read_number(minutes, f"{_FOK}.retry_duration_minutes")
        return max(math.ceil(number * _BLOCKS_PER_MINUTE), 0)
    return whole_number(params.retry_duration_blocks, f"{_FOK}.retry_duration_blocks", _U32)


def _oracle_slippage(params: FillOrKillParams, quote: Quote | None) -> int | None:
    requested = params.live_price_slippage_tolerance_percent
    recommended = quote.recommended_live_price_slippage_tolerance_percent if quote else None
    if requested is False or (requested is None and not recommended):
        return None
    field = f"{_FOK}.live_price_slippage_tolerance_percent"
    if recommended is None:
        raise ValidationError.at(field, "live price protection is not available for this asset pair")
    percent = read_number(recommended if requested is None else requested, field)
    if not 0 <= percent <= 100:
        raise ValidationError.at(field, f"give a percentage from 0 to 100, not {percent}")
    if (percent * 100) % 1:
        raise ValidationError.at(field, "expected at most two decimals (basis points)")
    return int(percent * 100)


def whole_number(value: Any, field: str, largest: int = _U16) -> int:
    """Return a count that fits the chain's type; raise ValidationError for any other value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        text = (
            "Required" if value is None else f"expected a whole number from 0 to {largest}, not {value!r:.40}"
        )
        raise ValidationError.at(field, text)
    return value


def check_dca(dca: DcaParams) -> None:
    """Raise ValidationError for less than one chunk, or for an interval that the chain refuses."""
    chunks = whole_number(dca.number_of_chunks, "dca_params.number_of_chunks", _U32)
    interval = whole_number(dca.chunk_interval_blocks, "dca_params.chunk_interval_blocks", _U32)
    if chunks < 1:
        raise ValidationError.at("dca_params.number_of_chunks", "a swap has at least one chunk")
    if interval < _MIN_CHUNK_INTERVAL_BLOCKS:
        raise ValidationError.at(
            "dca_params.chunk_interval_blocks",
            f"chunks are at least {_MIN_CHUNK_INTERVAL_BLOCKS} blocks apart",
        )


def checked_dca(quote: Quote) -> DcaParams | None:
    """Return the checked chunks of a quote: None for a REGULAR one."""
    if quote.type == "REGULAR":
        return None
    if quote.type != "DCA":
        raise ValidationError.at("quote.type", unknown_value("type", quote.type, ("REGULAR", "DCA")))
    if quote.dca_params is None:
        raise ValidationError.at("quote.dca_params", "missing from a DCA quote")
    check_dca(quote.dca_params)
    return quote.dca_params


def checked_boost(quote: Quote) -> int | None:
    """Return the maximum boost fee in basis points; None if the quote is not a boost quote."""
    fee = quote.max_boost_fee_bps
    field = "quote.max_boost_fee_bps"
    return None if fee is None else whole_number(read_int(fee, field), field)


def checked_shares(
    session: ClientSession,
    requested: int | None,
    affiliates: Sequence[AffiliateBroker],
    cap: int = MAX_COMMISSION_BPS,
) -> int:
    """Return the broker's own commission in basis points.

    Raises ValidationError if it exceeds the chain's maximum, alone or with its affiliates' commissions, or if
    there are too many affiliates.
    """
    own_bps = checked_commission(session.commission_bps(requested), "broker_commission_bps", cap)
    if len(affiliates) > MAX_AFFILIATES:
        text = f"a swap has at most {MAX_AFFILIATES} affiliates, not {len(affiliates)}"
        raise ValidationError.at("affiliate_brokers", text)
    shares = [
        checked_commission(affiliate.commission_bps, f"affiliate_brokers[{index}].commission_bps")
        for index, affiliate in enumerate(affiliates)
    ]
    if own_bps + sum(shares) > MAX_COMMISSION_BPS:
        text = (
            f"{own_bps} bps of the broker and {sum(shares)} of affiliates exceed {MAX_COMMISSION_BPS} in all"
        )
        raise ValidationError.at("broker_commission_bps", text)
    return own_bps


def check_broker_options(
    session: ClientSession, requested: int | None, affiliates: Sequence[AffiliateBroker]
) -> None:
    """Raise ValidationError for a commission or affiliates without a broker, or for malformed accounts."""
    if session.options.broker is None:
        needs = "needs a broker of your own: give the option broker={'url': …}"
        if requested:
            raise ValidationError.at("broker_commission_bps", needs)
        if affiliates:
            raise ValidationError.at("affiliate_brokers", needs)
    issues = [
        _issue(
            f"affiliate_brokers[{index}].account",
            affiliate.account,
            "Chainflip account (cF…)",
            "copy it whole",
        )
        for index, affiliate in enumerate(affiliates)
        if not is_account(affiliate.account)
    ]
    if issues:
        raise ValidationError.of(issues)


def _issue(field: str, value: str, expected: str, fault: str = "") -> Issue:
    return Issue(field, f"{field}: {value!r:.80} is not a valid {expected}{f': {fault}' if fault else ''}")


def affiliates_for_broker(affiliates: Sequence[AffiliateBroker]) -> list[dict[str, Any]] | None:
    """Return the affiliates in the format of brokers; None without affiliates."""
    return [
        {"account": affiliate.account, "bps": affiliate.commission_bps} for affiliate in affiliates
    ] or None


def dca_for_broker(dca: DcaParams | None) -> dict[str, int] | None:
    """Return the chunks in the format of brokers; None for a swap without chunks."""
    if dca is None:
        return None
    return {"number_of_chunks": dca.number_of_chunks, "chunk_interval": dca.chunk_interval_blocks}


def check_addresses(
    source: ForeignAsset,
    refund: str,
    destination: ForeignAsset,
    dest: str,
    session: ClientSession,
    *,
    sender: str | None = None,
) -> None:
    """Raise ValidationError with all malformed addresses."""
    addresses = [("dest_address", dest, destination.chain), (f"{_FOK}.refund_address", refund, source.chain)]
    if sender is not None:
        addresses.append(("src_address", sender, source.chain))
    network = session.network
    issues = [
        _issue(
            field,
            address,
            f"{chain} address for {network.name}",
            address_fault(chain, address, network.bitcoin),
        )
        for field, address, chain in addresses
        if not is_address(address, chain, network)
    ]
    if (
        len(issues) > 1
        and is_address(dest, source.chain, network)
        and is_address(refund, destination.chain, network)
    ):
        swapped = Issue(issues[0].field, "receiver and refund address are swapped: exchange them")
        issues.insert(0, swapped)
    if issues:
        raise ValidationError.of(issues)


def check_ccm_of_quote(ccm: CcmParams | None, quote: Quote) -> None:
    """Raise ValidationError if only one of quote and request has a message.

    The quote's fees depend on the message.
    """
    if ccm and not quote.ccm_params:
        raise ValidationError.at("ccm_params", "the quote was requested without ccm_params")
    if quote.ccm_params and not ccm:
        raise ValidationError.at("ccm_params", "missing, but the quote was requested with ccm_params")


def checked_ccm(ccm: CcmParams | None, message_limit: int) -> dict[str, Any] | None:
    """Return the wire form of a message shorter than `message_limit` bytes; None without a message."""
    if ccm is None:
        return None
    message = _bytes(ccm.message, "ccm_params.message", message_limit)
    additional = _bytes(
        "0x" if ccm.ccm_additional_data is None else ccm.ccm_additional_data,
        "ccm_params.ccm_additional_data",
        MAX_CCM_ADDITIONAL_DATA_BYTES + 1,
    )
    return {
        "message": message,
        "gas_budget": hex(_gas_budget(ccm.gas_budget)),
        "ccm_additional_data": additional,
        "cf_parameters": additional,  # its name with older brokers
    }


def _bytes(text: Any, field: str, limit: int) -> str:
    if not isinstance(text, str) or not _HEX.match(text):
        raise ValidationError.at(field, f"give bytes as 0x and pairs of hex digits, not {text!r:.80}")
    if len(text) // 2 - 1 >= limit:
        raise ValidationError.at(field, f"expected less than {limit} bytes, not {len(text) // 2 - 1}")
    return text


def _gas_budget(budget: Any) -> int:
    if isinstance(budget, int) and not isinstance(budget, bool):
        number = budget
    elif isinstance(budget, str) and len(budget) <= 80 and _BUDGET.match(budget):
        number = int(budget, 16 if budget.startswith("0x") else 10)
    else:
        number = -1
    if not 0 <= number <= _MAX_GAS_BUDGET:
        raise ValidationError.at(
            "ccm_params.gas_budget", "expected a number, decimal or 0x hex, that fits 128 bits"
        )
    return number
