"""Calls of the State Chain that wallets of other chains sign."""

from __future__ import annotations

from .calls import SOLANA_PREFIX, WalletCall, account_of
from .typed_data import DOMAIN, TypedData, Types

__all__ = ["DOMAIN", "SOLANA_PREFIX", "TypedData", "Types", "WalletCall", "account_of"]
