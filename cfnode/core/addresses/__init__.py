"""Addresses of foreign chains: text form, encoding on the State Chain, and derivation."""

from cfnode.core.addresses import assethub, evm, solana, taproot
from cfnode.core.addresses.bitcoin import NETWORKS, BitcoinNetwork, Script, script_from_text, script_to_text
from cfnode.core.addresses.errors import AddressError
from cfnode.core.addresses.text import (
    EncodedAddress,
    ForeignAddress,
    address_to_text,
    chain_of_address,
    encode_foreign_address,
    foreign_address,
    parse_address,
)

__all__ = [
    "NETWORKS",
    "AddressError",
    "BitcoinNetwork",
    "EncodedAddress",
    "ForeignAddress",
    "Script",
    "address_to_text",
    "assethub",
    "chain_of_address",
    "encode_foreign_address",
    "evm",
    "foreign_address",
    "parse_address",
    "script_from_text",
    "script_to_text",
    "solana",
    "taproot",
]
