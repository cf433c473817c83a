"""Formats of amounts, times and hashes on the page."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from cfnode.core.assets import ASSETS, units
from cfnode.core.chain_time import duration_text
from cfnode.ledger.swap_detail import ChunkFact

__all__ = ["FILTERS", "asset_name", "coins", "day_text", "dollars", "exact", "short", "time_text"]

MAX_COIN_DECIMALS: Final = 6
"""Digits behind the point; the whole amount is in the title."""
USDC_DECIMALS: Final = 6


def asset_name(name: str | None) -> str:
    """Return `USDC on Arbitrum`; the symbol alone if only one chain has it."""
    if name is None or name not in ASSETS:
        return name or "unknown"
    asset = ASSETS[name]
    is_only = sum(other.symbol == asset.symbol for other in ASSETS.values()) == 1
    return asset.symbol if is_only else f"{asset.symbol} on {asset.chain}"


def place(name: str | None) -> str:
    """Return `on Arbitrum`, where several chains have the symbol; else nothing."""
    return asset_name(name).partition(" ")[2]


def exact(amount: int | None, asset: str | None) -> str:
    """Return an amount in whole coins, all digits, with the symbol."""
    if amount is None:
        return ""
    if asset is None or asset not in ASSETS:
        return f"{amount:,}"
    text = units(amount, ASSETS[asset].decimals)
    whole_coins, decimal_point, fraction = text.partition(".")
    return f"{int(whole_coins):,}{decimal_point}{fraction} {ASSETS[asset].symbol}"


def coins(amount: int | None, asset: str | None) -> str:
    """Return an amount in whole coins, rounded down."""
    text = exact(amount, asset)
    number, space, symbol = text.partition(" ")
    whole_coins, _, fraction = number.partition(".")
    places = 2 if len(whole_coins) > 4 else MAX_COIN_DECIMALS
    decimals = fraction[:places].rstrip("0")
    if whole_coins == "0" and not decimals and fraction.strip("0"):
        return f"< 0.{'0' * (MAX_COIN_DECIMALS - 1)}1{space}{symbol}"
    return f"{whole_coins}{'.' if decimals else ''}{decimals}{space}{symbol}"


def about(value: int) -> str:
    """Return smallest units of USDC as dollars, without cents from 100,000 dollars on."""
    text = dollars(value)
    return text.partition(".")[0] if value >= 10**5 * 10**USDC_DECIMALS else text


def percent(bps: int) -> str:
    """Return basis points in percent."""
    return f"{bps / 100:g} %"


def dollars(value: int | float | None) -> str:
    """Return smallest units of USDC as dollars."""
    return "" if value is None else f"${int(value) / 10**USDC_DECIMALS:,.2f}"


def change(now: int, before: int) -> str:
    """Return by how much a figure has changed, such as `+12 %`; empty if there was none before."""
    return f"{(now - before) * 100 / before:+,.0f} %" if before else ""


def time_text(value: int) -> str:
    """Return a time in Unix ms as `2026-11-25 20:37:29`, UTC."""
    return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def iso(value: int) -> str:
    """Return a time in Unix ms in ISO 8601, for programs."""
    return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def day_text(day: int) -> str:
    """Return a day, in days since 1970, as `2026-11-25`."""
    return datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m-%d")


def short(value: str | None, length: int = 16) -> str:
    """Return a hash or an address with its middle left out."""
    if value is None or len(value) <= length:
        return value or ""
    half = (length - 1) // 2
    return f"{value[: length - 1 - half]}…{value[-half:]}"


def chunk_price(chunk: ChunkFact) -> str:
    """Return the price of an executed chunk, such as `1 ETH = 0.031 BTC`; empty for another chunk."""
    source, target = ASSETS.get(chunk.source or ""), ASSETS.get(chunk.target or "")
    if source is None or target is None or not chunk.input or not chunk.output:
        return ""
    price = Decimal(chunk.output).scaleb(-target.decimals) / Decimal(chunk.input).scaleb(-source.decimals)
    text = f"{price:,.2f}" if price >= 1 else f"{price:.10f}".rstrip("0").rstrip(".")
    return f"1 {source.symbol} = {text} {target.symbol}"


HAPPENINGS: Final = {
    "opened": "Channel opened",
    "deposit.finalised": "Deposit confirmed",
    "deposit.boosted": "Deposit boosted",
    "deposit.failed": "Deposit rejected",
    "deposit.repaid": "Boosted deposit confirmed",
    "requested": "Swap began",
    "completed": "Swap ended",
    "payout.swap.scheduled": "Payout scheduled",
    "payout.swap.ignored": "Payout too small for its fee",
    "payout.swap.invalid": "Payout's message cannot be sent",
    "payout.swap.credited": "Credited to an account of the State Chain",
    "payout.refund.scheduled": "Refund scheduled",
    "payout.refund.ignored": "Refund too small for its fee",
    "payout.refund.credited": "Refunded to an account of the State Chain",
    "batch": "Transaction is being signed",
    "batch.sent": "Transaction signed",
    "batch.success": "Transaction confirmed",
    "batch.aborted": "Transaction aborted",
    "batch.timeout": "Transaction not sent in time, tried again",
    "batch.refused": "Message failed",
    "batch.signed": "Call that pays again is signed",
    "batch.outdated": "Call that pays again is signed anew, with the next key",
    "batch.expired": "Call that pays again has expired",
    "call": "Receiver rejected the transfer",
    "call.signed": "Call that recovers the transfer is signed",
    "call.success": "Call that recovers the transfer confirmed",
    "call.outdated": "Call that recovers the transfer is signed anew, with the next key",
    "call.expired": "Call that recovers the transfer has expired",
}
"""Words for what happens to a swap."""


def happening(fact: str) -> str:
    """Return the words for a fact of a swap's journey; its own name for one without words."""
    return HAPPENINGS.get(fact, fact.replace(".", " "))


FILTERS: Final[dict[str, Any]] = {
    "about": about,
    "asset": asset_name,
    "change": change,
    "chunk_price": chunk_price,
    "coins": coins,
    "day": day_text,
    "dollars": dollars,
    "duration": duration_text,
    "exact": exact,
    "happening": happening,
    "iso": iso,
    "percent": percent,
    "place": place,
    "short": short,
    "time": time_text,
}
