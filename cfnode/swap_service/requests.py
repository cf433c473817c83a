"""Terms of a swap, read from a request's body: a JSON object with names in camelCase.

Requests for a channel and for a vault swap have the same members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import AddressError, EncodedAddress
from cfnode.core.assets import ASSETS
from cfnode.core.runtime_names import RuntimeNames
from cfnode.swap_service.parameters import (
    RequestRefusal,
    amount,
    asset_pair,
    invalid,
    member,
    number,
    text,
)
from cfnode.swaps import addresses
from cfnode.swaps.limits import BPS, MAX_CCM_ADDITIONAL_DATA_BYTES, MAX_CCM_MESSAGE_BYTES

__all__ = ["SwapTerms", "read_address", "read_terms"]

MAX_U32_CHUNKS: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class SwapTerms:
    """Requested swap: assets by variant name, and the other terms in the shape of the extrinsic's types."""

    source: str
    target: str
    destination: EncodedAddress
    refund: dict[str, Any]
    """Members: retry_duration, refund_address, min_price, refund_ccm_metadata, max_oracle_price_slippage."""
    message: dict[str, Any] | None
    """Members: message, gas_budget, ccm_additional_data."""
    boost_fee: int
    chunks: dict[str, int] | None
    """Members: number_of_chunks, chunk_interval."""

    @property
    def chain(self) -> str:
        """The source chain."""
        return ASSETS[self.source].chain


def read_terms(body: Mapping[str, Any], names: RuntimeNames) -> tuple[SwapTerms, int]:
    """Return the requested swap, and its expected amount in the smallest unit. Raises Refusal."""
    source, target = (asset_pair(body, side, names) for side in ("src", "dest"))
    _check_shares(body)
    terms = SwapTerms(
        source=source,
        target=target,
        destination=read_address(ASSETS[target].chain, text(body, "destAddress")),
        refund=_refund(body, ASSETS[source].chain),
        message=_ccm(member(body, "ccmParams"), "ccmParams"),
        boost_fee=number(body, "maxBoostFeeBps", 2**16 - 1, 0),
        chunks=_dca(member(body, "dcaParams")),
    )
    return terms, amount(body, "amount")


def _check_shares(body: Mapping[str, Any]) -> None:
    """Raise Refusal for a request with a commission: the service charges none, a broker can."""
    commissions = ("brokerCommissionBps", "commissionBps")
    affiliates = body.get("affiliateBrokers") or body.get("affiliates")
    if affiliates or any(number(body, name, BPS, 0) for name in commissions):
        condition = "supported only when initializing the SDK with a brokerUrl"
        raise RequestRefusal(400, f"Broker commission is {condition}")


def _refund(body: Mapping[str, Any], chain: str) -> dict[str, Any]:
    terms = member(body, "fillOrKillParams")
    if terms is None:
        raise RequestRefusal(400, "invalid request: fill or kill params are required")
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


def _ccm(message: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
    if message is None:
        return None
    additional_data = message.get("ccmAdditionalData", message.get("cfParameters"))
    return {
        "message": _hex(message.get("message"), MAX_CCM_MESSAGE_BYTES, f"{name}.message"),
        "gas_budget": _budget(message.get("gasBudget"), f"{name}.gasBudget"),
        "ccm_additional_data": _hex(
            additional_data or "0x", MAX_CCM_ADDITIONAL_DATA_BYTES, f"{name}.ccmAdditionalData"
        ),
    }


def _hex(text: Any, most: int, name: str) -> bytes:
    """Return at most `most` bytes, written in hex with or without 0x. Raises Refusal."""
    if not isinstance(text, str):
        raise invalid(name)
    digits = text.removeprefix("0x")
    if len(digits) > 2 * most:
        raise RequestRefusal(400, f"invalid request: {name} has more than {most} bytes")
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise invalid(name) from None


def _budget(gas_budget: Any, name: str) -> int:
    """Return an integer up to 2^128 - 1, written as a number, in decimal digits, or in hex with 0x.

    Raises Refusal.
    """
    budget = gas_budget
    if isinstance(gas_budget, str) and len(gas_budget) <= 39:
        base, digits = (16, gas_budget[2:]) if gas_budget.startswith("0x") else (10, gas_budget)
        try:
            budget = int(digits, base) if digits.isascii() and digits.isalnum() else None
        except ValueError:
            budget = None
    if type(budget) is not int or not 0 <= budget < 2**128:
        raise invalid(name)
    return budget


def _dca(parameters: Mapping[str, Any] | None) -> dict[str, int] | None:
    if parameters is None:
        return None
    return {
        "number_of_chunks": number(parameters, "numberOfChunks", MAX_U32_CHUNKS),
        "chunk_interval": number(parameters, "chunkIntervalBlocks", MAX_U32_CHUNKS),
    }


def read_address(chain: str, written: str) -> EncodedAddress:
    """Return the address that a person wrote. Raises Refusal."""
    try:
        return addresses.read_address(chain, written)
    except AddressError as error:
        raise RequestRefusal(400, f"invalid request: {error}") from None
