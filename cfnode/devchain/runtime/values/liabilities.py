"""Frozen dataclasses of the chain's values: liabilities.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cfnode.core.addresses import ForeignAddress
from cfnode.core.scale import PythonForm

__all__ = ["ExternalOwner", "ExternalOwnerAccount"]


@dataclass(frozen=True, slots=True)
class ExternalOwnerAccount:
    """`pallet_cf_asset_balances::ExternalOwner::Account`."""

    value: ForeignAddress


ExternalOwner: TypeAlias = Literal["Vault", "AggKey"] | ExternalOwnerAccount


FORMS: Mapping[str, PythonForm] = {
    "ExternalOwner": {"Account": ExternalOwnerAccount},
}
