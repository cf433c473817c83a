"""The bearer token that a command sends to its node: of `--token-file`, or of the environment.

A token is never an argument, since arguments are visible in the process list. `--token-file` comes with
`--node`, so each command that calls a node has it; its file is read when the first call is made. The more
explicit source counts: the flag, CFNODE_TOKEN with the token itself, then CFNODE_TOKEN_FILE or the
configuration file. A network's public node gets no token, whatever the environment has.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.core.bearer_token import is_bearer_token

__all__ = [
    "TOKEN_FILE_VARIABLE",
    "TOKEN_VARIABLE",
    "node_token",
    "note_token_file",
    "token_in",
]

TOKEN_VARIABLE: Final = "CFNODE_TOKEN"
"""The environment variable with the token itself."""
TOKEN_FILE_VARIABLE: Final = "CFNODE_TOKEN_FILE"
_FILE: Final = "cfnode.token_file"
_IS_FLAG: Final = "cfnode.token_file_is_flag"


def note_token_file(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
    """Record the token file for the calls of the command."""
    ctx.meta[_FILE] = path
    source = ctx.get_parameter_source(param.name or "")
    ctx.meta[_IS_FLAG] = source is click.core.ParameterSource.COMMANDLINE


def node_token(url: str) -> str | None:
    """Return the token for the node at this address, or None. Raise Failure, which repeats no token."""
    meta = _meta()
    path: Path | None = meta.get(_FILE)
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if path is None and not token:
        return None
    is_flag = bool(meta.get(_IS_FLAG))
    if _is_public(url):
        if is_flag:
            raise CommandFailure(
                "--token-file needs --node URL, since a public node gets no token: add it", ExitCode.USAGE
            )
        return None
    if path is not None and (is_flag or not token):
        return token_in(path, "--token-file")
    if not is_bearer_token(token):
        raise CommandFailure(
            f"{TOKEN_VARIABLE} contains no bearer token: set one, or unset it", ExitCode.USAGE
        )
    return token


def _is_public(url: str) -> bool:
    from cfnode.sdk.credentials import is_public

    return is_public(url)


def token_in(path: Path, flag: str) -> str:
    """Return the token in the file of a flag. Raise Failure, which repeats no token."""
    from cfnode.sdk.credentials import read_token
    from cfnode.sdk.errors import ValidationError

    try:
        return read_token(path, flag)
    except ValidationError as error:
        raise CommandFailure(error.message, ExitCode.CONFIGURATION) from None


def _meta() -> dict[str, Any]:
    ctx = click.get_current_context(silent=True)
    return {} if ctx is None else ctx.meta
