"""Session of a market maker's client: its node, its account, and when its calls answer."""

from __future__ import annotations

import os
import time
from typing import Literal, TypeAlias

from cfnode.core import ss58
from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.options import ClientSession, Options

__all__ = ["ProviderSession", "WaitFor", "account_of", "provider_session"]

WaitFor: TypeAlias = Literal["InBlock", "Finalized", "NoWait"]
"""When a call that changes orders answers: in a block, in a final block, or in the pool."""
_WAITS = ("InBlock", "Finalized", "NoWait")


class ProviderSession(ClientSession):
    """The session of a market maker's client; `wait_for` is when a change of orders answers."""

    def __init__(self, options: Options, account: str | None, wait_for: str) -> None:
        super().__init__(
            options,
            now_ms=lambda: time.time_ns() // 1_000_000,
            monotonic=time.monotonic,
            random_bytes=os.urandom,
        )
        self._account = account
        self.wait_for = wait_for

    @property
    def account(self) -> str:
        """The address of the node's liquidity provider; raises ValidationError if the client has none."""
        if self._account is None:
            raise ValidationError.at(
                "account", "give the client the address of the node's liquidity provider"
            )
        return self._account


def account_of(session: ClientSession) -> str:
    """Return the address of the node's liquidity provider; raise ValidationError if the client has none."""
    assert isinstance(session, ProviderSession), "the session of a LiquidityProvider"
    return session.account


def provider_session(
    url: str,
    account: str | None,
    token: str | None,
    token_file: str | os.PathLike[str] | None,
    timeout: float,
    wait_for: str,
) -> ProviderSession:
    """Return the session of a client; raise ValidationError with the argument's name."""
    if wait_for not in _WAITS:
        raise ValidationError.at("wait_for", unknown_value("wait_for", wait_for, _WAITS))
    options = {
        "network": "dev",
        "rpc_url": url,
        "rpc_token": token,
        "rpc_token_file": token_file,
        "timeout": timeout,
    }
    return ProviderSession(
        Options().replaced(options), None if account is None else _checked_account(account), wait_for
    )


def _checked_account(account: object) -> str:
    try:
        return ss58.encode(ss58.decode(str(account))[1])
    except ss58.Ss58Error:
        text = f"expected the SS58 address of the node's liquidity provider, not {account!r:.60}"
        raise ValidationError.at("account", text) from None
