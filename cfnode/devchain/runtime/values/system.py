"""What are the values of system in Python?

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

AccountData = TypeVar("AccountData", covariant=True)
Nonce = TypeVar("Nonce", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountInfo(Generic[Nonce, AccountData]):
    """`frame_system::AccountInfo`."""

    nonce: Nonce
    consumers: int
    providers: int
    sufficients: int
    data: AccountData


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRuntimeUpgradeInfo:
    """`frame_system::LastRuntimeUpgradeInfo`."""

    spec_version: int
    spec_name: str
