"""How is a vault swap encoded for a user without a broker? In the name of the service's account."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS
from cfnode.node.broker import ChannelRequest
from cfnode.node.outcome import SubmissionError
from cfnode.node.runtime_api import ApiMissing, ApiRefused
from cfnode.rpc.cf.method import query
from cfnode.rpc.convert import read_prefixed_hex, to_hex
from cfnode.rpc.errors import explain
from cfnode.swap_service.channels import DefaultBroker
from cfnode.swap_service.fields import Refusal, invalid, member, text
from cfnode.swap_service.quotes import check_limits
from cfnode.swap_service.requests import read_address, read_request

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["encode_terms", "encode_vault_swap"]

SEED_BYTES: Final = 32


async def encode_vault_swap(node: Node, broker: DefaultBroker, body: Mapping[str, Any]) -> dict[str, Any]:
    """The runtime's encoding, with members in camelCase. Raises Refusal."""
    request, expected = read_request(body)
    chain = ASSETS[request.source_asset].chain
    extra = {"extra_parameters": (chain, _extra(request, chain, expected, body))}
    document: dict[str, Any] = await _encoded(
        node, broker, (request, expected), "cf_request_swap_parameter_encoding", extra
    )
    return {_camel(name): _camel_case(value) for name, value in document.items()}


async def encode_terms(node: Node, broker: DefaultBroker, body: Mapping[str, Any]) -> str:
    """Only the parameters of a vault swap, as in its transaction: hex. Raises Refusal."""
    request, expected = read_request(body)
    extra = {"refund_parameters": request.refund_parameters}
    numbers = await _encoded(node, broker, (request, expected), "cf_encode_cf_parameters", extra)
    return to_hex(bytes(numbers))


async def _encoded(
    node: Node,
    broker: DefaultBroker,
    swap: tuple[ChannelRequest, int],
    method: str,
    extra: Mapping[str, Any],
) -> Any:
    """The runtime's answer for the service's account."""
    request, amount = swap
    await check_limits(node, node.chain.best.hash, request.source_asset, amount)
    try:
        is_bitcoin = ASSETS[request.source_asset].chain == "Bitcoin"
        await (broker.prepare_for_bitcoin() if is_bitcoin else broker.prepare())
        arguments = {**_shared(request), **extra, "broker": broker.account}
        return await query(node, node.chain.best.hash, method, **arguments)
    except SubmissionError as error:
        raise Refusal(400, str(error)) from None
    except (ApiMissing, ApiRefused) as error:
        raise Refusal(400, explain(error, method).message) from None


def _shared(request: ChannelRequest) -> dict[str, Any]:
    return {
        "source_asset": request.source_asset,
        "destination_asset": request.destination_asset,
        "destination_address": request.destination_address,
        "broker_commission": 0,
        "channel_metadata": request.channel_metadata,
        "boost_fee": request.boost_fee,
        "affiliate_fees": [],
        "dca_parameters": request.dca_parameters,
    }


def _extra(request: ChannelRequest, chain: str, amount: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that depend on the source chain: a Bitcoin payment has room for a minimum output, not
    for a price.
    """
    refund = request.refund_parameters
    if chain == "Bitcoin":
        return {
            "min_output_amount": (amount * refund["min_price"] + (1 << 127)) >> 128,
            "retry_duration": refund["retry_duration"],
            "max_oracle_price_slippage": refund["max_oracle_price_slippage"],
        }
    extra = {"input_amount": amount, "refund_parameters": refund}
    return extra if chain != "Solana" else {**extra, **_solana(body)}


def _solana(body: Mapping[str, Any]) -> dict[str, Any]:
    """The signer, and the seed of the account that stores the swap."""
    extra = member(body, "extraParams") or {}
    return {
        "from": read_address("Solana", text(body, "srcAddress")),
        "seed": _seed(extra.get("seed")),
        "from_token_account": None,
    }


def _seed(given: Any) -> bytes:
    """32 bytes, random if missing: each swap needs a seed of its own."""
    if given is None:
        return secrets.token_bytes(SEED_BYTES)
    try:
        seed = read_prefixed_hex(given)
    except ValueError:
        raise invalid("extraParams.seed") from None
    if len(seed) != SEED_BYTES:
        raise invalid("extraParams.seed")
    return seed


def _camel_case(value: Any) -> Any:
    """An answer with its member names in camelCase."""
    if isinstance(value, dict):
        return {_camel(name): _camel_case(each) for name, each in value.items()}
    return [_camel_case(each) for each in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
