"""Input of a secret: from the command line, a file, standard input, or a prompt without echo.

An argument is visible in the process list and stays in the shell's history, so each command that takes a
secret also accepts it in the other ways.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cfnode.cli.exits import CommandFailure, ExitCode

__all__ = [
    "NO_FILE",
    "SCHEMES",
    "choose_password",
    "looks_like_a_file",
    "password_options",
    "read_secret",
]

SCHEMES = ("sr25519", "ed25519", "ecdsa")
STDIN = "-"
MAX_SECRET_BYTES = 16 << 10
BARE_SEED = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
WORDS = re.compile(r"[\w ]*")
MIN_WORDS = 12
"""Minimum number of words of a seed phrase."""
NO_FILE = "there is no file of that name; check the path"
FORMS = "a secret is 12 to 24 words or 0x and 64 hex digits, then any //path, or //Alice and the like"

F = TypeVar("F", bound=Callable[..., Any])


def password_options(command: F) -> F:
    """Add the three options for the password of a secret (not of a file) to a command."""
    for option in (
        click.option("--password-filename", type=click.Path(path_type=Path), metavar="FILE",
                     help="File with the password."),
        click.option("--password-interactive", is_flag=True, help="Prompt for the password."),
        click.option("--password", metavar="TEXT", help="Password of the secret, as `///password` in it."),
    ):  # fmt: skip
        command = option(command)
    return command


def choose_password(password: str | None, interactive: bool, filename: Path | None) -> str | None:
    """Return the password from the option that was used, or None."""
    if sum((password is not None, interactive, filename is not None)) > 1:
        raise click.UsageError("give only one of --password, --password-interactive and --password-filename")
    if interactive:
        return str(click.prompt("Password", hide_input=True, err=True))
    if filename is not None:
        return _read_file(filename).rstrip("\r\n")
    return password


def read_secret(argument: str | None, file: Path | None, *, prompt: str, or_address: bool = False) -> str:
    """Read the secret: `argument` itself, its file, standard input for `-`; else `file`; else a prompt.

    A file may contain bare 64 hex digits, as the file `signing_key_file` of `key generate` does. An empty
    text is refused: as a secret URI it would be the well-known development key. `or_address`: the text may be
    an address, which looks like the name of a file.
    """
    if argument is not None and file is not None:
        raise click.UsageError("give the secret only once, as text or by a file")
    secret = _read_secret(argument, file, prompt, or_address)
    if not secret:
        raise click.UsageError(f"the secret is empty: give one; {FORMS}")
    return secret


def _read_secret(argument: str | None, file: Path | None, prompt: str, or_address: bool) -> str:
    if argument == STDIN:
        return _seed_of_file(_decode(sys.stdin.buffer.read(MAX_SECRET_BYTES), "standard input"))
    if argument is not None:
        return (
            _seed_of_file(_read_file(Path(argument)))
            if _is_file(argument)
            else _checked(argument, or_address)
        )
    if file is not None:
        return _seed_of_file(_read_file(file))
    if not sys.stdin.isatty():
        raise click.UsageError("no secret is given: name a file, or `-` to read it from standard input")
    return str(click.prompt(prompt, hide_input=True, err=True)).strip()


def _is_file(text: str) -> bool:
    try:
        return Path(text).exists() and not Path(text).is_dir()  # a pipe of the shell counts, too
    except (OSError, ValueError):  # a phrase is longer than a file name may be
        return False


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
    except OSError as error:
        raise CommandFailure(
            f"cannot read {path}: {error.strerror}; check the path", ExitCode.CONFIGURATION
        ) from None
    if len(content) > MAX_SECRET_BYTES:
        raise CommandFailure(
            f"{path} is larger than {MAX_SECRET_BYTES} bytes, too large for a secret; name another file",
            ExitCode.CONFIGURATION,
        )
    return _decode(content, str(path))


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise CommandFailure(
            f"{source} is not UTF-8 text: give a secret in words or hexadecimal", ExitCode.CONFIGURATION
        ) from None


def _seed_of_file(content: str) -> str:
    text = content.strip()
    return f"0x{text}" if BARE_SEED.fullmatch(text) else text


def _checked(text: str, or_address: bool) -> str:
    if BARE_SEED.fullmatch(text):
        raise click.UsageError("a seed in hexadecimal begins with 0x: write it so")
    if text.startswith("/") and not text.startswith("//"):
        # As a secret URI, a mistyped file name would be a child of the well-known development key.
        raise click.UsageError(NO_FILE)
    if looks_like_a_file(text) and not or_address:
        raise click.UsageError(f"the text is not a secret, and {NO_FILE}: {FORMS}")
    return text


def looks_like_a_file(text: str) -> bool:
    """Return whether a malformed secret is probably a file name: one word, or a path."""
    root, slash, junctions = text.partition("/")
    if not root or root.startswith("0x"):
        return False
    is_path = bool(slash) and not junctions.startswith("/")
    count = len(root.split())
    return count == 1 or (is_path and count < MIN_WORDS) or not WORDS.fullmatch(root)
