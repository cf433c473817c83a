"""Validation of a chain's addresses on the foreign network of a Chainflip network.

The rules, checksums included, are those of the libraries in the JavaScript SDK, so that both accept the same
texts: EIP-55 for mixed-case EVM addresses (and ICAP), base58check and bech32/bech32m of the network for
Bitcoin, 32 bytes of base58 for Solana, SS58 or 0x hex for Polkadot and Assethub. For Tron only form and
length are checked; the broker's node checks the checksum.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from cfnode.core.assets import CHAINS, AddressForm
from cfnode.swaps.checksums import evm_account

if TYPE_CHECKING:
    from cfnode.sdk.networks import Network

__all__ = ["is_account", "is_address"]

_ICAP = re.compile(r"XE(\d{2})([0-9A-Za-z]{30,31})\Z")
_HEX_ACCOUNT = re.compile(r"0x[0-9a-fA-F]{64}\Z")
_RESERVED_PREFIXES = (46, 47)
_MAX_ADDRESS_CHARS = 256
_BASE58 = frozenset("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")


def is_address(text: object, chain: str, network: Network) -> bool:
    """Return whether `text` is an address of `chain` on the foreign network behind `network`."""
    if not isinstance(text, str) or not text or len(text) > _MAX_ADDRESS_CHARS:
        return False
    return _RULES[CHAINS[chain].form](text, network)


def is_account(text: object) -> bool:
    """Return whether `text` is a State Chain account (`cF…`, SS58)."""
    return isinstance(text, str) and text.startswith("cF") and _ss58_prefix(text) is not None


def _evm(text: str, network: Network) -> bool:
    return evm_account(text) is not None or _icap(text)


def _icap(text: str) -> bool:
    """Return whether a text is an ICAP: an IBAN of the country XE with the address in base 36."""
    match = _ICAP.match(text)
    if not match:
        return False
    digits = "".join(str(int(character, 36)) for character in (text[4:] + text[:4]).upper())
    return int(digits) % 97 == 1 and int(match[2], 36) < 1 << 160


def _bitcoin(text: str, network: Network) -> bool:
    from cfnode.core.addresses import NETWORKS, AddressError, script_from_text

    rules = NETWORKS[network.bitcoin]
    if text[:1] not in ("1", "3", "m", "n", "2") and not text.startswith(rules.hrp + "1"):
        return False  # refuses upper-case bech32 too, which Bitcoin itself allows
    try:
        _, payload = script_from_text(text, rules)
    except AddressError:
        return False
    return isinstance(payload, bytes) or payload["version"] == 1


def _solana(text: str, network: Network) -> bool:
    import base58

    return _BASE58.issuperset(text) and len(base58.b58decode(text)) == 32


def _substrate(text: str, network: Network) -> bool:
    prefix = _ss58_prefix(text)
    return bool(_HEX_ACCOUNT.match(text)) or (prefix is not None and prefix not in _RESERVED_PREFIXES)


def _ss58_prefix(text: str) -> int | None:
    from cfnode.core.ss58 import Ss58Error, decode

    try:
        return decode(text)[0]
    except Ss58Error:
        return None


def _tron(text: str, network: Network) -> bool:
    import base58

    return text[0] == "T" and _BASE58.issuperset(text) and len(base58.b58decode(text)) == 25


_RULES: dict[AddressForm, Callable[[str, Network], bool]] = {
    "evm": _evm,
    "bitcoin": _bitcoin,
    "solana": _solana,
    "substrate": _substrate,
    "tron": _tron,
}
