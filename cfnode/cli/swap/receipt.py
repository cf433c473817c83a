"""Receipt of a swap: amounts, price, fees, times, addresses and transactions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from cfnode.cli.swap.options import fee_text, units
from cfnode.core.assets import Asset, asset_by_symbol

if TYPE_CHECKING:
    from cfnode.sdk import SwapStatus
    from cfnode.sdk.models.transfer import Egress, Transfer

__all__ = ["headline", "progress", "receipt"]

_STEPS = ("WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED")


def progress(found: SwapStatus) -> str:
    """Return the state on one line: how far the swap has come, and with which amounts."""
    done = _reached(found)
    bar = "●" * done + "○" * (len(_STEPS) - done)
    return f"{bar}  {found.state:<10} {_meaning(found)}"


def headline(found: SwapStatus) -> str:
    """Return the state, and what it means for the money."""
    return f"{found.state}: {_meaning(found)}"


def receipt(found: SwapStatus, quoted: Decimal | None = None) -> list[tuple[str, str]]:
    """Return names and values, in the order of the swap; "" for what is unknown yet.

    `quoted`: the output in whole coins that the quote promised.
    """
    source, destination = _assets(found)
    channel, deposit, terms = found.deposit_channel, found.deposit, found.fill_or_kill_params
    output, refund = found.swap_egress, found.refund_egress
    return [
        ("expected", _expected(found, source) if deposit is None else ""),
        ("sent", _amount(deposit, source, found.src_chain)),
        (_outcome("received", output), _amount(output, destination, found.dest_chain)),
        (_outcome("refunded", refund), _amount(refund, source, found.src_chain)),
        ("against the quote", _against(quoted, output, destination)),
        ("price", _price(found, source, destination)),
        ("fees", "\n".join(fee_text(fee.type, fee.amount, fee.chain, fee.asset) for fee in found.fees or ())),
        ("chunks", _chunks(found)),
        ("took", _duration(found)),
        ("deposit address", channel.deposit_address if channel else ""),
        ("deposit transaction", _transaction(deposit)),
        ("receiver", found.dest_address or ""),
        ("payout transaction", _transaction(output)),
        ("refund address", terms.refund_address if terms and (refund or not output) else ""),
        ("refund transaction", _transaction(refund)),
        ("channel", channel.id if channel else ""),
        ("swap", found.swap_id or ""),
    ]


# States


def _reached(found: SwapStatus) -> int:
    """Return the number of steps that the swap has reached; a failed one keeps those before its failure."""
    if found.state in _STEPS:
        return _STEPS.index(found.state) + 1
    if found.deposit is not None and found.deposit.failure is not None:
        return 2
    paid = [each for each in (found.swap_egress, found.refund_egress) if each is not None]
    if paid:
        return 5 if any(each.tx_ref for each in paid) else 4
    return 3 if found.swap is not None else 2 if found.deposit is not None else 1


def _meaning(found: SwapStatus) -> str:
    """Explain the state, with the amount that it is about."""
    source, destination = _assets(found)
    amount = _units(found.deposit.amount if found.deposit else None, source)
    match found.state:
        case "WAITING":
            channel = found.deposit_channel
            expected = _units(channel.expected_deposit_amount if channel else None, source)
            return f"for the deposit of {expected}" if expected else "for the deposit"
        case "RECEIVING":
            return ", ".join(filter(None, ("the deposit is unconfirmed", amount, _confirmations(found))))
        case "SWAPPING":
            return ", ".join(filter(None, (f"{amount} in the pools".lstrip(), _chunks(found))))
        case "SENDING" | "SENT":
            where = "signed and on its way" if found.state == "SENT" else "not signed yet"
            return f"{_payouts(found, source, destination)}, {where}"
        case "COMPLETED":
            return f"done{_refunded(found)}"
        case "FAILED":
            return _failed(found)
    return ""


def _confirmations(found: SwapStatus) -> str:
    count = found.deposit.tx_confirmations if found.deposit else None
    required = found.src_chain_required_block_confirmations
    if count is None:
        return ""
    return f"{count} of {required} confirmations" if required else f"{count} confirmations"


def _chunks(found: SwapStatus) -> str:
    if found.swap is None or (dca := found.swap.dca) is None:
        return ""
    return f"{dca.executed_chunks} of {dca.executed_chunks + dca.remaining_chunks} chunks"


def _payouts(found: SwapStatus, source: Asset | None, destination: Asset | None) -> str:
    parts = [
        f"{_units(egress.amount, asset)} {where}".lstrip()
        for egress, asset, where in (
            (found.swap_egress, destination, "to the receiver"),
            (found.refund_egress, source, "back"),
        )
        if egress is not None
    ]
    return " and ".join(parts) or "the payout"


def _refunded(found: SwapStatus) -> str:
    if found.refund_egress is None:
        return ""
    return ", refunded" + (" in part" if found.swap_egress is not None else "")


def _failed(found: SwapStatus) -> str:
    """Name the part of the swap that failed."""
    for part, text in (
        (found.swap_egress, "the output could not be paid out"),
        (found.refund_egress, "the refund could not be paid out"),
        (found.deposit, "the deposit was not swapped"),
    ):
        if part is not None and part.failure is not None:
            return text
    return "it ended without a payout"


# Amounts


def _expected(found: SwapStatus, source: Asset | None) -> str:
    channel = found.deposit_channel
    if channel is None:
        return ""
    end = datetime.fromtimestamp(channel.estimated_expiry_time / 1000, UTC)
    amount = _units(channel.expected_deposit_amount, source) or "a deposit"
    word = "the channel expired" if channel.is_expired else "before"
    return f"{amount}, {word} {end:%Y-%m-%d %H:%M} UTC, chain time"


def _outcome(done: str, egress: Egress | None) -> str:
    """Return the name of an amount, which depends on the success of the payout."""
    return f"not {done}" if egress is not None and egress.failure is not None else done


def _amount(part: Transfer | None, asset: Asset | None, chain: str | None) -> str:
    return f"{units(part.amount, asset)} on {chain}" if part is not None and asset is not None else ""


def _transaction(part: Transfer | None) -> str:
    return "" if part is None else part.tx_ref or ""


def _against(quoted: Decimal | None, output: Egress | None, asset: Asset | None) -> str:
    """Return the difference between the output and the quoted one."""
    if not quoted or output is None or asset is None:
        return ""
    percent = (Decimal(output.amount).scaleb(-asset.decimals) / quoted - 1) * 100
    word = "more" if percent >= 0 else "less"
    return f"{abs(percent):.2f} % {word} than {quoted:f} {asset.symbol}"


def _price(found: SwapStatus, source: Asset | None, destination: Asset | None) -> str:
    """Return the price of what was swapped, against the lowest one that was allowed and the market's."""
    swap = found.swap
    if swap is None or source is None or destination is None:
        return ""
    if not swap.swapped_input_amount or not swap.swapped_output_amount:
        return ""
    from cfnode.sdk.lp import rounded

    given = Decimal(swap.swapped_input_amount).scaleb(-source.decimals)
    price = Decimal(swap.swapped_output_amount).scaleb(-destination.decimals) / given
    parts = [f"{rounded(price)} {destination.symbol} for 1 {source.symbol}"]
    terms = found.fill_or_kill_params
    if terms is not None and terms.min_price:
        above = (price / terms.min_price - 1) * 100
        where = "above" if above >= 0 else "below"
        parts.append(f"{abs(above):.2f} % {where} the lowest price ({rounded(terms.min_price)})")
    if (delta := swap.live_price_execution_delta_percentage) is not None:
        parts.append(f"{delta:+.2f} % against the market's")
    return ", ".join(parts)


def _duration(found: SwapStatus) -> str:
    """Return the time from the confirmed deposit to the last payout."""
    start = found.deposit.witnessed_at if found.deposit else None
    ends = [each.witnessed_at for each in _egresses(found) if each.witnessed_at is not None]
    if start is None or not ends:
        return ""
    minutes, seconds = divmod((max(ends) - start) // 1000, 60)
    text = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"{text} from the confirmed deposit to the payout, chain time"


def _egresses(found: SwapStatus) -> Iterator[Egress]:
    return (each for each in (found.swap_egress, found.refund_egress) if each is not None)


def _units(amount: int | None, asset: Asset | None) -> str:
    return "" if amount is None or asset is None else units(amount, asset)


def _assets(found: SwapStatus) -> tuple[Asset | None, Asset | None]:
    return _asset(found.src_chain, found.src_asset), _asset(found.dest_chain, found.dest_asset)


def _asset(chain: str | None, symbol: str | None) -> Asset | None:
    try:
        return asset_by_symbol(chain or "", symbol or "")
    except KeyError:
        return None
