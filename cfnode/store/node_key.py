"""The node key: the node's ed25519 identity on the network, in a file.

The file holds an ed25519 secret: 32 raw bytes, or 64 hex digits as Substrate also accepts. The
default file is `network/secret_ed25519` in the chain's directory.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from cfnode.core.keys import Keypair
from cfnode.core.suri import SuriError
from cfnode.store import secret_file
from cfnode.store.secret_file import SecretFileError

__all__ = ["NODE_KEY_FILE", "create", "decode", "load", "load_or_create"]

NODE_KEY_FILE = "secret_ed25519"
SECRET_LENGTH = 32


def decode(content: bytes, where: str) -> Keypair:
    """Return the key pair of a node key file's content.

    `where` names the content in the error. Raises SecretFileError.
    """
    stripped = content.strip()
    if len(content) != SECRET_LENGTH and len(stripped) == 2 * SECRET_LENGTH:
        try:
            content = bytes.fromhex(stripped.decode())
        except ValueError:
            content = b""
    try:
        return Keypair.from_seed(content, "ed25519")
    except SuriError:
        raise SecretFileError(f"{where} is not a node key: it must be 32 bytes or 64 hex digits") from None


def load(path: Path) -> Keypair:
    """Return the node key in a file. Raises SecretFileError."""
    return decode(secret_file.read(path, follow_links=True), str(path))


def create(path: Path) -> Keypair:
    """Write a new node key to a new file, raw. Raises SecretFileError if the file exists."""
    secret = secrets.token_bytes(SECRET_LENGTH)
    secret_file.create_directory(path.parent)
    secret_file.create_all({path: secret})
    return Keypair.from_seed(secret, "ed25519")


def load_or_create(path: Path) -> Keypair:
    """Return the node key in a file, which is created on first use. Raises SecretFileError."""
    return load(path) if path.exists() else create(path)
