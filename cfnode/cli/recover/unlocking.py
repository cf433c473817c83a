"""Decryption of the sender's key, whose password is prompted for last, and three times at most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cfnode.sdk.recovery import KeyFile, Wallet

__all__ = ["Signer", "key_file"]

MAX_PASSWORD_ATTEMPTS = 3
"""Wrong passwords before the command ends."""


def key_file(path: Path) -> KeyFile:
    """Read the key in a file; print a warning if others may read it."""
    from cfnode.sdk.recovery import KeyFile

    key = KeyFile.read(path)
    warn_if_open(path)
    return key


def warn_if_open(path: Path) -> None:
    """Print a warning if other accounts of this machine may read a secret file."""
    from cfnode.sdk.recovery import is_open_to_others

    if is_open_to_others(path):
        click.echo(f"Warning: other accounts may read {path}: chmod 600 {path}", err=True)


class Signer:
    """The sender, whose address is read early, and whose key is decrypted late."""

    def __init__(self, key: KeyFile, password_file: Path | None) -> None:
        self._file = key
        self._password_file = password_file
        self._wallet = key.wallet

    def address(self) -> bytes:
        """Return the account's 20 bytes; a keystore without an address has to be decrypted for it."""
        return self._file.address or self.wallet().address

    def wallet(self) -> Wallet:
        """Return the key; may prompt for the password."""
        if self._wallet is None:
            self._wallet = self._opened()
        return self._wallet

    def _opened(self) -> Wallet:
        from cfnode.sdk.recovery import WrongPassword, read_password

        if self._password_file is not None:
            warn_if_open(self._password_file)
            return self._file.open(read_password(self._password_file))
        for _ in range(MAX_PASSWORD_ATTEMPTS - 1):
            try:
                return self._file.open(_prompted())
            except WrongPassword:
                click.echo("The password is wrong; try again.", err=True)
        return self._file.open(_prompted())


def _prompted() -> str:
    return str(click.prompt("Password", hide_input=True, err=True))
