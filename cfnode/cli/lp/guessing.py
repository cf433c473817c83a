"""Account of a node's liquidity provider, if its key is the only one in this machine's keystores."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from cfnode.cli.exits import CommandFailure, ExitCode

__all__ = ["guessed_account"]

_LOCAL = ("127.0.0.1", "localhost", "::1")


def guessed_account(url: str, base_path: Path | None = None) -> str:
    """Return the account of the one liquidity provider's key below the base path (default: that of `run`).

    Only for a node of this machine: another one signs with a key that is not here. Raises Failure (usage).
    """
    if urlsplit(url).hostname not in _LOCAL:
        raise CommandFailure(
            "give the account by --lp-account cF…: the node is on another machine", ExitCode.USAGE
        )
    from cfnode.core import ss58
    from cfnode.store.base_path import default_base_path

    base = base_path or default_base_path()
    accounts = [ss58.encode(public) for public in _provider_keys(base)]
    if len(accounts) == 1:
        return accounts[0]
    reason = (
        f"{base} holds keys of several: {', '.join(accounts)}"
        if accounts
        else f"{base} holds no such key; --base-path DIR names another folder"
    )
    raise CommandFailure(
        f"give the liquidity provider's account by --lp-account cF…: {reason}", ExitCode.USAGE
    )


def _provider_keys(base: Path) -> list[bytes]:
    """Return the public keys of liquidity providers in the keystores of all chains, each once."""
    from cfnode.store.errors import StoreError
    from cfnode.store.keystore import PROVIDER, Keystore

    keys: dict[bytes, None] = {}
    for folder in sorted(base.glob("chains/*/keystore")):
        try:
            entries = Keystore(folder).entries()
        except (StoreError, OSError):
            continue
        keys |= {public: None for key_type, public in entries if key_type == PROVIDER and len(public) == 32}
    return list(keys)
