"""What does a user without a broker send to the vault? Encoded in the name of the service's account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS
from cfnode.node.broker import ChannelRequest
from cfnode.node.outcome import SubmissionError
from cfnode.node.runtime_api import ApiMissing, ApiRefused
from cfnode.rpc.backend.channels import DefaultBroker
from cfnode.rpc.backend.fields import Refusal
from cfnode.rpc.backend.quotes import check_least_and_most
from cfnode.rpc.backend.requests import read_request
from cfnode.rpc.cf.method import query
from cfnode.rpc.errors import explain

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["encode_vault_swap"]

_ENCODE: Final = "cf_request_swap_parameter_encoding"


async def encode_vault_swap(node: Node, broker: DefaultBroker, body: Mapping[str, Any]) -> dict[str, Any]:
    """What the runtime encodes, its members in camelCase. Raises Refusal."""
    request, asked = read_request(body)
    await check_least_and_most(node, node.chain.best.hash, request.source_asset, asked)
    chain = ASSETS[request.source_asset].chain
    try:
        await (broker.prepare_for_bitcoin() if chain == "Bitcoin" else broker.prepare())
        arguments = _arguments(request, chain, asked) | {"broker": broker.account}
        document: dict[str, Any] = await query(node, node.chain.best.hash, _ENCODE, **arguments)
    except SubmissionError as error:
        raise Refusal(400, str(error)) from None
    except (ApiMissing, ApiRefused) as error:
        raise Refusal(400, explain(error, _ENCODE).message) from None
    return {_camel(name): value for name, value in document.items()}


def _arguments(request: ChannelRequest, chain: str, amount: int) -> dict[str, Any]:
    return {
        "source_asset": request.source_asset,
        "destination_asset": request.destination_asset,
        "destination_address": request.destination_address,
        "broker_commission": 0,
        "extra_parameters": (chain, _extra(request, chain, amount)),
        "channel_metadata": request.channel_metadata,
        "boost_fee": request.boost_fee,
        "affiliate_fees": [],
        "dca_parameters": request.dca_parameters,
    }


def _extra(request: ChannelRequest, chain: str, amount: int) -> dict[str, Any]:
    """What depends on the source chain: a bitcoin payment has room for a least output, not for a price."""
    refund = request.refund_parameters
    if chain == "Bitcoin":
        return {
            "min_output_amount": (amount * refund["min_price"] + (1 << 127)) >> 128,
            "retry_duration": refund["retry_duration"],
            "max_oracle_price_slippage": refund["max_oracle_price_slippage"],
        }
    if chain == "Solana":
        raise Refusal(400, "Solana's vault swaps are not encoded on a development chain")
    return {"input_amount": amount, "refund_parameters": refund}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
