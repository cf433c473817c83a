"""Conversion between ticks and the square roots of prices.

A tick is a step of 0.01 % in price: price = 1.0001^tick. Prices are handled as their square roots with 96
fractional bits. Results must be exact to the last bit, so this is the arithmetic of Uniswap v3's TickMath
(whitepaper, section 6), which the chain uses.
"""

from __future__ import annotations

from functools import lru_cache
from math import floor, log

__all__ = ["MAX_SQRT_PRICE", "MAX_TICK", "MIN_SQRT_PRICE", "MIN_TICK", "sqrt_price_at", "tick_at"]

MAX_TICK = 887_272
MIN_TICK = -MAX_TICK
MIN_SQRT_PRICE = 4_295_128_739
MAX_SQRT_PRICE = 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_342

_ONE = 1 << 128
_LOG_OF_ONE, _LOG_OF_A_TICK = 96 * log(2), log(1.0001) / 2
# 1.0001^(-2^i / 2) with 128 fractional bits, for each bit i of the tick.
_FACTORS = (
    0xFFFCB933BD6FAD37AA2D162D1A594001,
    0xFFF97272373D413259A46990580E213A,
    0xFFF2E50F5F656932EF12357CF3C7FDCC,
    0xFFE5CACA7E10E4E61C3624EAA0941CD0,
    0xFFCB9843D60F6159C9DB58835C926644,
    0xFF973B41FA98C081472E6896DFB254C0,
    0xFF2EA16466C96A3843EC78B326B52861,
    0xFE5DEE046A99A2A811C461F1969C3053,
    0xFCBE86C7900A88AEDCFFC83B479AA3A4,
    0xF987A7253AC413176F2B074CF7815E54,
    0xF3392B0822B70005940C7A398E4B70F3,
    0xE7159475A2C29B7443B29C7FA6E889D9,
    0xD097F3BDFD2022B8845AD8F792AA5825,
    0xA9F746462D870FDF8A65DC1F90E061E5,
    0x70D869A156D2A1B890BB3DF62BAF32F7,
    0x31BE135F97D08FD981231505542FCFA6,
    0x9AA508B5B7A84E1C677DE54F3E99BC9,
    0x5D6AF8DEDB81196699C329225EE604,
    0x2216E584F5FA1EA926041BEDFE98,
    0x48A170391F7DC42444E8FA2,
)


@lru_cache(maxsize=1 << 14)
def sqrt_price_at(tick: int) -> int:
    """Return the square root of a tick's price, 96 fractional bits, rounded up."""
    ratio = _ONE
    for bit, factor in enumerate(_FACTORS):
        if abs(tick) >> bit & 1:
            ratio = ratio * factor >> 128
    if tick > 0:
        ratio = ((1 << 256) - 1) // ratio
    return -(-ratio >> 32)


def tick_at(sqrt_price: int) -> int:
    """Return the greatest tick whose price is not above the price with this square root."""
    # The logarithm is off by one at most; the exact prices of the ticks around it decide.
    guess = floor((log(max(sqrt_price, 1)) - _LOG_OF_ONE) / _LOG_OF_A_TICK)
    tick = max(MIN_TICK, min(guess, MAX_TICK))
    while tick > MIN_TICK and sqrt_price_at(tick) > sqrt_price:
        tick -= 1
    while tick < MAX_TICK and sqrt_price_at(tick + 1) <= sqrt_price:
        tick += 1
    return tick
