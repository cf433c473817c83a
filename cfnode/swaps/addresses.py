"""Addresses as people write them: one check, one comparison, one text.

`core.addresses` reads addresses as the State Chain's RPC does, which takes an EVM address with a wrong
checksum. A person's address passes through here: EIP-55 for mixed case, so that one wrong letter loses no
payment. Two addresses are compared as what they stand for: Bitcoin's bech32 may be written in upper case, as
QR codes have it.
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
from cfnode.core.assets import CHAINS
from cfnode.swaps.checksums import checksum_address, evm_account

__all__ = [
    "address_text",
    "bitcoin_text",
    "is_same_address",
    "normal_address",
    "read_address",
]

_EVM: Final = frozenset(("Ethereum", "Arbitrum", "Bsc"))
_EVM_VARIANTS: Final = frozenset(CHAINS[chain].address for chain in _EVM)


def read_address(chain: str, text: str) -> EncodedAddress:
    """The address in a person's text, spelled normally. Raises AddressError."""
    address = parse_address(chain, text)
    if chain in _EVM and evm_account(text) is None:
        raise AddressError(
            f"the checksum of {text} is wrong (upper and lower case): "
            f"{checksum_address(address[1])} if the letters are right"
        )
    return normal_address(address)


def address_text(address: EncodedAddress) -> str:
    """The text of an address for people: an EVM address with its checksum."""
    variant, payload = address
    is_evm = variant in _EVM_VARIANTS and len(payload) == 20
    return checksum_address(payload) if is_evm else address_to_text(normal_address(address))


def is_same_address(one: EncodedAddress, other: EncodedAddress) -> bool:
    """Whether two addresses are the same, however they are spelled."""
    return normal_address(one) == normal_address(other)


def normal_address(address: EncodedAddress) -> EncodedAddress:
    """The address in the spelling that the State Chain itself uses; only Bitcoin's has others."""
    variant, payload = address
    if variant != CHAINS["Bitcoin"].address:
        return address
    text = bitcoin_text(payload.decode("utf-8", "replace"))
    return address if text is None else (variant, text.encode())


def bitcoin_text(text: str) -> str | None:
    """The normal spelling of a Bitcoin address of any network; None for another text."""
    for rules in NETWORKS.values():
        try:
            return script_to_text(script_from_text(text, rules), rules)
        except AddressError:
            continue
    return None
