"""Frozen dataclasses of the chain's values: oracle.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.scale import PythonForm

__all__ = ["OraclePrice", "OracleReading"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleReading:
    """`cfnode_dev::OracleReading`."""

    price: int
    read_at: int
    block: int
    is_stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OraclePrice:
    """`pallet_cf_elections::OraclePrice`."""

    price: int
    updated_at_oracle_timestamp: int
    updated_at_statechain_block: int
    base_asset: str
    quote_asset: str
    price_status: str


FORMS: Mapping[str, PythonForm] = {
    "OraclePrice": OraclePrice,
    "OracleReading": OracleReading,
}
