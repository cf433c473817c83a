"""Contracts of an EVM chain."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EvmAddresses"]


@dataclass(frozen=True, slots=True)
class EvmAddresses:
    """The contracts of one EVM chain, 20 bytes each; `tokens` maps the chain's assets to theirs."""

    chain_id: int
    key_manager: bytes
    vault: bytes
    tokens: tuple[tuple[str, bytes], ...]
    gateway: bytes = bytes(20)
