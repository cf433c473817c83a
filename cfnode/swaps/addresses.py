"""Addresses as people write them: one check, one comparison, one text.

`core.addresses` reads addresses as the State Chain's RPC does, which takes an EVM address with a wrong
checksum. An address that a person wrote is read here: mixed case has to fit EIP-55, so that one wrong letter
loses no payment. Two addresses are compared in their normal spelling: Bitcoin's bech32 may be written in
upper case, as in QR codes.
"""

from __future__ import annotations

from typing import Final

from cfnode.core.addresses import (
    NETWORKS,
    AddressError,
    EncodedAddress,
    address_to_text,
    parse_address,
    script_from_text,
    script_to_text,
)
from cfnode.core.assets import CHAINS, chains_of
from cfnode.swaps.checksums import checksum_address, evm_account

__all__ = [
    "address_text",
    "bitcoin_text",
    "is_same_address",
    "normal_address",
    "read_address",
    "repeated_address",
    "stored_texts",
]

_EVM: Final = frozenset(chains_of("evm"))
_EVM_VARIANTS: Final = frozenset(CHAINS[chain].address for chain in _EVM)


def read_address(chain: str, text: str) -> EncodedAddress:
    """Return the address that a person wrote, in its normal spelling. Raises AddressError."""
    address = parse_address(chain, text)
    if chain in _EVM and evm_account(text) is None:
        raise AddressError(
            f"the checksum of {text} is wrong (upper and lower case): "
            f"{checksum_address(address[1])} if the letters are right"
        )
    return normal_address(address)


def address_text(address: EncodedAddress) -> str:
    """Return the text of an address for people: an EVM address with its checksum."""
    variant, payload = address
    is_evm = variant in _EVM_VARIANTS and len(payload) == 20
    return checksum_address(payload) if is_evm else address_to_text(normal_address(address))


def repeated_address(chain: str, text: str) -> str:
    """Return an address that a person wrote, as answers repeat it; a text that is no address unchanged.

    EVM addresses have their checksum, and Bitcoin's their normal spelling; others have one spelling, or two
    of which a person chose one.
    """
    try:
        address = read_address(chain, text)
    except AddressError:
        return text
    return address_text(address) if chain in _EVM or chain == "Bitcoin" else text


def stored_texts(text: str) -> frozenset[str]:
    """Return the texts that facts have for an address that a person wrote, whatever chain it is of.

    A chain that has no such address is left out; the set may be empty. A wrong checksum of an EVM address is
    accepted, since nothing is sent to what is only looked for.
    """
    texts = set()
    for chain in CHAINS:
        try:
            texts.add(address_to_text(normal_address(parse_address(chain, _with_small_prefix(text)))))
        except AddressError:
            continue
    return frozenset(texts)


def _with_small_prefix(text: str) -> str:
    return f"0x{text[2:]}" if text.startswith("0X") else text


def is_same_address(first: EncodedAddress, other: EncodedAddress) -> bool:
    """Return whether two addresses are equal, however they are spelled."""
    return normal_address(first) == normal_address(other)


def normal_address(address: EncodedAddress) -> EncodedAddress:
    """Return an address in the spelling of the State Chain; only Bitcoin's addresses have others."""
    variant, payload = address
    if variant != CHAINS["Bitcoin"].address:
        return address
    text = bitcoin_text(payload.decode("utf-8", "replace"))
    return address if text is None else (variant, text.encode())


def bitcoin_text(text: str) -> str | None:
    """Return the normal spelling of a Bitcoin address of any network; None for another text."""
    for rules in NETWORKS.values():
        try:
            return script_to_text(script_from_text(text, rules), rules)
        except AddressError:
            continue
    return None
