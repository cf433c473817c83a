"""Readers and writers of a swap's parameters, between JSON and the values of its extrinsic.

The types are those of Chainflip's broker RPC. An asset is `{"chain", "asset"}` or one of five old bare
symbols; an amount is a number or hex. An address is a string that can only be read with the chain of its
asset, so it stays a string until `address_on` parses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import AddressError, EncodedAddress, address_to_text, parse_address
from cfnode.core.assets import ASSETS, asset_by_symbol
from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.table.convert import (
    ACCOUNT,
    TEXT,
    U16,
    U32,
    U128_MAX,
    read_hex_number,
    read_number_or_hex,
)
from cfnode.rpc.table.rows import Reader
from cfnode.rpc.table.runtime_names import current_names
from cfnode.rpc.table.serde import JsonPosition, Misread
from cfnode.rpc.table.serde_members import members, object_of
from cfnode.rpc.table.serde_types import SerdeStruct, sequence
from cfnode.rpc.table.texts import bounded_hex
from cfnode.swaps.address_faults import address_fault
from cfnode.swaps.limits import MAX_AFFILIATES, MAX_CCM_ADDITIONAL_DATA_BYTES, MAX_CCM_MESSAGE_BYTES

OTHER_ERROR: Final = -32020
_OLD_SYMBOLS: Final = {"ETH": "Eth", "FLIP": "Flip", "USDC": "Usdc", "DOT": "Dot", "BTC": "Btc"}
_NOT_AN_ASSET: Final = (
    "Expected a valid asset specifier. Assets should be specified as upper-case strings, "
    'e.g. `"ETH"`, and can be optionally distinguished by chain, e.g. `{ chain: "Ethereum", asset: "ETH" }.'
)


def read_asset(value: Any) -> str:
    """Read the SCALE variant name of an asset of the runtime, `"ArbUsdc"`."""
    old = _unit(value)
    if old in _OLD_SYMBOLS:
        return _OLD_SYMBOLS[old]
    if isinstance(value, dict) and not _repeats(value):
        try:
            name = asset_by_symbol(_unit(value.get("chain")), _unit(value.get("asset"))).name
        except KeyError:
            name = ""
        if name in current_names().assets:
            return name
    raise Misread(_NOT_AN_ASSET, JsonPosition.OUTSIDE)


def _repeats(value: dict[str, Any]) -> bool:
    """Return whether the chain or the symbol stands twice."""
    member_names = [name for name, _ in members(value) if name in ("chain", "asset")]
    return len(member_names) > len(set(member_names))


def _unit(value: Any) -> str:
    """Return the name of a variant without a value, `"ETH"` or `{"ETH": null}`; empty for anything else."""
    if isinstance(value, dict) and [*value.values()] == [None]:
        (value,) = value
    return value if isinstance(value, str) else ""


def write_asset(name: str) -> dict[str, str]:
    """Write an asset as clients read it; an asset unknown to this build is named after its type."""
    asset = ASSETS.get(name)
    if asset is None:
        return {"chain": "Unknown", "asset": name.upper()}
    return {"chain": asset.chain, "asset": asset.symbol}


def _budget(value: Any) -> int:
    budget = read_number_or_hex(value)
    if budget > U128_MAX:
        raise Misread("Failed to deserialize number.", JsonPosition.OUTSIDE)
    return budget


_CCM: Final = SerdeStruct(
    "struct CcmChannelMetadata",
    {
        "message": (bounded_hex(MAX_CCM_MESSAGE_BYTES), False),
        "gas_budget": (_budget, False),
        "ccm_additional_data": (bounded_hex(MAX_CCM_ADDITIONAL_DATA_BYTES), False),
    },
)


def read_ccm(value: Any) -> dict[str, Any]:
    """Read a cross-chain message: `message`, `gas_budget`, `ccm_additional_data`.

    Published clients leave empty additional data out (up to 1.9), or call it `cf_parameters` (up to 1.7).
    """
    if isinstance(value, dict) and "ccm_additional_data" not in value:
        additional = ("ccm_additional_data", value.get("cf_parameters") or "")
        value = object_of([*members(value), additional])
    return _CCM(value)


def write_ccm(value: Mapping[str, Any]) -> dict[str, Any]:
    """Write a cross-chain message as the official node does: hex without 0x, but a gas budget with 0x."""
    return {
        "message": value["message"].hex(),
        "gas_budget": hex(value["gas_budget"]),
        "ccm_additional_data": additional_data(value["ccm_additional_data"]).hex(),
    }


def additional_data(value: Any) -> bytes:
    """Return the bytes of `ccm_additional_data`, which some types wrap in an enum."""
    payload = value[1] if isinstance(value, tuple) else value
    return payload if isinstance(payload, bytes) else b""


_REFUND: Final = SerdeStruct(
    "struct ChannelRefundParameters",
    {
        "retry_duration": (U32.read, False),
        "refund_address": (TEXT.read, False),
        "min_price": (read_hex_number, False),
        "refund_ccm_metadata": (read_ccm, True),
        "max_oracle_price_slippage": (U16.read, True),
    },
)


@dataclass(frozen=True, slots=True)
class RefundParameters:
    """The refund terms of a swap; `address` is parsed once the source chain is known."""

    address: str
    others: dict[str, Any]

    def on(self, chain: str) -> dict[str, Any]:
        """Return the extrinsic's value, with the address parsed for the source chain. Raises RpcError."""
        return {**self.others, "refund_address": address_on(chain, self.address, "refund_address")}


def read_refund(value: Any) -> RefundParameters:
    """Read refund_parameters as clients write them."""
    members = _REFUND(value)
    return RefundParameters(members.pop("refund_address"), members)


def write_refund(value: Mapping[str, Any]) -> dict[str, Any]:
    """Write the extrinsic's value as clients read it, both optional members present."""
    ccm = value["refund_ccm_metadata"]
    return {
        "retry_duration": value["retry_duration"],
        "refund_address": address_to_text(value["refund_address"]),
        "min_price": hex(value["min_price"]),
        "refund_ccm_metadata": None if ccm is None else write_ccm(ccm),
        "max_oracle_price_slippage": value["max_oracle_price_slippage"],
    }


_AFFILIATE: Final = SerdeStruct(
    "struct Beneficiary", {"account": (ACCOUNT.read, False), "bps": (U16.read, False)}
)


def address_on(chain: str, text: str, name: str) -> EncodedAddress:
    """Parse an address of a chain to the extrinsic's value.

    Raises RpcError -32020 with the official node's text. It names neither the parameter nor the fault: both
    are in `data`.
    """
    try:
        return parse_address(chain, text)
    except AddressError as error:
        fault = f"{name}: {text!r:.80} is not an address of {chain}: {address_fault(chain, text)}"
        raise RpcError(OTHER_ERROR, error.official, fault) from None


ASSET: Final = Reader("asset", read_asset)
CCM: Final = Reader("{message, gas_budget, ccm_additional_data}", read_ccm)
REFUND: Final = Reader(
    "{retry_duration, refund_address, min_price, refund_ccm_metadata?, max_oracle_price_slippage?}",
    read_refund,
)
DCA: Final = Reader(
    "{number_of_chunks, chunk_interval}",
    SerdeStruct(
        "struct DcaParameters", {"number_of_chunks": (U32.read, False), "chunk_interval": (U32.read, False)}
    ),
)
AFFILIATES: Final = Reader("[{account, bps}]", sequence(_AFFILIATE, MAX_AFFILIATES))
