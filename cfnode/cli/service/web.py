"""The page of `cfnode service run --web`, and the tokens that open it."""

from __future__ import annotations

import hashlib
import logging
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode

if TYPE_CHECKING:
    from cfnode.dashboard import Dashboard, RpcNode
    from cfnode.dashboard.sessions import TokenSource
    from cfnode.ledger.database import Database
    from cfnode.web.tokens import Tokens

__all__ = ["check_web", "web_options", "web_page"]

log = logging.getLogger("cfnode.service")
NAME = "web-token"
"""The file with the page's token, next to an SQLite file, else in the default base path."""


def web_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --web and --web-token-file to a command."""
    token_file = click.option(
        "--web-token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File with the token that opens the page; made with a new one if it is missing. Default: tokens "
        "of the group admin in --auth-token-file; without that flag, web-token next to the SQLite file, or "
        "with PostgreSQL in the default base path.",
    )
    flag = click.option(
        "--web", is_flag=True, help="Serve a page for the operator, below /web/: swaps, figures, health."
    )
    return flag(token_file(command))


def web_page(database: Database, node: RpcNode, tokens: Tokens | None, path: Path | None) -> Dashboard:
    """Return the page. Raise Failure, StoreError."""
    try:
        from cfnode.dashboard import Dashboard
    except ImportError as error:
        raise CommandFailure(f"--web needs {error.name}: pip install 'cfnode[web]'", ExitCode.USAGE) from None
    return Dashboard(database, node, _token_source(database, tokens, path), _print_link)


def _print_link(link: str) -> None:
    """Print a link that logs in once, to a person: a log may have other readers."""
    if sys.stderr.isatty():
        click.echo(f"Web page: {link} logs in once, within ten minutes", err=True)


def check_web(ctx: click.Context, *, is_served: bool) -> None:
    """Raise UsageError for a token file on the command line without the page."""
    source = ctx.get_parameter_source("web_token_file")
    if source is click.core.ParameterSource.COMMANDLINE and not is_served:
        raise click.UsageError("--web-token-file needs --web: add it", ctx)


def _token_source(database: Database, tokens: Tokens | None, path: Path | None) -> TokenSource:
    from cfnode.web.tokens import Group

    if path is None and tokens is not None:
        if not any(Group.ADMIN in token.groups for token in tokens):
            raise CommandFailure(
                "no token of --auth-token-file has the group admin, which opens the page: add one, or give "
                "--web-token-file",
                ExitCode.CONFIGURATION,
            )
        return lambda: tokens
    return _one_token(_default_path(database) if path is None else path)


def _default_path(database: Database) -> Path:
    from cfnode.store.base_path import default_base_path
    from cfnode.store.errors import BasePathError

    try:
        return (database.folder or default_base_path()) / NAME
    except BasePathError:
        raise CommandFailure(
            "there is no home directory: give --web-token-file", ExitCode.CONFIGURATION
        ) from None


def _one_token(path: Path) -> TokenSource:
    """Return a source of the token of a file, which is created if it is missing."""
    from cfnode.store import secret_file
    from cfnode.web.tokens import MIN_TOKEN_CHARS, Group, Token, TokenFileError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            secret_file.create(path, f"{secrets.token_hex(32)}\n".encode())
            log.info("Created a token for the page: %s", path)
    except FileExistsError:  # another process has made it meanwhile
        pass
    except OSError as error:
        raise CommandFailure(
            f"cannot create {path}: {error.strerror}; name another --web-token-file", ExitCode.CONFIGURATION
        ) from None
    text = secret_file.read(path, follow_links=True, private=True).strip()
    if len(text) < MIN_TOKEN_CHARS or len(text.split()) != 1:
        raise TokenFileError(
            f"{path}: the file has one token of at least {MIN_TOKEN_CHARS} characters, as from "
            "`openssl rand -hex 32`"
        )
    log.info("Web page: log in at /web/ with the token in %s", path)
    token = Token("web", frozenset({Group.ADMIN}), hashlib.sha256(text).digest())
    return lambda: (token,)
