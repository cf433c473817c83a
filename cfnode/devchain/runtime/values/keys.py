"""Frozen dataclasses of the chain's values: keys.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.scale import PythonForm

__all__ = ["BtcAggKey", "EvmAggKey", "SchnorrVerificationComponents", "SessionKeys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmAggKey:
    """`cf_chains::AggKey`."""

    pub_key_x: bytes
    pub_key_y_parity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BtcAggKey:
    """`cf_chains::AggKey`."""

    previous: bytes | None
    current: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SchnorrVerificationComponents:
    """`cf_chains::SchnorrVerificationComponents`."""

    s: bytes
    k_times_g_address: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKeys:
    """`state_chain_runtime::SessionKeys`."""

    aura: bytes
    grandpa: bytes


FORMS: Mapping[str, PythonForm] = {
    "SchnorrVerificationComponents": SchnorrVerificationComponents,
    "SessionKeys": SessionKeys,
    "btc::AggKey": BtcAggKey,
    "evm::AggKey": EvmAggKey,
}
