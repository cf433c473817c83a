"""Conversion between documents of the swap service and those of the partner API.

The swap service's documents are those of swap SDKs, in camelCase. Those of the partner API are in snake_case,
and have the members that `schema` declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from cfnode.core.assets import ASSETS
from cfnode.ledger.partners.registry import Partner
from cfnode.swap_service.live_network.partner_api.schema import ChannelRequest, Quote, QuoteRequest, Swap
from cfnode.swaps.documents.partner import partner_quote, partner_status

__all__ = ["channel_body", "malformed_text", "quote_of", "quote_query", "swap_of"]

_MEMBERS: Final = {
    "srcAsset": "src_asset",
    "destAsset": "dest_asset",
    "destAddress": "dest_address",
    "maxBoostFeeBps": "max_boost_fee_bps",
    "refundAddress": "refund_params.refund_address",
    "minPriceX128": "refund_params.min_price_x128",
    "retryDurationBlocks": "refund_params.retry_duration_blocks",
    "maxOraclePriceSlippage": "refund_params.max_oracle_price_slippage",
    "numberOfChunks": "dca_params.number_of_chunks",
    "chunkIntervalBlocks": "dca_params.chunk_interval_blocks",
    "ccmParams.message": "ccm_params.message",
    "ccmParams.gasBudget": "ccm_params.gas_budget",
    "ccmParams.ccmAdditionalData": "ccm_params.additional_data",
    "ccmGasBudget": "ccm_params.gas_budget",
    "ccmMessageLengthBytes": "ccm_params.message_length_bytes",
}
"""Members of the swap service's requests, and those of a partner's from which they were made."""
_REFUSED: Final = "invalid request: "


def malformed_text(message: str) -> str:
    """Return the swap service's text about a malformed member with its name as the partner sent it.

    For an asset it has the valid ones.
    """
    name, space, more = message.removeprefix(_REFUSED).partition(" ")
    member = _MEMBERS.get(name, name)
    is_asset = member in ("src_asset", "dest_asset")
    pairs = ", ".join(f"{asset.chain}/{asset.symbol}" for asset in ASSETS.values())
    valid = f": choose chain and asset from {pairs}" if is_asset else ""
    return f"{_REFUSED}{member}{space}{more}{valid}"


def quote_query(request: QuoteRequest, partner: Partner) -> dict[str, Any]:
    """Return the query of the swap service; its commission is that of the partner's channels."""
    query: dict[str, Any] = {
        **_assets(request),
        "amount": request.amount,
        "dcaEnabled": request.dca_enabled,
        "brokerCommissionBps": partner.commission_bps + partner.affiliate_bps,
    }
    if request.ccm_params is not None:
        query["ccmGasBudget"] = request.ccm_params.gas_budget
        query["ccmMessageLengthBytes"] = request.ccm_params.message_length_bytes
    return query


def quote_of(document: Mapping[str, Any]) -> Quote:
    """Return a quote of the swap service as one of the partner API."""
    return msgspec.convert(partner_quote(document), Quote)


def channel_body(request: ChannelRequest) -> dict[str, Any]:
    """Return the body of the swap service's request for a channel, without commissions."""
    refund = request.refund_params
    body: dict[str, Any] = {
        **_assets(request),
        "amount": request.amount,
        "destAddress": request.dest_address,
        "maxBoostFeeBps": request.max_boost_fee_bps,
        "fillOrKillParams": {
            "refundAddress": refund.refund_address,
            "minPriceX128": refund.min_price_x128,
            "retryDurationBlocks": refund.retry_duration_blocks,
            "maxOraclePriceSlippage": refund.max_oracle_price_slippage,
        },
    }
    if request.dca_params is not None:
        dca = request.dca_params
        body["dcaParams"] = {
            "numberOfChunks": dca.number_of_chunks,
            "chunkIntervalBlocks": dca.chunk_interval_blocks,
        }
    if request.ccm_params is not None:
        ccm = request.ccm_params
        body["ccmParams"] = {
            "message": ccm.message,
            "gasBudget": ccm.gas_budget,
            "ccmAdditionalData": ccm.additional_data,
        }
    return body


def _assets(request: ChannelRequest | QuoteRequest) -> dict[str, Any]:
    return {
        "srcChain": request.src_asset.chain,
        "srcAsset": request.src_asset.asset,
        "destChain": request.dest_asset.chain,
        "destAsset": request.dest_asset.asset,
    }


def swap_of(status: Mapping[str, Any]) -> Swap:
    """Return a status of the swap service as one of the partner API; the swap began in a channel."""
    return msgspec.convert(partner_status(status), Swap)
