"""Comparison of a channel in the books with the terms of a request, by what the channel's event states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core import ss58
from cfnode.core.addresses import address_to_text
from cfnode.swap_service.live_network.broker import CommissionShares
from cfnode.swap_service.requests import SwapTerms
from cfnode.swap_service.source import OpenedChannel
from cfnode.swaps.addresses import is_same_address
from cfnode.swaps.record import Entry

__all__ = ["channel_of", "is_of"]


def is_of(terms: SwapTerms, shares: CommissionShares, fields: Mapping[str, Any]) -> bool:
    """Return whether a channel's event has these terms and commissions."""
    refund = fields["refund_parameters"]
    return (
        is_same_address(fields["destination_address"], terms.destination)
        and fields["broker_commission_rate"] == shares.commission_bps
        and [(ss58.encode(affiliate["account"]), affiliate["bps"]) for affiliate in fields["affiliate_fees"]]
        == list(shares.affiliates)
        and fields["boost_fee"] == terms.boost_fee
        and fields["dca_parameters"] == terms.chunks
        and _is_message(fields["channel_metadata"], terms.message)
        and is_same_address(refund["refund_address"], terms.refund["refund_address"])
        and all(refund[name] == terms.refund[name] for name in ("retry_duration", "min_price"))
        and refund["max_oracle_price_slippage"] == terms.refund["max_oracle_price_slippage"]
    )


def _is_message(message: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None) -> bool:
    if message is None or wanted is None:
        return message is wanted
    return all(message[name] == wanted[name] for name in ("message", "gas_budget"))


def channel_of(event: Entry) -> OpenedChannel:
    """Return the channel that an event opened."""
    fields = event.fields
    return OpenedChannel(
        address_to_text(fields["deposit_address"]),
        fields["channel_id"],
        event.block.number,
        event.time,
        fields["source_chain_expiry_block"],
        fields["channel_opening_fee"],
    )
