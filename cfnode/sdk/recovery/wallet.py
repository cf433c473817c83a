"""Key files, and the signing of transactions with eth-account, from the extra `cfnode[evm]`.

Only this module imports eth-account. A keystore usually names its address, so that its password is needed
last, when the user has confirmed the transaction. Importing eth-account raises the interpreter's recursion
limit to 100,000, at which deeply nested JSON ends the process instead of raising an error; the limit is
restored.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from cfnode.core.foreign import ForeignError, read_bounded, read_json
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.recovery.errors import KeyFileError, MissingExtra, WrongPassword
from cfnode.sdk.recovery.transaction import UnsignedTransaction
from cfnode.swaps.checksums import evm_account

__all__ = ["KeyFile", "Wallet", "is_open_to_others", "read_password"]

MAX_KEY_FILE_BYTES = 64 * 1024
"""Maximum bytes of a key file: a keystore has about 500."""
_OTHERS = 0o077
_VERSION = 3
_DERIVATION = "hmac-sha256"
"""The pseudo-random function of PBKDF2 that keystores of version 3 have."""


class Wallet:
    """A key that can sign; its secret is never part of its text."""

    def __init__(self, account: Any) -> None:
        self._account = account

    @property
    def address(self) -> bytes:
        """The account's 20 bytes."""
        return bytes.fromhex(self._account.address[2:])

    @classmethod
    def from_secret(cls, secret: bytes) -> Wallet:
        """Return the wallet of a private key of 32 bytes; raise ValidationError for a malformed key."""
        try:
            return cls(_eth_account().from_key(secret))
        except (ValueError, TypeError):
            raise ValidationError("key", "the private key is malformed: it takes 32 bytes of hex") from None

    @classmethod
    def from_file(cls, path: Path, password: Callable[[], str]) -> Wallet:
        """Return the wallet of a file: a keystore JSON (version 3; calls `password`) or the key in hex."""
        key_file = KeyFile.read(path)
        return key_file.wallet or key_file.open(password())

    def sign(self, transaction: UnsignedTransaction) -> tuple[bytes, str]:
        """Return (the raw transaction, its hash as 0x hex)."""
        signed = self._account.sign_transaction(transaction.fields())
        return bytes(signed.raw_transaction), "0x" + bytes(signed.hash).hex()


@dataclass(frozen=True)
class KeyFile:
    """A file with the sender's key: `wallet` if the key is in hex, else a keystore to decrypt.

    `address` (20 bytes) is None for a keystore without an address.
    """

    path: Path
    address: bytes | None
    wallet: Wallet | None = None
    keystore: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, path: Path) -> KeyFile:
        """Read a key file.

        Raises KeyFileError for a file without a key, MissingExtra without eth-account.
        """
        try:
            with path.open("rb") as file:
                data = read_bounded(file, MAX_KEY_FILE_BYTES)
        except OSError as error:
            raise KeyFileError(f"{path} cannot be read: {error.strerror}") from None
        except ForeignError:
            raise KeyFileError(f"{path} is too large for a key") from None
        text = data.decode("utf-8-sig", "replace").strip()
        _eth_account()
        if text.startswith("{"):
            return cls._keystore(path, text)
        try:
            wallet = Wallet.from_secret(bytes.fromhex(_without_prefix(text)))
        except ValueError:
            raise KeyFileError(f"{path} is neither a keystore JSON nor a key in hex") from None
        return cls(path, wallet.address, wallet)

    @classmethod
    def _keystore(cls, path: Path, text: str) -> KeyFile:
        try:
            document = read_json(text)
        except ForeignError:
            raise _unusable(path, "it is not a keystore JSON of version 3") from None
        version = document.get("version")
        if not isinstance(document.get("crypto", document.get("Crypto")), dict):
            raise _unusable(path, "it is not a keystore JSON of version 3")
        if isinstance(version, bool) or version != _VERSION:
            raise _unusable(path, f"its version is {version!r:.20}, and only the number 3 is read")
        address_text = document.get("address")
        address = evm_account(_without_prefix(address_text)) if isinstance(address_text, str) else None
        return cls(path, address, keystore=document)

    def open(self, password: str) -> Wallet:
        """Return the wallet of a keystore; raise WrongPassword, or KeyFileError for a malformed keystore."""
        if (derivation := _derivation(self.keystore)) != _DERIVATION:
            raise _unusable(
                self.path, f"its key derivation {derivation!r:.30} is not supported: export it with scrypt"
            )
        try:
            wallet = Wallet.from_secret(bytes(_eth_account().decrypt(dict(self.keystore), password)))
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
            if "MAC" in str(error):
                raise WrongPassword(f"{self.path} cannot be opened: the password is wrong") from None
            raise _unusable(self.path, "it is not a keystore JSON of version 3") from None
        except (RecursionError, NotImplementedError, MemoryError):
            raise _unusable(self.path, "its encryption is not supported") from None
        if self.address is not None and wallet.address != self.address:
            raise _unusable(self.path, "its key belongs to another address than the file names")
        return wallet


def read_password(path: Path) -> str:
    """Return the first line of a password file.

    Raises KeyFileError if the file or the password is missing.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_KEY_FILE_BYTES)
        lines = data.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise KeyFileError(f"the password file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KeyFileError(f"the password file {path} is not UTF-8 text") from None
    if not lines or not lines[0]:
        raise KeyFileError(f"the password file {path} has no password in its first line")
    return lines[0]


def is_open_to_others(path: Path) -> bool:
    """Return whether other accounts of this machine may read a file."""
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def _without_prefix(text: str) -> str:
    """Return the digits of a text in hex, which may begin with 0x or 0X."""
    return text[2:] if text[:2] in ("0x", "0X") else text


def _derivation(keystore: Mapping[str, Any]) -> Any:
    """Return the function that derives a keystore's key by PBKDF2; the default for another derivation."""
    crypto = keystore.get("crypto", keystore.get("Crypto"))
    parameters = crypto.get("kdfparams") if isinstance(crypto, Mapping) else None
    return parameters.get("prf", _DERIVATION) if isinstance(parameters, Mapping) else _DERIVATION


def _unusable(path: Path, reason: str) -> KeyFileError:
    return KeyFileError(f"{path} cannot be opened: {reason}")


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
