"""Faults of a text that is no address of a chain: checksum, other network, other chain, or form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from cfnode.core.addresses import NETWORKS, AddressError, parse_address, script_from_text
from cfnode.core.assets import CHAINS, AddressForm, chains_of
from cfnode.core.ss58 import Ss58Error
from cfnode.core.ss58 import decode as ss58_decode
from cfnode.swaps.checksums import checksum_address

__all__ = ["address_fault"]

_FORMS: Final[Mapping[AddressForm, str]] = {
    "evm": "0x and 40 hexadecimal digits",
    "bitcoin": "a Bitcoin address",
    "solana": "32 bytes in base58",
    "substrate": "SS58, or 0x and 64 hexadecimal digits",
    "tron": "T and 33 characters of base58",
}
_BITCOINS: Final = {"Mainnet": "the main net", "Testnet": "the test nets", "Development": "regtest"}
"""Names of Bitcoin's networks in messages."""


def address_fault(chain: str, text: str, bitcoin: str | None = None) -> str:
    """Return why a text is no address of `chain`, and what to give, as a clause: `it is empty; give …`.

    `bitcoin`: the name of the Bitcoin network whose addresses are expected; None for all networks.
    """
    if not text:
        return f"it is empty; give {_FORMS[CHAINS[chain].form]}"
    if any(map(str.isspace, text)):
        return "it contains a blank; write it without"
    if text.startswith("cF") and _is_ss58(text):
        return f"it is a State Chain account; give an address of {chain}"
    if CHAINS[chain].form == "evm" and _is_evm(text):
        checksummed = checksum_address(bytes.fromhex(text.removeprefix("0x")))
        return f"its checksum is wrong (upper and lower case); write {checksummed} if the letters are right"
    if chain == "Bitcoin" and (network := _bitcoin_network(text)) is not None:
        wanted = "the node's network" if bitcoin is None else _BITCOINS[bitcoin]
        return f"it is a Bitcoin address of {_BITCOINS[network]}; give one of {wanted}"
    other_chains = next((name for name, fits in _KINDS.items() if chain not in name and fits(text)), None)
    if other_chains is not None:
        return f"it is an address of {' or '.join(other_chains)}; give one of {chain}"
    return f"{_checksum_hint(chain, text)}give {_FORMS[CHAINS[chain].form]}"


def _checksum_hint(chain: str, text: str) -> str:
    """Return a hint at a wrong letter for a text that looks like an address with a checksum, else ""."""
    begins: Mapping[AddressForm, tuple[str, ...]] = {
        "bitcoin": ("bc1", "tb1", "bcrt1", "1", "3", "m", "n", "2"),
        "tron": ("T",),
        "substrate": ("1",),
    }
    letters = begins.get(CHAINS[chain].form, ())
    is_alike = len(text) > 25 and text.isascii() and text.isalnum() and text.startswith(letters)
    return "its checksum is wrong, so a letter is wrong or missing: copy it again, or " if is_alike else ""


def _bitcoin_network(text: str) -> str | None:
    for name, rules in NETWORKS.items():
        try:
            script_from_text(text, rules)
        except AddressError:
            continue
        return name
    return None


def _is_ss58(text: str) -> bool:
    try:
        ss58_decode(text)
    except Ss58Error:
        return False
    return True


def _is_evm(text: str) -> bool:
    """Return whether a text is an EVM address, whatever its checksum."""
    return text.startswith("0x") and _fits("Ethereum")(text)


def _is_tron(text: str) -> bool:
    return text.startswith("T") and _fits("Tron")(text)


def _fits(chain: str) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            parse_address(chain, text)
        except AddressError:
            return False
        return True

    return fits


_KINDS: Final[Mapping[tuple[str, ...], Callable[[str], bool]]] = {
    chains_of("evm"): _is_evm,
    chains_of("bitcoin"): lambda text: _bitcoin_network(text) is not None,
    chains_of("tron"): _is_tron,
    chains_of("solana"): lambda text: not text.startswith("0x") and _fits("Solana")(text),
    chains_of("substrate"): _is_ss58,
}
"""Test of a text by the chains whose addresses look alike; the most certain test first."""
