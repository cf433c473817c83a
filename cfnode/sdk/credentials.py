"""Bearer tokens of a client, each of which is sent to its own server only.

A client talks to several servers: a node, a broker, a swap service, nodes of other chains. So each option
with a token belongs to the address of one server (host, port, and whether it uses TLS), and the transport
adds the header to requests to that server alone; a swap service or broker at the same address gets it, too. A
network's public node gets none.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cfnode.core.bearer_token import authorization, is_bearer_token
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.networks import NETWORKS
from cfnode.sdk.options import ClientSession

__all__ = ["NO_CREDENTIALS", "Credentials", "credentials_of", "given_token", "is_public", "read_token"]

MAX_ONE_TOKEN_FILE_BYTES: Final = 4096
"""Bytes of a token's file."""
_PORTS: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class Credentials:
    """The tokens by server. They are in no repr."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """Take the tokens by any address of their server."""
        self._tokens = {_server(url): token for url, token in tokens.items()}

    def headers(self, url: str) -> tuple[tuple[str, str], ...]:
        """Return the header for a request to this address, if its server has a token."""
        token = self._tokens.get(_server(url)) if self._tokens else None
        return () if token is None else (("authorization", authorization(token)),)


NO_CREDENTIALS: Final = Credentials({})


def is_public(url: str) -> bool:
    """Return whether an address is that of a network's public node or swap service, which get no token."""
    public = (network for network in NETWORKS.values() if not network.is_one_server)
    return any(_server(url) in (_server(network.rpc_url), _server(network.backend_url)) for network in public)


def credentials_of(session: ClientSession) -> Credentials:
    """Read the tokens of a client's options and their files.

    Raises ValidationError, which repeats no token.
    """
    options, tokens = session.options, dict[str, str]()
    token = given_token("rpc_token", options.rpc_token, options.rpc_token_file)
    if token is not None:
        tokens[_own_node(session)] = token
    if options.broker is not None:
        token = given_token("broker.token", options.broker.token, options.broker.token_file)
        if token is not None:
            tokens[options.broker.url] = token
    return Credentials(tokens)


def _own_node(session: ClientSession) -> str:
    if is_public(session.rpc_url):
        raise ValidationError.at("rpc_token", "no token is sent to a network's public node: give rpc_url")
    return session.rpc_url


def given_token(name: str, token: str | None, file: str | os.PathLike[str] | None) -> str | None:
    """Return the token of an option, or of its file; None if neither is given.

    Raises ValidationError, which repeats no token.
    """
    if token is not None and file is not None:
        raise ValidationError.at(name, f"{name} and {name}_file exclude each other: give one of them")
    if file is not None:
        return read_token(file, f"{name}_file")
    if token is not None and not is_bearer_token(token):
        raise ValidationError.at(name, "malformed bearer token: expected letters, digits and . _ ~ + / -")
    return token


def read_token(file: str | os.PathLike[str], field: str) -> str:
    """Read the token in a file, which has it alone on a line.

    Raises ValidationError, which repeats no token.
    """
    if not isinstance(file, str | os.PathLike):
        raise ValidationError.at(field, "expected the path of a file")
    path = Path(file)
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            text = stream.read(MAX_ONE_TOKEN_FILE_BYTES + 1).decode("latin-1").strip()
    except OSError as error:
        raise ValidationError.at(field, f"{path} cannot be read: {error.strerror}; check the path") from None
    if mode & _OTHERS:
        raise ValidationError.at(field, f"{path} is open to other users of this machine: chmod 600 {path}")
    if not is_bearer_token(text):
        raise ValidationError.at(field, f"{path} contains no bearer token; write the token alone")
    return text


def _server(url: str) -> tuple[bool, str, int]:
    """Return whether TLS is used, the host and the port; `(False, "", 0)` for a malformed address."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return False, "", 0
    return parts.scheme in ("https", "wss"), parts.hostname or "", port
