"""How does a person write assets, amounts and durations to a development chain?"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import click

from cfnode.cli.exits import ExitCode, Failure

__all__ = ["AssetName", "Duration", "Units", "atoms"]

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class AssetName(click.ParamType[Any]):
    """`Eth`, `ArbUsdc`, or with its chain: `Arbitrum.USDC`."""

    name = "asset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The Asset."""
        from cfnode.core.assets import ASSETS

        folded = str(value).lower()
        for asset in ASSETS.values():
            if folded in (asset.name.lower(), f"{asset.chain}.{asset.symbol}".lower()):
                return asset
        return self.fail(f"{value!r} is no asset; there are {', '.join(ASSETS)}", param, ctx)


class Units(click.ParamType[Decimal]):
    """A decimal number of whole units, not below zero."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """As a Decimal."""
        try:
            number = Decimal(str(value) if str(value).isascii() else "NaN")
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or number < 0:
            self.fail(f"{value!r} is not a number of whole units, such as 0.5", param, ctx)
        return number


class Duration(click.ParamType[int]):
    """`90s`, `10m`, `24h`, `2d`; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """In milliseconds."""
        text = str(value)
        unit = SECONDS.get(text[-1:], 0)
        digits = text[:-1] if unit else text
        if not digits.isascii() or not digits.isdigit() or len(digits) > 12:
            self.fail(f"{value!r} is not a duration such as 90s, 10m, 24h or 2d", param, ctx)
        return int(digits) * (unit or 1) * 1000


def atoms(number: Decimal, decimals: int) -> str:
    """Whole units as the smallest, in hex. Raises Failure (usage) where a digit is too many."""
    scaled = number.scaleb(decimals)
    if scaled != scaled.to_integral_value():
        raise Failure(f"{number} has more than {decimals} decimals", ExitCode.USAGE)
    if scaled >= 2**128:
        raise Failure(f"{number} is more than the chain can count", ExitCode.USAGE)
    return hex(int(scaled))
