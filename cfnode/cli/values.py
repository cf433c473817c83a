"""Types of click's parameters: assets, chains, amounts, times and addresses, the same in every command."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.core.suggestions import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = [
    "AccountId",
    "AssetName",
    "ChainName",
    "Duration",
    "Instant",
    "Integer",
    "NodeUrl",
    "OneOf",
    "Seconds",
    "Units",
    "UnitsOrAll",
    "WholeNumber",
    "atoms",
    "checked_address",
]

UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
MAX_DURATION_DIGITS = 12
MAX_TIMEOUT_S = 86_400.0
"""A day, the maximum wait for one answer."""
MAX_AMOUNT_DIGITS = 39
"""Digits of an amount in smallest units: those of 2^128."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
"""Schemes of a node's address, and those of its HTTP server, which has the same port."""


class AccountId(click.ParamType[str]):
    """An account of the State Chain, as SS58 (`cF…`)."""

    name = "account"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the account with the chain's own prefix."""
        from cfnode.core import ss58

        try:
            return ss58.encode(ss58.decode(str(value))[1])
        except ss58.Ss58Error as error:
            text = f"{str(value)[:90]!r} is not an account (cF…): {error}; copy it whole"
            return self.fail(text, param, ctx)


class AssetName(click.ParamType[Any]):
    """Name of an asset: `Btc`, `ArbUsdc`, or with its chain: `Bitcoin/BTC`, `arbitrum.usdc`; any case."""

    name = "asset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the Asset."""
        from cfnode.core.assets import UnknownName, asset_of

        try:
            return asset_of(value)
        except UnknownName as error:
            return self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the texts of assets that begin with the incomplete word, in any case."""
        from click.shell_completion import CompletionItem

        from cfnode.core.assets import asset_texts

        return [CompletionItem(text) for text in asset_texts(incomplete)]


class OneOf(click.Choice[str]):
    """One of a few words, in any case; the value is the listed word."""

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__(tuple(words), case_sensitive=False)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Suggest similar words, or list all."""
        hint = did_you_mean(str(value), self.choices) or f" Choose from {', '.join(self.choices)}."
        return f"Unknown value {value!r}.{hint}"


class ChainName(OneOf):
    """A foreign chain: `Ethereum`, `bitcoin`; any case."""

    name = "chain"

    def __init__(self) -> None:
        from cfnode.core.assets import CHAINS

        super().__init__(CHAINS)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return None, for the parameter's name: the list of all chains would fill the line."""
        return None


def _number(value: Any) -> Decimal | None:
    """Read a decimal number; None for anything else."""
    from cfnode.core.foreign import ForeignError, decimal_number

    try:
        return decimal_number(str(value).strip())
    except ForeignError:
        return None


def _comma_hint(value: Any) -> str:
    """Return a hint about a decimal comma; empty if the text has none."""
    text = str(value)
    if "," not in text or _number(text.replace(",", "")) is None:
        return ""
    example = f", such as {text.replace(',', '.')}" if text.count(",") == 1 and "." not in text else ""
    return f"write a decimal point instead of the comma{example}, and nothing between thousands"


class Integer(click.types.IntParamType):
    """A whole number, perhaps negative.

    It refuses what Python reads besides ASCII digits: `1_0` as 10, or ` 10`.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number as an int."""
        if isinstance(value, str) and not _WHOLE.fullmatch(value):
            self.fail(f"{value!r} is not a whole number: give one such as 10", param, ctx)
        return int(value)


class WholeNumber(click.IntRange):
    """A whole number within bounds, both included."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number as an int."""
        if isinstance(value, str) and not _WHOLE.fullmatch(value):
            self.fail(f"{value!r} is not a whole number: give one {self._bounds()}", param, ctx)
        number = int(value)
        is_small = self.min is not None and number < self.min
        if is_small or (self.max is not None and number > self.max):
            fault = "small" if is_small else "large"
            self.fail(f"{number} is too {fault}: give a whole number {self._bounds()}", param, ctx)
        return number

    def _bounds(self) -> str:
        """Return the bounds in words."""
        if self.max is None:
            return f"from {self.min or 0} on"
        return f"up to {self.max}" if self.min is None else f"from {self.min} to {self.max}"


class Units(click.ParamType[Decimal]):
    """A decimal number, not negative, with `above_zero` also not zero; `kind` is what it counts."""

    name = "number"

    def __init__(self, kind: str = "a number of whole units", *, above_zero: bool = False) -> None:
        self.kind = kind
        self.above_zero = above_zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Return the number as a Decimal."""
        number = _number(value)
        if number is None or number < 0 or (self.above_zero and not number):
            hint = _comma_hint(value) or "give one such as 0.5"
            kind = f"{self.kind} above zero" if number == 0 else self.kind
            self.fail(f"{value!r} is not {kind}: {hint}", param, ctx)
        return number


class UnitsOrAll(click.ParamType[Any]):
    """A decimal number of whole units, or `all`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal | None:
        """Return the number as a Decimal; None for `all`."""
        return None if str(value).lower() == "all" else Units().convert(value, param, ctx)


class Seconds(click.ParamType[float]):
    """A number of seconds from `minimum` up to a day."""

    name = "seconds"

    def __init__(self, minimum: float = 0.1) -> None:
        self.minimum = minimum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds as a float."""
        number = _number(value)
        seconds = math.nan if number is None else float(number)
        if not self.minimum <= seconds <= MAX_TIMEOUT_S:
            hint = _comma_hint(value) or f"give one from {self.minimum:g} to {MAX_TIMEOUT_S:g}"
            self.fail(f"{value!r} is not a number of seconds: {hint}", param, ctx)
        return seconds


class Duration(click.ParamType[int]):
    """A duration: `90s`, `10m`, `24h`, `2d`; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the duration in milliseconds."""
        text = str(value)
        unit = UNITS_S.get(text[-1:], 0)
        digits = text[:-1] if unit else text
        if not digits.isascii() or not digits.isdigit() or len(digits) > MAX_DURATION_DIGITS:
            self.fail(f"{value!r} is not a duration: write one such as 90s, 10m, 24h or 2d", param, ctx)
        return int(digits) * (unit or 1) * 1000


class Instant(click.ParamType[int]):
    """A time: `2026-01-05T12:00:00Z`, or Unix seconds or milliseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time in Unix milliseconds."""
        from cfnode.sdk.times import read_time

        try:
            return value if isinstance(value, int) else read_time(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class NodeUrl(click.ParamType[str]):
    """The address of a node: `http://…` or `https://…`; `ws://…` and `wss://…` mean HTTP on the same port."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address of the node's HTTP server."""
        text = str(value)
        try:
            parts = urlsplit(text)
            _ = parts.port
        except ValueError:  # the error's text may repeat a password
            self.fail("the address is malformed; write http://HOST:PORT", param, ctx)
        if parts.scheme not in SCHEMES or not parts.hostname:
            # What precedes @ may be a password, what follows the host a key.
            subject = "this" if "@" in text else f"{parts.hostname or text.partition('/')[0]!r:.80}"
            self.fail(f"{subject} is not a node's address: begin it with http:// or https://, as in "
                      "http://127.0.0.1:9944", param, ctx)  # fmt: skip
        return SCHEMES[parts.scheme] + text[len(parts.scheme) :]


def checked_address(chain: str, address: str, name: str = "ADDRESS") -> str:
    """Return an address that a person wrote, as answers repeat it; `name` is that of the parameter.

    Raises Failure (usage) for a text that is no address of the chain, or has a wrong checksum.
    """
    from cfnode.core.addresses import AddressError
    from cfnode.swaps.address_faults import address_fault
    from cfnode.swaps.addresses import bitcoin_text, read_address, repeated_address

    with suppress(AddressError):
        read_address(chain, address)
        if chain != "Bitcoin" or bitcoin_text(address) is not None:
            return repeated_address(chain, address)
    text = f"{name}: {address!r:.80} is not an address of {chain}: {address_fault(chain, address)}"
    raise CommandFailure(text, ExitCode.USAGE)


def atoms(number: Decimal, decimals: int, name: str = "AMOUNT") -> int:
    """Convert whole units (finite, not negative) to smallest units, exactly.

    Raises Failure (usage) for too many digits; `name` is that of the parameter.
    """
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text, shift = "".join(map(str, digits)).lstrip("0"), exponent + decimals
    kept_digits = text if shift >= 0 else text[:shift]
    if text[len(kept_digits) :].strip("0"):
        raise CommandFailure(f"{name}: {number} has more than {decimals} decimals: round it", ExitCode.USAGE)
    too_large = f"{name}: {number} is more than the chain can count: give less"
    if kept_digits and len(kept_digits) + max(shift, 0) > MAX_AMOUNT_DIGITS:
        raise CommandFailure(too_large, ExitCode.USAGE)
    amount = int(kept_digits + "0" * max(shift, 0)) if kept_digits else 0
    if amount >= 2**128:
        raise CommandFailure(too_large, ExitCode.USAGE)
    return amount
