"""Recognition of secrets in options: seeds, passwords and keys, which no configuration file may hold.

A configuration file is copied, committed and read by others; a secret belongs in a file of its own (mode
0600), and is not printed. A value of a secret option may be the name of such a file, or a public development
key (`//Alice`).
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import click

from cfnode.cli.settings.names import Path, flag_of, key_of, options_of, variables_of

__all__ = ["HIDDEN", "instead_of", "is_secret", "masked", "takes_secret"]

HIDDEN: Final = "********"
SECRET_WORDS: Final = frozenset(
    ("mnemonic", "passphrase", "password", "phrase", "secret", "seed", "suri", "token")
)
"""Words that make a flag secret; `key` does so as the last word only (`--node-key`)."""
HARMLESS_ENDS: Final = frozenset(("dir", "file", "filename", "path", "type"))
SECRET_METAVAR: Final = re.compile(r"\b(SURIS?|SECRETS?)\b")
FILE_METAVAR: Final = re.compile(r"\bFILE\b")


def takes_secret(option: click.Option) -> bool:
    """Return whether the option takes a secret: by its name, its metavar, or `hide_input`."""
    if option.hide_input:
        return True
    if option.is_flag or not isinstance(option.type, type(click.STRING)):
        return False
    if SECRET_METAVAR.search(option.metavar or ""):
        return True
    words = [word.removesuffix("s") for word in key_of(option).split("-")]
    if words[-1] in HARMLESS_ENDS or option.metavar in ("FILE", "DIR"):
        return False
    return words[-1] == "key" or not SECRET_WORDS.isdisjoint(words)


def is_secret(option: click.Option, value: Any) -> bool:
    """Return whether this value of the option is a secret; a list is one if any of its values is."""
    if isinstance(value, (list, tuple)):
        return any(is_secret(option, item) for item in value)
    text = str(value)
    if not takes_secret(option):
        return _has_password(text)
    metavar = option.metavar or ""
    is_public = bool(SECRET_METAVAR.search(metavar)) and all(map(_is_public, text.split(",")))
    return not (is_public or (FILE_METAVAR.search(metavar) and _is_file(text)))


def _is_public(uri: str) -> bool:
    """Return whether a URI is a number, or a key of the well-known phrase, without a password."""
    uri = uri.strip()
    return uri.isdigit() or (uri.startswith("//") and "///" not in uri and " " not in uri)


def _is_file(text: str) -> bool:
    from cfnode.cli.key.secret_input import BARE_SEED, looks_like_a_file  # needed by few command lines

    return text == "-" or (looks_like_a_file(text) and not BARE_SEED.fullmatch(text))


def _has_password(text: str) -> bool:
    """Return whether a text is a URL with a password or with a secret in its query.

    As in https://user:password@host, or https://host?api-key=…; also one that cannot be parsed, but may have
    one.
    """
    if "://" not in text:
        return False
    try:
        parts = urlsplit(text)
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        return bool(parts.password) or any(map(_names_a_secret, names))
    except ValueError:
        return "@" in text or "?" in text


def _names_a_secret(name: str) -> bool:
    words = re.split(r"[^a-z]+", name.lower())
    return not (SECRET_WORDS | {"key", "apikey", "auth"}).isdisjoint(words)


def masked(option: click.Option, value: Any) -> Any:
    """Return the value to print."""
    return HIDDEN if value is not None and is_secret(option, value) else value


def instead_of(command: click.Command, path: Path, option: click.Option) -> str:
    """Return what to use instead of the option in a configuration file."""
    key = key_of(option)
    names = {key_of(sibling) for sibling in options_of(command)}
    if file_key := next((f"{key}-{end}" for end in ("file", "filename") if f"{key}-{end}" in names), None):
        return f"save the secret in a file of its own and write {file_key}"
    if FILE_METAVAR.search(option.metavar or ""):
        return f"save the secret in a file of its own and write its name as {key}"
    return f"use the variable {variables_of(path, option)[0]} or {flag_of(option)}"
