"""Frozen dataclasses of the chain's values: dev.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cfnode.core.addresses import EncodedAddress
from cfnode.core.scale import PythonForm

__all__ = ["Sighting", "Witnessed", "WitnessedDeposit", "WitnessedVaultDeposit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """`cfnode_dev::Sighting`."""

    deposit_address: EncodedAddress
    asset: str
    amount: int
    transaction: bytes
    is_final: bool


@dataclass(frozen=True, slots=True)
class WitnessedDeposit:
    """`cfnode_dev::Witnessed::Deposit`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class WitnessedVaultDeposit:
    """`cfnode_dev::Witnessed::VaultDeposit`."""

    value: bytes


Witnessed: TypeAlias = WitnessedDeposit | WitnessedVaultDeposit


FORMS: Mapping[str, PythonForm] = {
    "Sighting": Sighting,
    "Witnessed": {"Deposit": WitnessedDeposit, "VaultDeposit": WitnessedVaultDeposit},
}
