"""Bearer tokens of `--rpc-auth-token-file`, each with the groups of methods that it opens.

One token a line, `NAME GROUP[,GROUP…] TOKEN`; empty lines and lines that begin with `#` are ignored:

    # name      groups        token
    shop        broker        f1d2…
    monitor     read          sha256:9b74…
    operator    broker,admin  77aa…

Lines rather than TOML: a shell writes one with `echo`, and a wrong line is named by its number. TOKEN is the
token, or the SHA-256 of it in hex after `sha256:`, so that deploying the file needs no secret. A
hash without salt is enough for tokens that cannot be guessed, as `openssl rand -hex 32` makes them; shorter
ones than MIN_TOKEN_CHARS are refused. In memory there are hashes only.

The file holds secrets: it must belong to one user (mode 0600). SIGHUP reads it again; if that fails, the
tokens before it stay, and an error is logged.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

import trio

from cfnode.core.bearer_token import MAX_TOKEN, is_bearer_token
from cfnode.flow.wakeup import Wakeup
from cfnode.store import secret_file
from cfnode.store.errors import StoreError

__all__ = ["Group", "Token", "TokenFileError", "Tokens"]

log = logging.getLogger("cfnode.rpc")

MAX_TOKEN_FILE_BYTES: Final = 64 * 1024
MAX_TOKENS: Final = 256
MIN_TOKEN_CHARS: Final = 20
"""Minimum number of characters of a token."""
_HASH: Final = re.compile("sha256:([0-9a-fA-F]{64})")
_NAME: Final = re.compile(r"[A-Za-z0-9._@-]{1,64}")


class TokenFileError(StoreError):
    """Error for a malformed file of tokens; the text names file and line, never a token."""

    exit_code = 3


class Group(Enum):
    """Group of methods that a token may call."""

    READ = "read"
    """All safe methods, subscriptions, and the pages of the swap service; every token has it."""
    BROKER = "broker"
    """The methods of the broker, also those that only read."""
    LP = "lp"
    """The methods of the liquidity provider, also those that only read."""
    ADMIN = "admin"
    """Unsafe methods."""


SPENDING_GROUPS: Final = frozenset({Group.BROKER, Group.LP})
"""Groups that spend: an operator who closes one of them does not want the other one open."""


@dataclass(frozen=True, slots=True)
class Token:
    """Line of the file: name, groups, and digest of one token."""

    name: str
    groups: frozenset[Group]
    digest: bytes = field(repr=False)
    """SHA-256 of the token."""


class Tokens:
    """Tokens of one server. Raises SecretFileError or TokenFileError if the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokens = read_tokens(path)
        self._reloads = Wakeup()

    @property
    def changed(self) -> trio.Event:
        """Event that is set when the file has been read again."""
        return self._reloads.next

    @property
    def guarded(self) -> frozenset[Group]:
        """Groups that need a token.

        They are those that a line names, both that spend if it names one of them, and all if a line names
        `read`.
        """
        token_groups = frozenset(group for token in self._tokens for group in token.groups)
        if Group.READ in token_groups:
            return frozenset(Group)
        return token_groups | SPENDING_GROUPS if token_groups & SPENDING_GROUPS else token_groups

    def __iter__(self) -> Iterator[Token]:
        """Yield the tokens of the file."""
        return iter(self._tokens)

    def find(self, presented: bytes) -> Token | None:
        """Return the token with this text, or None.

        Compares with every token, in a time that does not depend on them.
        """
        if len(presented) > MAX_TOKEN:
            return None
        digest, matching = hashlib.sha256(presented).digest(), None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                matching = token
        return matching

    def reload(self) -> None:
        """Read the file again; keep the tokens if that fails."""
        try:
            self._tokens = read_tokens(self._path)
        except StoreError as error:
            log.error("SIGHUP: %s. The %d tokens read before stay valid", error, len(self._tokens))
            return
        log.info("SIGHUP: read %d tokens from %s", len(self._tokens), self._path)
        self._reloads.notify()


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Read the tokens of a file. Raise SecretFileError or TokenFileError."""
    content = secret_file.read(path, MAX_TOKEN_FILE_BYTES, follow_links=True, private=True)
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        raise TokenFileError(f"{path}: the file is not text") from None
    tokens: list[Token] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            tokens.append(_token(line.split()))
        except ValueError as error:
            raise TokenFileError(f"{path}, line {number}: {error}") from None
    if not 0 < len(tokens) <= MAX_TOKENS:
        raise TokenFileError(
            f"{path}: expected 1 to {MAX_TOKENS} tokens, not {len(tokens)}; "
            "a line is: NAME GROUP[,GROUP] TOKEN"
        )
    if len({token.digest for token in tokens}) < len(tokens):
        raise TokenFileError(f"{path}: two lines have the same token")
    return tuple(tokens)


def _token(parts: list[str]) -> Token:
    """Read a token from the parts of a line. Raise ValueError, whose text repeats no token."""
    if len(parts) != 3:
        raise ValueError("expected a line NAME GROUP[,GROUP] TOKEN")
    name, groups, secret = parts
    if _NAME.fullmatch(name) is None:
        raise ValueError("expected a name of 1 to 64 letters, digits and . _ @ -")
    return Token(name, frozenset(map(_group, groups.split(","))), _digest(secret))


def _group(text: str) -> Group:
    try:
        return Group(text)
    except ValueError:
        known = ", ".join(group.value for group in Group)
        raise ValueError(f"unknown group of methods; choose from {known}") from None


def _digest(secret: str) -> bytes:
    if (hashed := _HASH.fullmatch(secret)) is not None:
        return bytes.fromhex(hashed[1])
    if len(secret) < MIN_TOKEN_CHARS or not is_bearer_token(secret):
        raise ValueError(
            f"a token has {MIN_TOKEN_CHARS} to {MAX_TOKEN} letters, digits and . _ ~ + / -, as from "
            "`openssl rand -hex 32`; or give its hash, sha256: and 64 hex digits"
        )
    return hashlib.sha256(secret.encode()).digest()
