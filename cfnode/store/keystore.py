"""Substrate's local keystore: a file for each session key and signing key of this node.

The format is Substrate's, byte for byte: one file per key, named by the hex of the four-byte key type and of
the public key; its content is the secret URI as a JSON string. So keystores can be copied from and to the
official node. The name alone identifies the key; the content is read, and checked against the name, when the
key has to sign.
"""

from __future__ import annotations

import json
from pathlib import Path

from cfnode.core.foreign import ForeignError, read_json
from cfnode.core.keys import SCHEMES, Keypair, Scheme
from cfnode.core.suri import SuriError
from cfnode.store import secret_file
from cfnode.store.secret_file import SecretFileError

__all__ = ["BROKER", "PROVIDER", "SIGNERS", "Keystore", "KeystoreError", "MultipleKeysError"]

BROKER = "brok"
"""The key type that signs for the broker methods."""
PROVIDER = "lqpr"
"""The key type that signs for the methods of a liquidity provider."""
SIGNERS = {BROKER: "broker", PROVIDER: "liquidity provider"}
"""The names that errors give to the keys that sign for methods, by key type."""
ED25519_KEY_TYPES = frozenset({"gran", "grnd"})
KEY_TYPE_LENGTH = 4
MAX_FILES = 100_000


class KeystoreError(SecretFileError):
    """A key file cannot be used; the text names the file, never the secret."""


class MultipleKeysError(KeystoreError):
    """The keystore has several keys where one is needed."""


class Keystore:
    """The key files of one chain, in a directory that need not exist yet.

    `password`: the one that the keys were inserted with, if any (Substrate's `--password`); it is stored
    nowhere. A key type is four ASCII characters.
    """

    def __init__(self, path: Path, password: str | None = None) -> None:
        self.path = path
        self._password = password

    def __repr__(self) -> str:
        """Return the path alone, without the password."""
        return f"Keystore({str(self.path)!r})"

    def keys(self, key_type: str) -> list[bytes]:
        """Return the public keys of this type, sorted."""
        prefix = _encode_key_type(key_type).hex()
        return sorted(bytes.fromhex(name[len(prefix) :]) for name in self._names() if name.startswith(prefix))

    def entries(self) -> list[tuple[str, bytes]]:
        """Return the type and the public key of each key, sorted by their bytes."""
        names = [bytes.fromhex(name) for name in self._names()]
        return [(name[:KEY_TYPE_LENGTH].decode("latin-1"), name[KEY_TYPE_LENGTH:]) for name in names]

    def has(self, key_type: str, public: bytes) -> bool:
        """Return whether there is a file for this key."""
        return self._file(key_type, public).name in self._names()

    def pair(self, key_type: str, public: bytes) -> Keypair:
        """Return the pair of a public key (32 or 33 bytes).

        Raises KeystoreError if its file is missing or malformed.
        """
        path = self._file(key_type, public)
        suri = self._read(path)
        problem = "it contains the secret of another key"
        for scheme in _schemes(key_type, public):
            try:
                pair = Keypair.from_suri(suri, scheme, password=self._password)
            except SuriError as error:
                problem = str(error)
                continue
            if pair.public == public:
                return pair
        hint = "; if it was inserted with a password, give the same one" if self._password is None else ""
        raise KeystoreError(f"the key file {path} does not give the key in its name: {problem}{hint}")

    def insert(
        self, key_type: str, suri: str, scheme: Scheme | None = None, *, public: bytes | None = None
    ) -> bytes:
        """Write the key file of a secret and return the public key; an existing key file is not changed.

        `public` is the key that the secret should give. Without `scheme`, the scheme follows from `public`,
        or else from the key type (ed25519 for GRANDPA keys, sr25519 for the others). Raises SuriError for a
        malformed secret, KeystoreError for a secret of another key.
        """
        pair = self._derive(_schemes(key_type, public) if scheme is None else (scheme,), suri, public)
        path = self._file(key_type, pair.public)
        secret_file.create_directory(self.path)
        try:
            secret_file.create(path, json.dumps(suri, ensure_ascii=False).encode())
        except FileExistsError:
            self.pair(key_type, pair.public)  # raises if the existing file does not give the key
        return pair.public

    def _derive(self, schemes: tuple[Scheme, ...], suri: str, public: bytes | None) -> Keypair:
        for scheme in schemes:
            pair = Keypair.from_suri(suri, scheme, password=self._password)
            if public is None or public == pair.public:
                return pair
        raise KeystoreError("the secret does not give the stated public key")

    def signer(self, key_type: str) -> Keypair | None:
        """Return the key pair that signs for the methods of a type in SIGNERS.

        None if the keystore has no such key. Raises MultipleKeysError if it has several.
        """
        publics, name = self.keys(key_type), SIGNERS[key_type]
        if len(publics) > 1:
            names = ", ".join(self._file(key_type, public).name for public in publics[:4])
            raise MultipleKeysError(
                f"{self.path} holds {len(publics)} {name} keys, and with more than one the {name} methods "
                f"are off: remove all but one of the files {names}"
            )
        return self.pair(key_type, publics[0]) if publics else None

    def warnings(self) -> list[str]:
        """Return a warning for each key file, and for the directory, that other users can access."""
        paths = [self.path, *(self.path / name for name in self._names())]
        return [warning for path in paths if (warning := secret_file.exposed(path))]

    def _names(self) -> list[str]:
        """Return the sorted names of key files; other files in the directory are ignored."""
        try:
            names = [entry.name for entry in self.path.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise KeystoreError(f"cannot read the keystore {self.path}: {error.strerror}") from None
        if len(names) > MAX_FILES:
            raise KeystoreError(
                f"the keystore {self.path} has {len(names)} files, more than {MAX_FILES}: move away those "
                "that are no key files"
            )
        return sorted(name for name in names if _is_key_name(name))

    def _file(self, key_type: str, public: bytes) -> Path:
        return self.path / (_encode_key_type(key_type) + public).hex()

    def _read(self, path: Path) -> str:
        try:
            content = read_json(secret_file.read(path))
        except SecretFileError as error:
            raise KeystoreError(str(error)) from None
        except ForeignError:
            content = None
        if not isinstance(content, str):
            raise KeystoreError(f"the key file {path} must hold a secret URI as a JSON string, in quotes")
        return content


def _encode_key_type(key_type: str) -> bytes:
    if len(key_type) != KEY_TYPE_LENGTH or not key_type.isascii():
        raise KeystoreError(
            f"a key type has four ASCII characters, such as {BROKER}; this one is {key_type!r}"
        )
    return key_type.encode()


def _is_key_name(name: str) -> bool:
    lower_hex = set("0123456789abcdef").issuperset(name)
    return lower_hex and len(name) in (2 * (KEY_TYPE_LENGTH + 32), 2 * (KEY_TYPE_LENGTH + 33))


def _schemes(key_type: str, public: bytes | None) -> tuple[Scheme, ...]:
    """Return the schemes that this key may be of, the likely one first."""
    if public is not None and len(public) != 32:
        return ("ecdsa",)
    first_scheme: Scheme = "ed25519" if key_type in ED25519_KEY_TYPES else "sr25519"
    return (first_scheme, *(scheme for scheme in SCHEMES if scheme not in (first_scheme, "ecdsa")))
