"""What does a user's own transaction to the vault carry, so that the State Chain knows which swap it is?

A swap without a deposit channel: the terms travel with the money. EVM chains have them in the arguments of a
vault function, the longest part as SCALE (`cf_parameters`); Tron in the note of the transaction; Bitcoin in
an OP_RETURN output, whose 80 bytes need a layout of their own (Chainflip's `vault_swaps` and
`VersionedCfParameters`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import ASSETS, CHAINS, Asset
from cfnode.core.scale import Cursor, ScaleError, encode_compact
from cfnode.core.vault_calls import call_data

__all__ = [
    "BitcoinSwap",
    "SwapTerms",
    "cf_parameters",
    "decode_nulldata",
    "evm_calldata",
    "nulldata",
    "token_transfer",
    "tron_note",
]

VERSION: Final = 1
NATIVE: Final = "xSwapNative(uint32,bytes,uint32,bytes)"
TOKEN: Final = "xSwapToken(uint32,bytes,uint32,address,uint256,bytes)"
CALL_NATIVE: Final = "xCallNative(uint32,bytes,uint32,bytes,uint256,bytes)"
CALL_TOKEN: Final = "xCallToken(uint32,bytes,uint32,bytes,uint256,address,uint256,bytes)"
TRANSFER: Final = "transfer(address,uint256)"

NO_SLIPPAGE: Final = 255
ONE_CHUNK, NO_INTERVAL = 1, 2
MAX_AFFILIATES: Final = 2
_BY_INDEX: Final = {asset.index: asset for asset in ASSETS.values()}
_ACCOUNT_LENGTH: Final = {"Eth": 20, "Arb": 20, "Tron": 20, "Bsc": 20, "Dot": 32, "Sol": 32, "Hub": 32}


@dataclass(frozen=True, slots=True)
class SwapTerms:
    """The terms that every chain's transaction carries.

    `refund` and `ccm` as values of `ChannelRefundParameters` and `CcmChannelMetadata`, the refund address as
    the bytes of its chain; fees in basis points; `affiliates` are (short id, basis points).
    """

    refund: dict[str, Any]
    broker: bytes
    broker_fee: int
    boost_fee: int = 0
    ccm: dict[str, Any] | None = None
    dca: dict[str, int] | None = None
    affiliates: Sequence[tuple[int, int]] = ()


def cf_parameters(terms: SwapTerms) -> bytes:
    """`VersionedCfParameters`: what the vault passes on without reading it."""
    return b"".join(
        (
            bytes((VERSION,)),
            b"" if terms.ccm is None else _blob(terms.ccm["ccm_additional_data"]),
            _refund(terms.refund),
            _option(None if terms.dca is None else _dca(terms.dca)),
            bytes((terms.boost_fee,)),
            terms.broker + _number(terms.broker_fee, 2),
            _affiliates(terms.affiliates),
        )
    )


def _refund(refund: dict[str, Any]) -> bytes:
    ccm, slippage = refund["refund_ccm_metadata"], refund["max_oracle_price_slippage"]
    return b"".join(
        (
            _number(refund["retry_duration"], 4),
            refund["refund_address"],
            _number(refund["min_price"], 32),
            _option(None if ccm is None else _ccm(ccm)),
            _option(None if slippage is None else _number(slippage, 2)),
        )
    )


def _ccm(ccm: dict[str, Any]) -> bytes:
    return _blob(ccm["message"]) + _number(ccm["gas_budget"], 16) + _blob(ccm["ccm_additional_data"])


def _dca(dca: dict[str, int]) -> bytes:
    return _number(dca["number_of_chunks"], 4) + _number(dca["chunk_interval"], 4)


def _affiliates(affiliates: Sequence[tuple[int, int]]) -> bytes:
    return encode_compact(len(affiliates)) + b"".join(bytes(pair) for pair in affiliates)


def _number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def _blob(data: bytes) -> bytes:
    return encode_compact(len(data)) + data


def _option(data: bytes | None) -> bytes:
    return b"\0" if data is None else b"\1" + data


# EVM chains


def evm_calldata(
    destination: Asset,
    address: EncodedAddress,
    parameters: bytes,
    *,
    ccm: dict[str, Any] | None = None,
    token: bytes | None = None,
    amount: int = 0,
) -> bytes:
    """The call of the vault that swaps its value, or `amount` of the contract `token`."""
    to = (CHAINS[destination.chain].index, address[1], destination.index)
    message = () if ccm is None else (ccm["message"], ccm["gas_budget"])
    if token is None:
        return call_data(NATIVE if ccm is None else CALL_NATIVE, *to, *message, parameters)
    return call_data(TOKEN if ccm is None else CALL_TOKEN, *to, *message, token, amount, parameters)


# Tron


def token_transfer(recipient: bytes, amount: int) -> bytes:
    """The call of a token's contract that sends it to the vault."""
    return call_data(TRANSFER, recipient, amount)


def tron_note(
    destination: Asset, address: EncodedAddress, parameters: bytes, ccm: dict[str, Any] | None = None
) -> bytes:
    """The note beside a transfer: `(Asset, EncodedAddress, Option<(gas, message)>, cf_parameters)`."""
    variant, payload = address
    message = None if ccm is None else _number(ccm["gas_budget"], 16) + _blob(ccm["message"])
    return b"".join(
        (
            bytes((destination.index, CHAINS[destination.chain].address_index)),
            _blob(payload) if variant == "Btc" else payload,
            _option(message),
            _blob(parameters),
        )
    )


# Bitcoin


@dataclass(frozen=True, slots=True)
class BitcoinSwap:
    """What an OP_RETURN output says; the broker is known by the address that is paid.

    `affiliates` are (short id, basis points). Fees in basis points, at most 255.
    """

    destination: Asset
    address: EncodedAddress
    retry_duration: int
    min_output_amount: int
    max_oracle_price_slippage: int | None
    broker_fee: int
    boost_fee: int = 0
    dca: dict[str, int] | None = None
    affiliates: Sequence[tuple[int, int]] = ()


def nulldata(swap: BitcoinSwap) -> bytes:
    """The payload of the OP_RETURN output."""
    variant, payload = swap.address
    dca = swap.dca or {"number_of_chunks": ONE_CHUNK, "chunk_interval": NO_INTERVAL}
    slippage = NO_SLIPPAGE if swap.max_oracle_price_slippage is None else swap.max_oracle_price_slippage
    return b"".join(
        (
            bytes((VERSION, swap.destination.index)),
            _blob(payload) if variant == "Btc" else payload,
            _number(swap.retry_duration, 2),
            _number(swap.min_output_amount, 16),
            bytes((slippage,)),
            _number(dca["number_of_chunks"], 2),
            _number(dca["chunk_interval"], 2),
            bytes((swap.boost_fee, swap.broker_fee)),
            _affiliates(swap.affiliates),
        )
    )


def decode_nulldata(data: bytes) -> BitcoinSwap:
    """The swap that an OP_RETURN payload asks for. Raises ScaleError if it is none."""
    cursor = Cursor(data)
    if cursor.u8() != VERSION:
        raise ScaleError(f"the payload begins with version {data[0]}: only {VERSION} is known")
    destination = _asset(cursor.u8())
    variant = CHAINS[destination.chain].address
    payload = cursor.bytes() if variant == "Btc" else cursor.take(_ACCOUNT_LENGTH[variant])
    retry_duration, minimum, slippage = cursor.u16(), cursor.u128(), cursor.u8()
    chunks, interval, boost_fee, broker_fee = cursor.u16(), cursor.u16(), cursor.u8(), cursor.u8()
    affiliates = tuple((cursor.u8(), cursor.u8()) for _ in range(cursor.count(2)))
    if cursor.remaining:
        raise ScaleError(f"{cursor.remaining} bytes follow the swap")
    return BitcoinSwap(
        destination,
        (variant, payload),
        retry_duration,
        minimum,
        None if slippage == NO_SLIPPAGE else slippage,
        broker_fee,
        boost_fee,
        None if chunks == ONE_CHUNK else {"number_of_chunks": chunks, "chunk_interval": interval},
        affiliates,
    )


def _asset(index: int) -> Asset:
    try:
        return _BY_INDEX[index]
    except KeyError:
        raise ScaleError(f"no asset has the number {index}") from None
