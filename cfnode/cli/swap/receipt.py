"""Receipt of a swap: amounts, price, fees, times, addresses and transactions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from cfnode.cli.swap.options import fee_text, units
from cfnode.core.assets import ForeignAsset, asset_by_symbol

if TYPE_CHECKING:
    from cfnode.sdk import SwapStatus
    from cfnode.sdk.models.transfer import Egress, Transfer

__all__ = ["headline", "progress", "receipt", "steps_reached"]

_DEPOSIT_PAYOUT = "from the confirmed deposit to the payout"
_DEPOSIT_FAILURE = "from the confirmed deposit to the failure"
_CHANNEL_FAILURE = "from the channel's opening to the failed deposit"
_STEPS = ("WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED")


def progress(status: SwapStatus, reached: int) -> str:
    """Return the state on one line: how many steps the swap has reached, and with which amounts."""
    bar = "●" * reached + "○" * (len(_STEPS) - reached)
    return f"{bar}  {status.state:<10} {_meaning(status)}"


def headline(status: SwapStatus) -> str:
    """Return the state, and what it means for the money."""
    return f"{status.state}: {_meaning(status)}"


def receipt(status: SwapStatus, quoted: Decimal | None = None) -> list[tuple[str, str]]:
    """Return names and values, in the order of the swap; "" for what is unknown yet.

    `quoted`: the output in whole coins that the quote promised.
    """
    source, destination = _assets(status)
    channel, deposit, terms = status.deposit_channel, status.deposit, status.fill_or_kill_params
    output, refund = status.swap_egress, status.refund_egress
    return [
        ("expected", _expected(status, source) if deposit is None else ""),
        ("sent", _amount(deposit, source, status.src_chain)),
        (_outcome("received", output), _amount(output, destination, status.dest_chain)),
        (_outcome("refunded", refund), _amount(refund, source, status.src_chain)),
        ("against the quote", _against(quoted, output, destination)),
        ("price", _price(status, source, destination)),
        (
            "fees",
            "\n".join(fee_text(fee.type, fee.amount, fee.chain, fee.asset) for fee in status.fees or ()),
        ),
        ("chunks", _chunks(status)),
        ("took", _duration(status)),
        ("deposit address", channel.deposit_address if channel else ""),
        ("deposit transaction", _transaction(deposit)),
        ("receiver", status.dest_address or ""),
        ("payout transaction", _transaction(output)),
        ("refund address", terms.refund_address if terms and (refund or not output) else ""),
        ("refund transaction", _transaction(refund)),
        ("channel", channel.id if channel else ""),
        ("swap", status.swap_id or ""),
    ]


# States


def steps_reached(status: SwapStatus) -> int:
    """Return the number of steps that the swap has reached; a failed one keeps those before its failure."""
    if status.state in _STEPS:
        return _STEPS.index(status.state) + 1
    if status.deposit is not None and status.deposit.failure is not None:
        return 2
    paid = [egress for egress in (status.swap_egress, status.refund_egress) if egress is not None]
    if paid:
        return 5 if any(egress.tx_ref for egress in paid) else 4
    return 3 if status.swap is not None else 2 if status.deposit is not None else 1


def _meaning(status: SwapStatus) -> str:
    """Explain the state, with the amount that it is about."""
    source, destination = _assets(status)
    amount = _units(status.deposit.amount if status.deposit else None, source)
    match status.state:
        case "WAITING":
            channel = status.deposit_channel
            expected = _units(channel.expected_deposit_amount if channel else None, source)
            return f"for the deposit of {expected}" if expected else "for the deposit"
        case "RECEIVING":
            return ", ".join(filter(None, ("the deposit is unconfirmed", amount, _confirmations(status))))
        case "SWAPPING":
            return ", ".join(filter(None, (f"{amount} in the pools".lstrip(), _chunks(status))))
        case "SENDING" | "SENT":
            stage = "signed and on its way" if status.state == "SENT" else "not signed yet"
            return f"{_payouts(status, source, destination)}, {stage}"
        case "COMPLETED":
            return f"done{_refunded(status)}"
        case "FAILED":
            return _failed(status)
    return ""


def _confirmations(status: SwapStatus) -> str:
    count = status.deposit.tx_confirmations if status.deposit else None
    required = status.src_chain_required_block_confirmations
    if count is None:
        return ""
    return f"{count} of {required} confirmations" if required else f"{count} confirmations"


def _chunks(status: SwapStatus) -> str:
    if status.swap is None or (dca := status.swap.dca) is None:
        return ""
    return f"{dca.executed_chunks} of {dca.executed_chunks + dca.remaining_chunks} chunks"


def _payouts(status: SwapStatus, source: ForeignAsset | None, destination: ForeignAsset | None) -> str:
    parts = [
        f"{_units(egress.amount, asset)} {direction}".lstrip()
        for egress, asset, direction in (
            (status.swap_egress, destination, "to the receiver"),
            (status.refund_egress, source, "back"),
        )
        if egress is not None
    ]
    return " and ".join(parts) or "the payout"


def _refunded(status: SwapStatus) -> str:
    if status.refund_egress is None:
        return ""
    return ", refunded" + (" in part" if status.swap_egress is not None else "")


def _failed(status: SwapStatus) -> str:
    """Name the part of the swap that failed."""
    for part, text in (
        (status.swap_egress, "the output could not be paid out"),
        (status.refund_egress, "the refund could not be paid out"),
        (status.deposit, "the deposit was not swapped"),
    ):
        if part is not None and part.failure is not None:
            return text
    return "the swap ended without a payout"


# Amounts


def _expected(status: SwapStatus, source: ForeignAsset | None) -> str:
    channel = status.deposit_channel
    if channel is None:
        return ""
    end = datetime.fromtimestamp(channel.estimated_expiry_time / 1000, UTC)
    amount = _units(channel.expected_deposit_amount, source) or "a deposit"
    label = "the channel expired" if channel.is_expired else "before"
    return f"{amount}, {label} {end:%Y-%m-%d %H:%M} UTC, chain time"


def _outcome(name: str, egress: Egress | None) -> str:
    """Return the name of an amount, which depends on the success of the payout."""
    return f"not {name}" if egress is not None and egress.failure is not None else name


def _amount(part: Transfer | None, asset: ForeignAsset | None, chain: str | None) -> str:
    return f"{units(part.amount, asset)} on {chain}" if part is not None and asset is not None else ""


def _transaction(part: Transfer | None) -> str:
    return "" if part is None else part.tx_ref or ""


def _against(quoted: Decimal | None, output: Egress | None, asset: ForeignAsset | None) -> str:
    """Return the difference between the output and the quoted one."""
    if not quoted or output is None or asset is None:
        return ""
    percent = (Decimal(output.amount).scaleb(-asset.decimals) / quoted - 1) * 100
    difference = f"{abs(percent):.2f} %"
    if difference == "0.00 %":
        return f"as quoted, {quoted:f} {asset.symbol}"
    return f"{difference} {'more' if percent > 0 else 'less'} than {quoted:f} {asset.symbol}"


def _price(status: SwapStatus, source: ForeignAsset | None, destination: ForeignAsset | None) -> str:
    """Return the price of what was swapped, against the lowest one that was allowed and the market's."""
    swap = status.swap
    if swap is None or source is None or destination is None:
        return ""
    if not swap.swapped_input_amount or not swap.swapped_output_amount:
        return ""
    from cfnode.sdk.lp import rounded

    input_amount = Decimal(swap.swapped_input_amount).scaleb(-source.decimals)
    price = Decimal(swap.swapped_output_amount).scaleb(-destination.decimals) / input_amount
    parts = [f"{rounded(price)} {destination.symbol} for 1 {source.symbol}"]
    terms = status.fill_or_kill_params
    if terms is not None and terms.min_price:
        above = (price / terms.min_price - 1) * 100
        side = "above" if above >= 0 else "below"
        parts.append(f"{abs(above):.2f} % {side} the lowest price ({rounded(terms.min_price)})")
    if (delta := swap.live_price_execution_delta_percentage) is not None:
        parts.append(f"{delta:+.2f} % against the market's")
    return ", ".join(parts)


def _duration(status: SwapStatus) -> str:
    """Return the time from the confirmed deposit to the last payout or failure.

    A deposit that failed is counted from the opening of its channel.
    """
    deposit, channel = status.deposit, status.deposit_channel
    if deposit is None:
        return ""
    if deposit.failure is not None:
        opened_at = None if channel is None else channel.created_at
        return _between(opened_at, deposit.failure.failed_at, _CHANNEL_FAILURE)
    failed_at = [egress.failure.failed_at for egress in _egresses(status) if egress.failure is not None]
    paid_at = [egress.witnessed_at for egress in _egresses(status) if egress.witnessed_at is not None]
    ends = _DEPOSIT_FAILURE if failed_at else _DEPOSIT_PAYOUT
    return _between(deposit.witnessed_at, max(failed_at or paid_at, default=None), ends)


def _between(start: int | None, end: int | None, ends: str) -> str:
    """Return a duration in chain time, and what it is between; "" if one end is unknown."""
    if start is None or end is None:
        return ""
    minutes, seconds = divmod((end - start) // 1000, 60)
    text = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"{text} {ends}, chain time"


def _egresses(status: SwapStatus) -> Iterator[Egress]:
    return (egress for egress in (status.swap_egress, status.refund_egress) if egress is not None)


def _units(amount: int | None, asset: ForeignAsset | None) -> str:
    return "" if amount is None or asset is None else units(amount, asset)


def _assets(status: SwapStatus) -> tuple[ForeignAsset | None, ForeignAsset | None]:
    return _asset(status.src_chain, status.src_asset), _asset(status.dest_chain, status.dest_asset)


def _asset(chain: str | None, symbol: str | None) -> ForeignAsset | None:
    try:
        return asset_by_symbol(chain or "", symbol or "")
    except KeyError:
        return None
