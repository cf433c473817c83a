"""Which swap does a request's body describe? A JSON object with names in camelCase.

Requests for a channel and for a vault swap have the same members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import ASSETS
from cfnode.core.jsonrpc import RpcError
from cfnode.node.broker import ChannelRequest
from cfnode.rpc.broker_params import address_on, read_ccm
from cfnode.rpc.serde import Misread
from cfnode.swap_service.fields import MAX_BPS, Refusal, amount, asset_pair, invalid, member, number, text

__all__ = ["read_address", "read_request"]

MAX_CHUNKS: Final = 2**32 - 1


def read_request(body: Mapping[str, Any]) -> tuple[ChannelRequest, int]:
    """The requested swap, and its expected amount. Raises Refusal."""
    source, target = asset_pair(body, "src"), asset_pair(body, "dest")
    _check_shares(body)
    request = ChannelRequest(
        source_asset=source,
        destination_asset=target,
        destination_address=read_address(ASSETS[target].chain, text(body, "destAddress")),
        broker_commission=0,
        refund_parameters=_refund(body, ASSETS[source].chain),
        channel_metadata=_ccm(member(body, "ccmParams"), "ccmParams"),
        boost_fee=number(body, "maxBoostFeeBps", 2**16 - 1, 0),
        dca_parameters=_dca(member(body, "dcaParams")),
    )
    return request, amount(body, "amount")


def _check_shares(body: Mapping[str, Any]) -> None:
    """Raises Refusal for a commission: the service charges none; for a commission, use a broker."""
    commissions = ("brokerCommissionBps", "commissionBps")
    affiliates = body.get("affiliateBrokers") or body.get("affiliates")
    if affiliates or any(number(body, name, MAX_BPS, 0) for name in commissions):
        only = "supported only when initializing the SDK with a brokerUrl"
        raise Refusal(400, f"Broker commission is {only}")


def _refund(body: Mapping[str, Any], chain: str) -> dict[str, Any]:
    terms = member(body, "fillOrKillParams")
    if terms is None:
        raise Refusal(400, "invalid request: fill or kill params are required")
    slippage = terms.get("maxOraclePriceSlippage")
    refund_ccm = member(terms, "refundCcmMetadata")
    return {
        "retry_duration": number(terms, "retryDurationBlocks", 2**32 - 1),
        "refund_address": read_address(chain, text(terms, "refundAddress")),
        "min_price": number(terms, "minPriceX128", 2**256 - 1),
        "refund_ccm_metadata": _ccm(refund_ccm, "refundCcmMetadata"),
        "max_oracle_price_slippage": (
            None if slippage is None else number(terms, "maxOraclePriceSlippage", 2**16 - 1)
        ),
    }


def _ccm(given: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
    if given is None:
        return None
    more = given.get("ccmAdditionalData", given.get("cfParameters"))
    budget = given.get("gasBudget")
    if isinstance(budget, str) and budget.isascii() and budget.isdigit() and len(budget) <= 39:
        budget = int(budget)
    if type(budget) is int:
        budget = hex(budget)
    wire = {"message": given.get("message"), "gas_budget": budget, "ccm_additional_data": more or "0x"}
    try:
        return read_ccm(wire)
    except Misread as error:
        raise invalid(f"{'.'.join([name, *map(str, error.path)])}: {error}") from None


def _dca(given: Mapping[str, Any] | None) -> dict[str, int] | None:
    if given is None:
        return None
    return {
        "number_of_chunks": number(given, "numberOfChunks", MAX_CHUNKS),
        "chunk_interval": number(given, "chunkIntervalBlocks", MAX_CHUNKS),
    }


def read_address(chain: str, written: str) -> EncodedAddress:
    """An address in the usual text form of its chain. Raises Refusal."""
    try:
        return address_on(chain, written)
    except RpcError as error:
        raise Refusal(400, f"invalid request: {error}") from None
