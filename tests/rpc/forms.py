"""A small language for what a JSON value has to be.

A requirement is a predicate; a dict of members that must be there (more may be); a list of one for an array
of those, of more for exactly these; a tuple of alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

Requirement = Any


def a_hex(value: Any) -> bool:
    """Return whether it is a text of hex digits with `0x`."""
    return isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]+", value) is not None


def a_number(value: Any) -> bool:
    """Return whether it is an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def an_amount(value: Any) -> bool:
    """Return whether it is an amount: a number, hex or decimal digits."""
    decimal = isinstance(value, str) and re.fullmatch(r"[0-9]+", value) is not None
    return a_number(value) or a_hex(value) or decimal


def a_text(value: Any) -> bool:
    """Return whether it is a text."""
    return isinstance(value, str)


def a_bool(value: Any) -> bool:
    """Return whether it is true or false."""
    return isinstance(value, bool)


def an_account(value: Any) -> bool:
    """Return whether it is an address of an account."""
    return isinstance(value, str) and value.startswith("cF")


def nothing(value: Any) -> bool:
    """Return whether it is null."""
    return value is None


def bare_or_prefixed(value: Any) -> bool:
    """Return whether it is hex, with or without `0x`."""
    return isinstance(value, str) and re.fullmatch(r"(0x)?[0-9a-fA-F]+", value) is not None


def a_map(value: Any) -> bool:
    """Return whether it is an object."""
    return isinstance(value, dict)


def an_amount_by_account(value: Any) -> bool:
    """Return whether it is a map from accounts to amounts."""
    return isinstance(value, dict) and all(
        an_account(who) and an_amount(amount) for who, amount in value.items()
    )


def one_of(*words: str) -> Callable[[Any], bool]:
    """Return a check for one of these words."""
    return lambda value: value in words


ASSETS: Final = {
    "Bitcoin": ("BTC",),
    "Ethereum": ("ETH", "USDC", "FLIP", "USDT", "WBTC"),
    "Arbitrum": ("ETH", "USDC", "USDT"),
    "Solana": ("SOL", "USDC", "USDT"),
    "Assethub": ("DOT", "USDC", "USDT"),
    "Tron": ("TRX", "USDT"),
    "Polkadot": ("DOT",),  # clients before Assethub
}


def by_asset(wanted: Requirement, *, but: str = "") -> Requirement:
    """Return the requirement for each asset, by chain and symbol."""
    return {
        chain: {symbol: wanted for symbol in symbols if f"{chain}.{symbol}" != but}
        for chain, symbols in ASSETS.items()
    }


def a_map_of(wanted: Requirement) -> Callable[[Any], bool]:
    """Return a check for a map by account."""
    return lambda value: (
        isinstance(value, dict)
        and all(an_account(who) and not failures(entry, wanted) for who, entry in value.items())
    )


def by_chain(wanted: Requirement) -> Requirement:
    """Return the requirement for each chain."""
    return dict.fromkeys(ASSETS, wanted)


LATER: Final = {"Bsc": ("BNB", "USDT"), "Ethereum": ("CBBTC",)}
"""Of 2.3: clients that know them do not require them."""


def an_asset(value: Any) -> bool:
    """Return whether it is an asset with its chain."""
    if not isinstance(value, dict):
        return False
    chain = value.get("chain", "")
    return value.get("asset") in (*ASSETS.get(chain, ()), *LATER.get(chain, ()))


def all_of(wanted: Requirement, *names: str) -> Requirement:
    """Return members of the same form."""
    return dict.fromkeys(names, wanted)


def on(*names: str) -> Requirement:
    """Return the requirement of a pallet's safe mode: a bool for each function."""
    return all_of(a_bool, *(f"{name}_enabled" for name in names))


def optional(wanted: Requirement) -> Requirement:
    """Return the requirement, or null."""
    return (wanted, nothing)


def failures(value: Any, wanted: Requirement, path: str = "") -> list[str]:
    """Return the places at which a value is not what is required."""
    if isinstance(wanted, tuple):
        tried = [failures(value, alternative, path) for alternative in wanted]
        return min(tried, key=len)
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is no object"]
        missing = [f"{path}.{name} is missing" for name in wanted if name not in value]
        present = ((name, form) for name, form in wanted.items() if name in value)
        return missing + [
            line for name, form in present for line in failures(value[name], form, f"{path}.{name}")
        ]
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no array"]
        if len(wanted) == 1:
            return [line for entry in value for line in failures(entry, wanted[0], f"{path}[]")]
        if len(value) != len(wanted):
            return [f"{path}: {len(value)} entries, not {len(wanted)}"]
        pairs = zip(value, wanted, strict=True)
        return [line for entry, want in pairs for line in failures(entry, want, f"{path}[]")]
    check: Callable[[Any], bool] = wanted
    return [] if check(value) else [f"{path}: {value!r} is not {check.__name__}"]
