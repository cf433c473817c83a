"""Frozen dataclasses of the chain's values: fees.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.scale import PythonForm

__all__ = [
    "ArbitrumTrackedData",
    "AssethubTrackedData",
    "BitcoinFeeInfo",
    "BitcoinTrackedData",
    "BscTrackedData",
    "ChainState",
    "DotRuntimeVersion",
    "EthereumTrackedData",
    "PolkadotTrackedData",
    "SolTrackedData",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DotRuntimeVersion:
    """`cf_chains::RuntimeVersion`."""

    spec_version: int
    transaction_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EthereumTrackedData:
    """`cf_chains::EthereumTrackedData`."""

    base_fee: int
    priority_fee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbitrumTrackedData:
    """`cf_chains::ArbitrumTrackedData`."""

    base_fee: int
    l1_base_fee_estimate: int


@dataclass(frozen=True, slots=True)
class BscTrackedData:
    """`cf_chains::BscTrackedData`."""

    priority_fee: int


@dataclass(frozen=True, slots=True)
class BitcoinFeeInfo:
    """`cf_chains::BitcoinFeeInfo`."""

    sats_per_kilobyte: int


@dataclass(frozen=True, slots=True)
class BitcoinTrackedData:
    """`cf_chains::BitcoinTrackedData`."""

    btc_fee_info: BitcoinFeeInfo


@dataclass(frozen=True, slots=True)
class SolTrackedData:
    """`cf_chains::SolTrackedData`."""

    priority_fee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolkadotTrackedData:
    """`cf_chains::PolkadotTrackedData`."""

    median_tip: int
    runtime_version: DotRuntimeVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class AssethubTrackedData:
    """`cf_chains::AssethubTrackedData`."""

    median_tip: int
    runtime_version: DotRuntimeVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainState:
    """`cf_chains::ChainState`."""

    block_height: int
    tracked_data: (
        EthereumTrackedData
        | PolkadotTrackedData
        | BitcoinTrackedData
        | ArbitrumTrackedData
        | SolTrackedData
        | AssethubTrackedData
        | tuple[()]
        | BscTrackedData
    )


FORMS: Mapping[str, PythonForm] = {
    "ArbitrumTrackedData": ArbitrumTrackedData,
    "AssethubTrackedData": AssethubTrackedData,
    "BitcoinFeeInfo": BitcoinFeeInfo,
    "BitcoinTrackedData": BitcoinTrackedData,
    "BscTrackedData": BscTrackedData,
    "ChainStateArbitrum": ChainState,
    "ChainStateAssethub": ChainState,
    "ChainStateBitcoin": ChainState,
    "ChainStateBsc": ChainState,
    "ChainStateEthereum": ChainState,
    "ChainStatePolkadot": ChainState,
    "ChainStateSolana": ChainState,
    "ChainStateTron": ChainState,
    "EthereumTrackedData": EthereumTrackedData,
    "PolkadotTrackedData": PolkadotTrackedData,
    "SolTrackedData": SolTrackedData,
    "dot::RuntimeVersion": DotRuntimeVersion,
}
