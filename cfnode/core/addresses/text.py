"""Text form of the addresses of each foreign chain, and their encoding on the State Chain.

Text is used only at the borders (rpc, sdk, cli). Inside, an address is the SCALE value of `EncodedAddress`,
`(variant, bytes)`, as in extrinsics and events. Its bytes are the raw account; only for Bitcoin they are the
address text itself. The runtime stores the checked form, `ForeignChainAddress`, in which Bitcoin has an
output script instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import base58

from cfnode.core.addresses.bitcoin import BitcoinNetwork, Script, script_from_text, script_to_text
from cfnode.core.addresses.errors import AddressError
from cfnode.core.assets import CHAINS, AddressForm
from cfnode.core.ss58 import Ss58Error
from cfnode.core.ss58 import decode as ss58_decode

__all__ = [
    "EncodedAddress",
    "ForeignAddress",
    "address_to_text",
    "chain_of_address",
    "encode_foreign_address",
    "foreign_address",
    "parse_address",
]

EncodedAddress: TypeAlias = tuple[str, bytes]
ForeignAddress: TypeAlias = tuple[str, bytes | Script]

_TRON_PREFIX = b"\x41"
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_MAX_TEXT = 256  # characters; no address of any chain is nearly as long
_CHAIN_OF_VARIANT = {chain.address: chain.name for chain in CHAINS.values()}


def parse_address(chain: str, text: str) -> EncodedAddress:
    """Return the address in a text for `chain` (its `ForeignChain` name).

    Raises AddressError if the text is malformed. A Bitcoin text is taken as it is: only the runtime knows
    which network it must belong to.
    """
    if len(text) > _MAX_TEXT:
        raise AddressError("Invalid address length")
    if CHAINS[chain].form != "bitcoin" and any(map(str.isspace, text)):
        # The decoders below would skip blanks silently.
        raise AddressError("an address contains no blanks", _official(chain, text))
    return CHAINS[chain].address, _PARSERS[CHAINS[chain].form](text)


def address_to_text(address: EncodedAddress) -> str:
    """Return the usual text of an address: lower-case hex, base58, or Bitcoin's own."""
    variant, payload = address
    form = CHAINS[_CHAIN_OF_VARIANT[variant]].form
    if form == "bitcoin":
        return payload.decode("utf-8", "replace")
    if form == "solana":
        return base58.b58encode(payload).decode()
    if form == "tron":
        return base58.b58encode_check(_TRON_PREFIX + payload).decode()
    return "0x" + payload.hex()


def chain_of_address(address: EncodedAddress | ForeignAddress) -> str:
    """Return the chain that an address belongs to."""
    return _CHAIN_OF_VARIANT[address[0]]


def foreign_address(address: EncodedAddress, network: BitcoinNetwork) -> ForeignAddress:
    """Return the checked form of an address; only a Bitcoin text can fail, with AddressError."""
    variant, payload = address
    if variant != "Btc":
        return variant, payload
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        raise AddressError("a Bitcoin address is UTF-8 text; these bytes are not") from None
    return variant, script_from_text(text, network)


def encode_foreign_address(address: ForeignAddress, network: BitcoinNetwork) -> EncodedAddress:
    """Return a checked address in the form of extrinsics and events."""
    variant, payload = address
    if isinstance(payload, bytes):
        return variant, payload
    return variant, script_to_text(payload, network).encode()


def _official(chain: str, text: str) -> str:
    """Return the official node's text for a malformed address of a chain other than Bitcoin."""
    fault = _hex_fault(text, CHAINS[chain].account_bytes or 20)
    if CHAINS[chain].form != "substrate":
        return "Invalid address length" if fault == "Invalid address length" else "Invalid hex"
    try:
        ss58_decode(text)
    except Ss58Error as error:
        return f"Address is neither valid ss58: '{error.official}' nor hex: '{fault}'"
    return fault


def _hex_fault(text: str, length: int) -> str:
    """Return the fault that the official node's reader of hex finds in a text.

    Empty if the text is `length` bytes in hex.
    """
    digits = text.removeprefix("0x")
    if len(digits.encode(errors="replace")) % 2:
        return "Odd number of digits"
    for position, character in enumerate(digits):
        if character not in _HEX_DIGITS:
            return f"Invalid character {character!r} at position {position}"
    return "" if len(digits) == 2 * length else "Invalid address length"


def _hex(text: str, length: int) -> bytes:
    fault = _hex_fault(text, length)
    if fault:
        raise AddressError("Invalid address length" if fault == "Invalid address length" else "Invalid hex")
    return bytes.fromhex(text.removeprefix("0x"))


def _evm(text: str) -> bytes:
    return _hex(text, 20)


def _bitcoin(text: str) -> bytes:
    return text.encode()


def _solana(text: str) -> bytes:
    for decode in (base58.b58decode, bytes.fromhex):
        try:
            payload = decode(text.removeprefix("0x"))
        except ValueError:
            continue
        if len(payload) == 32:
            return payload
    raise AddressError(
        f"{text!r} is not a Solana address: base58, or hex, of 32 bytes", _official("Solana", text)
    )


def _substrate(text: str) -> bytes:
    try:
        return ss58_decode(text)[1]
    except ValueError:
        pass
    try:
        return _hex(text, 32)
    except AddressError:
        message = f"{text!r} is not an account: SS58 of any prefix, or hex of 32 bytes"
        raise AddressError(message, _official("Polkadot", text)) from None


def _tron(text: str) -> bytes:
    digits = text.removeprefix("0x")
    if len(digits) == 40:
        return _hex(text, 20)
    try:
        payload = _hex(text, 21) if len(digits) == 42 else base58.b58decode_check(text)
    except ValueError:
        payload = b""
    if len(payload) != 21 or payload[:1] != _TRON_PREFIX:
        raise AddressError(
            f"{text!r} is not a Tron address: base58check, or hex, of 21 bytes that begin with 41",
            _official("Tron", text),
        )
    return payload[1:]


_PARSERS: dict[AddressForm, Callable[[str], bytes]] = {
    "evm": _evm,
    "bitcoin": _bitcoin,
    "solana": _solana,
    "substrate": _substrate,
    "tron": _tron,
}
