"""Checksum of EVM addresses (EIP-55): upper and lower case of the letters."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["checksum_address", "checksum_text", "evm_account"]

_EVM_TEXT: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{40})")


def checksum_address(account: bytes) -> str:
    """Return a 20-byte EVM account as text, with the mixed-case checksum of EIP-55."""
    from cfnode.core.hashing import keccak_256

    digits = account.hex()
    digest = keccak_256(digits.encode()).hex()
    return "0x" + "".join(c.upper() if int(h, 16) > 7 else c for c, h in zip(digits, digest, strict=False))


def evm_account(text: str) -> bytes | None:
    """Return the 20 bytes of an EVM account in hex; None for another text, or a wrong mixed-case checksum."""
    if not (match := _EVM_TEXT.fullmatch(text)):
        return None
    digits, account = match[1], bytes.fromhex(match[1])
    is_good = digits in (digits.lower(), digits.upper()) or checksum_address(account)[2:] == digits
    return account if is_good else None


def checksum_text(text: str) -> str:
    """Return the text of an EVM account in checksum form; any other text, or a wrong checksum, unchanged."""
    account = evm_account(text) if text.startswith("0x") else None
    return text if account is None else checksum_address(account)
