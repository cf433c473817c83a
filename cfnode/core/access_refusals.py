"""Refusals by a server's access rules: what HTTP 401 and 403 mean, and what the client can do."""

from __future__ import annotations

from typing import Final

__all__ = ["TOKEN_OF_COMMAND", "TOKEN_OF_PROGRAM", "access_refusal"]

TOKEN_OF_COMMAND: Final = "give it by --token-file FILE, or set CFNODE_TOKEN"
"""How a command gets the token of a node."""
TOKEN_OF_PROGRAM: Final = (
    "give the file that has it: rpc_token_file for the node, token_file for a broker or a subscription, "
    "--token-file or --broker-token-file on the command line"
)
"""How a program that uses the SDK gets a token, and a command that does so."""
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403


def access_refusal(status: int, token_advice: str) -> str | None:
    """Return the rest of a sentence about a server that answers with this HTTP status; None for others.

    `token_advice`: TOKEN_OF_COMMAND or TOKEN_OF_PROGRAM. The server answers so as long as its rules and the
    client's token stay as they are.
    """
    if status == _UNAUTHORIZED:
        return f"requires a known bearer token: {token_advice}"
    if status == _FORBIDDEN:
        return (
            "refuses this client, or the host name in its address: a node answers to localhost and "
            "127.0.0.1 with its own port, and to the names of its --rpc-allowed-hosts; use one of them"
        )
    return None
