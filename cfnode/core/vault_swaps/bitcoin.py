"""Vault swaps on Bitcoin: a swap in the 80 bytes of an OP_RETURN output.

The paid address identifies the broker, the following output is the refund address, and a minimum amount
replaces the minimum price; fees have one byte each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import CHAINS, ForeignAsset

from .terms import PAYLOAD_VERSION, asset_numbered, blob, number, pairs, read_pairs, take_address, versioned

__all__ = ["BitcoinSwap", "decode_nulldata", "nulldata"]

NO_SLIPPAGE: Final = 255
ONE_CHUNK, NO_INTERVAL = 1, 2
MAX_BITCOIN_AFFILIATES: Final = 2


@dataclass(frozen=True, slots=True)
class BitcoinSwap:
    """The content of an OP_RETURN output; the paid address identifies the broker.

    `affiliates` are (short id, basis points). Fees in basis points, at most 255.
    """

    destination: ForeignAsset
    address: EncodedAddress
    retry_duration: int
    min_output_amount: int
    max_oracle_price_slippage: int | None
    broker_fee: int
    boost_fee: int = 0
    dca: dict[str, int] | None = None
    affiliates: Sequence[tuple[int, int]] = ()


def nulldata(swap: BitcoinSwap) -> bytes:
    """Return the payload of the OP_RETURN output of a swap."""
    variant, payload = swap.address
    dca = swap.dca or {"number_of_chunks": ONE_CHUNK, "chunk_interval": NO_INTERVAL}
    slippage = NO_SLIPPAGE if swap.max_oracle_price_slippage is None else swap.max_oracle_price_slippage
    return b"".join(
        (
            bytes((PAYLOAD_VERSION, swap.destination.index)),
            blob(payload) if variant == "Btc" else payload,
            number(swap.retry_duration, 2),
            number(swap.min_output_amount, 16),
            bytes((slippage,)),
            number(dca["number_of_chunks"], 2),
            number(dca["chunk_interval"], 2),
            bytes((swap.boost_fee, swap.broker_fee)),
            pairs(swap.affiliates),
        )
    )


def decode_nulldata(data: bytes) -> BitcoinSwap:
    """Return the swap in an OP_RETURN payload. Raises ScaleError if it is malformed."""
    cursor = versioned(data)
    destination = asset_numbered(cursor.u8())
    address = take_address(cursor, CHAINS[destination.chain].address)
    retry_duration, minimum, slippage = cursor.u16(), cursor.u128(), cursor.u8()
    chunks, interval, boost_fee, broker_fee = cursor.u16(), cursor.u16(), cursor.u8(), cursor.u8()
    affiliates = read_pairs(cursor, MAX_BITCOIN_AFFILIATES)
    cursor.finish()
    return BitcoinSwap(
        destination,
        address,
        retry_duration,
        minimum,
        None if slippage == NO_SLIPPAGE else slippage,
        broker_fee,
        boost_fee,
        None if chunks == ONE_CHUNK else {"number_of_chunks": chunks, "chunk_interval": interval},
        affiliates,
    )
