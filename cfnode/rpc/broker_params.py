"""How do the parameters of a swap become the values of its extrinsic, and back? Chainflip's broker RPC
types.

Assets are `{"chain", "asset"}` or one of five old bare symbols; amounts a number or hex; addresses strings
that only the chain of their asset gives a meaning, so they stay strings here and are read by `address_on`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import AddressError, EncodedAddress, address_to_text, parse_address
from cfnode.core.assets import ASSETS, asset_by_symbol
from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.convert import (
    ACCOUNT,
    TEXT,
    U16,
    U32,
    Member,
    read_hex_number,
    read_members,
    read_number_or_hex,
    read_whole_bytes,
    shown,
)
from cfnode.rpc.table import Reader

OTHER_ERROR: Final = -32020
MAX_MESSAGE: Final = 15_000
MAX_ADDITIONAL_DATA: Final = 3_000
MAX_AFFILIATES: Final = 5
_OLD_SYMBOLS: Final = {"ETH": "Eth", "FLIP": "Flip", "USDC": "Usdc", "DOT": "Dot", "BTC": "Btc"}
_NOT_AN_ASSET: Final = (
    "Expected a valid asset specifier. Assets should be specified as upper-case strings, "
    'e.g. "ETH", and can be optionally distinguished by chain, e.g. { chain: "Ethereum", asset: "ETH" }.'
)


def read_asset(value: Any) -> str:
    """The SCALE variant name of an asset, `"ArbUsdc"`."""
    if isinstance(value, str) and value in _OLD_SYMBOLS:
        return _OLD_SYMBOLS[value]
    if isinstance(value, dict):
        chain, symbol = value.get("chain"), value.get("asset")
        if isinstance(chain, str) and isinstance(symbol, str):
            try:
                return asset_by_symbol(chain, symbol).name
            except KeyError:
                pass
    raise ValueError(f"{_NOT_AN_ASSET} Got {shown(value)}")


def write_asset(name: str) -> dict[str, str]:
    """An asset's variant name as clients write it."""
    asset = ASSETS[name]
    return {"chain": asset.chain, "asset": asset.symbol}


def _bounded_hex(limit: int) -> Callable[[Any], bytes]:
    def read(value: Any) -> bytes:
        data = read_whole_bytes(value)
        if len(data) > limit:
            raise ValueError(f"invalid length {len(data)}, expected {limit} bytes")
        return data

    return read


_CCM: Final[dict[str, Member]] = {
    "message": (_bounded_hex(MAX_MESSAGE), False),
    "gas_budget": (lambda value: read_u128(read_number_or_hex(value)), False),
    "ccm_additional_data": (_bounded_hex(MAX_ADDITIONAL_DATA), True),
    "cf_parameters": (_bounded_hex(MAX_ADDITIONAL_DATA), True),
}


def read_u128(value: int) -> int:
    """An amount that the chain can hold."""
    if value >> 128:
        raise ValueError("an amount has at most 128 bits")
    return value


def read_ccm(value: Any) -> dict[str, Any]:
    """A cross-chain message: `message`, `gas_budget`, `ccm_additional_data`.

    Published clients leave empty additional data out (up to 1.9), or call it `cf_parameters` (up to 1.7).
    """
    found = read_members(value, _CCM)
    older = found.pop("cf_parameters")
    if found["ccm_additional_data"] is None:
        found["ccm_additional_data"] = older or b""
    return found


def write_ccm(value: Mapping[str, Any]) -> dict[str, Any]:
    """Hex without 0x, as the official node writes these; the budget with it."""
    return {
        "message": value["message"].hex(),
        "gas_budget": hex(value["gas_budget"]),
        "ccm_additional_data": _plain(value["ccm_additional_data"]).hex(),
    }


def _plain(value: Any) -> bytes:
    """The bytes of additional data, which some types wrap in an enum."""
    payload = value[1] if isinstance(value, tuple) else value
    return payload if isinstance(payload, bytes) else b""


_REFUND: Final[dict[str, Member]] = {
    "retry_duration": (U32.read, False),
    "refund_address": (TEXT.read, False),
    "min_price": (read_hex_number, False),
    "refund_ccm_metadata": (read_ccm, True),
    "max_oracle_price_slippage": (U16.read, True),
}


@dataclass(frozen=True, slots=True)
class RefundParameters:
    """What happens if the swap cannot be had; the address waits for its chain."""

    address: str
    others: dict[str, Any]

    def on(self, chain: str) -> dict[str, Any]:
        """The extrinsic's value, the address read for the source chain. Raises RpcError."""
        return {**self.others, "refund_address": address_on(chain, self.address)}


def read_refund(value: Any) -> RefundParameters:
    """refund_parameters as clients write them."""
    members = read_members(value, _REFUND)
    return RefundParameters(members.pop("refund_address"), members)


def write_refund(value: Mapping[str, Any]) -> dict[str, Any]:
    """The extrinsic's value as clients read it, both optional members present."""
    ccm = value["refund_ccm_metadata"]
    return {
        "retry_duration": value["retry_duration"],
        "refund_address": address_to_text(value["refund_address"]),
        "min_price": hex(value["min_price"]),
        "refund_ccm_metadata": None if ccm is None else write_ccm(ccm),
        "max_oracle_price_slippage": value["max_oracle_price_slippage"],
    }


def read_dca(value: Any) -> dict[str, Any]:
    """dca_parameters: in how many chunks, how many blocks apart."""
    return read_members(value, {"number_of_chunks": (U32.read, False), "chunk_interval": (U32.read, False)})


def _read_affiliate(value: Any) -> dict[str, Any]:
    return read_members(value, {"account": (ACCOUNT.read, False), "bps": (U16.read, False)})


def read_affiliates(value: Any) -> tuple[dict[str, Any], ...]:
    """affiliate_fees: at most five accounts and their basis points."""
    if not isinstance(value, list):
        raise ValueError(f"expected an array, got {shown(value)}")
    if len(value) > MAX_AFFILIATES:
        raise ValueError(f"invalid length {len(value)}, expected at most {MAX_AFFILIATES}")
    return tuple(_read_affiliate(entry) for entry in value)


def address_on(chain: str, text: str) -> EncodedAddress:
    """An address of a chain as the extrinsic has it. Raises RpcError -32020 with what is wrong with it."""
    try:
        return parse_address(chain, text)
    except AddressError as error:
        raise RpcError(OTHER_ERROR, str(error)) from None


ASSET: Final = Reader("asset", read_asset)
CCM: Final = Reader("{message, gas_budget, ccm_additional_data}", read_ccm)
REFUND: Final = Reader(
    "{retry_duration, refund_address, min_price, refund_ccm_metadata?, max_oracle_price_slippage?}",
    read_refund,
)
DCA: Final = Reader("{number_of_chunks, chunk_interval}", read_dca)
AFFILIATES: Final = Reader("[{account, bps}]", read_affiliates)
