"""The contracts of a local EVM chain: where they stand, and the key that they know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.assets import ASSETS
from cfnode.core.vault_calls import NATIVE_TOKEN

__all__ = ["Contracts"]


@dataclass(frozen=True, slots=True)
class Contracts:
    """The contracts that a development chain's payloads on one EVM chain are for.

    Addresses have 20 bytes, `aggregate_key` 33 (compressed); `tokens` are by asset.
    """

    chain_id: int
    key_manager: bytes
    vault: bytes
    aggregate_key: bytes
    tokens: Mapping[str, bytes]

    @property
    def tokens_by_symbol(self) -> dict[str, bytes]:
        """The address of each token, without the chain's own coin."""
        return {ASSETS[name].symbol: at for name, at in self.tokens.items() if at != NATIVE_TOKEN}
