"""Encoding of vault swaps for users without a broker, in the name of the service's account."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from cfnode.swap_service.parameters import invalid, member, text
from cfnode.swap_service.quotes import check_limits
from cfnode.swap_service.requests import SwapTerms, read_address, read_terms
from cfnode.swap_service.source import SwapSource
from cfnode.swaps.prices import output_at

__all__ = ["encode_terms", "encode_vault_swap"]

SEED_BYTES: Final = 32


async def encode_vault_swap(source: SwapSource, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the runtime's encoding of a vault swap, with members in camelCase. Raises Refusal."""
    terms, amount = await _read(source, body)
    document = await source.broker.encode(terms, _extra(terms, amount, body))
    return {_camel(name): _camel_case(value) for name, value in document.items()}


async def encode_terms(source: SwapSource, body: Mapping[str, Any]) -> str:
    """Return only the parameters of a vault swap, as in its transaction, in hex. Raises Refusal."""
    terms, _ = await _read(source, body)
    return await source.broker.encode_terms(terms)


async def _read(source: SwapSource, body: Mapping[str, Any]) -> tuple[SwapTerms, int]:
    block = await source.best()
    terms, amount = read_terms(body, block.names)
    await check_limits(block, terms.source, amount)
    return terms, amount


def _extra(terms: SwapTerms, amount: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that depend on the source chain.

    A Bitcoin payment has room for a minimum output, not for a price.
    """
    refund = terms.refund
    if terms.chain == "Bitcoin":
        return {
            "min_output_amount": output_at(amount, refund["min_price"]),
            "retry_duration": refund["retry_duration"],
            "max_oracle_price_slippage": refund["max_oracle_price_slippage"],
        }
    extra = {"input_amount": amount, "refund_parameters": refund}
    return extra if terms.chain != "Solana" else {**extra, **_solana(body)}


def _solana(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of Solana: the signer, and the seed of the account that stores the swap."""
    extra = member(body, "extraParams") or {}
    return {
        "from": read_address("Solana", text(body, "srcAddress")),
        "seed": _seed(extra.get("seed")),
        "from_token_account": None,
    }


def _seed(seed_text: Any) -> bytes:
    """Return a seed of 32 bytes, random if it is missing: each swap needs its own. Raises Refusal."""
    if seed_text is None:
        return secrets.token_bytes(SEED_BYTES)
    try:
        seed = (
            bytes.fromhex(seed_text[2:]) if isinstance(seed_text, str) and seed_text.startswith("0x") else b""
        )
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise invalid("extraParams.seed")
    return seed


def _camel_case(value: Any) -> Any:
    """Return an answer with its member names in camelCase."""
    if isinstance(value, dict):
        return {_camel(name): _camel_case(member) for name, member in value.items()}
    return [_camel_case(member) for member in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    head, *words = name.split("_")
    return head + "".join(word.capitalize() for word in words)
