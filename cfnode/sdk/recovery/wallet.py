"""Who signs the user's transaction? eth-account, from the extra `cfnode[evm]`, loaded only here.

Importing it raises the interpreter's recursion limit to 100,000, at which deep JSON ends the process instead
of raising an error; the limit is put back.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from cfnode.sdk.errors import ValidationError
from cfnode.sdk.recovery.errors import MissingExtra
from cfnode.sdk.recovery.evm import UnsignedTransaction

__all__ = ["Wallet"]

_MAX_FILE = 64 * 1024


class Wallet:
    """A key that can sign; its secret is never shown."""

    def __init__(self, account: Any) -> None:
        self._account = account

    @property
    def address(self) -> bytes:
        """The account's 20 bytes."""
        return bytes.fromhex(self._account.address[2:])

    @classmethod
    def from_secret(cls, secret: bytes) -> Wallet:
        """From the 32 bytes of a private key."""
        try:
            return cls(_eth_account().from_key(secret))
        except ValueError:
            raise ValidationError("key", "the private key is not one: it takes 32 bytes of hex") from None

    @classmethod
    def from_file(cls, path: Path, password: Callable[[], str]) -> Wallet:
        """From a file: a keystore JSON (version 3; `password` is asked for its own) or the key as hex."""
        if path.stat().st_size > _MAX_FILE:
            raise ValidationError("key", f"{path} is too large for a key")
        text = path.read_bytes().decode("utf-8", "replace").strip()
        if text.startswith("{"):
            return cls._from_keystore(path, text, password)
        try:
            return cls.from_secret(bytes.fromhex(text.removeprefix("0x")))
        except ValueError:
            raise ValidationError("key", f"{path} is neither a keystore JSON nor a key in hex") from None

    @classmethod
    def _from_keystore(cls, path: Path, text: str, password: Callable[[], str]) -> Wallet:
        account = _eth_account()
        try:
            document = json.loads(text)
            if not isinstance(document.get("crypto", document.get("Crypto")), dict):
                raise TypeError
            return cls.from_secret(bytes(account.decrypt(document, password())))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            wrong = "MAC" in str(error)
            reason = "the password is wrong" if wrong else "it is not a keystore JSON of version 3"
            raise ValidationError("key", f"{path} cannot be opened: {reason}") from None

    def sign(self, transaction: UnsignedTransaction) -> tuple[bytes, str]:
        """(the raw transaction, its hash as 0x hex)."""
        signed = self._account.sign_transaction(transaction.fields())
        return bytes(signed.raw_transaction), "0x" + bytes(signed.hash).hex()


def _eth_account() -> Any:
    limit = sys.getrecursionlimit()
    try:
        return import_module("eth_account").Account
    except ImportError:
        raise MissingExtra(
            "signing needs eth-account: install cfnode's extra evm (pip install '.[evm]'), or use --unsigned"
        ) from None
    finally:
        sys.setrecursionlimit(limit)
