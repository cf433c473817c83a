"""Chains and assets that can be swapped, their limits, and the liquidity of boost pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cfnode.sdk.names import AssetSymbol, ChainName
from cfnode.sdk.record import NULLABLE, Amount, Record

__all__ = ["AssetInfo", "BoostLiquidity", "ChainInfo", "SwapLimits"]


@dataclass(frozen=True)
class ChainInfo(Record):
    """A chain. `required_block_confirmations` is None if deposits count at once."""

    chain: ChainName
    name: str
    is_mainnet: bool
    evm_chain_id: int | None = None
    required_block_confirmations: int | None = None
    max_retry_duration_blocks: int | None = None


@dataclass(frozen=True)
class AssetInfo(Record):
    """An asset and its limits in base units; `maximum_swap_amount` None means unlimited."""

    chainflip_id: str
    asset: AssetSymbol
    chain: ChainName
    decimals: int
    name: str
    symbol: AssetSymbol
    is_mainnet: bool
    minimum_swap_amount: Amount
    minimum_egress_amount: Amount
    maximum_swap_amount: Amount | None = field(default=None, metadata=NULLABLE)
    contract_address: str | None = None


@dataclass(frozen=True)
class SwapLimits(Record):
    """Limits in base units by chain and symbol; a maximum of None means unlimited."""

    minimum_swap_amounts: Mapping[str, Mapping[str, Amount]]
    maximum_swap_amounts: Mapping[str, Mapping[str, Amount | None]]


@dataclass(frozen=True)
class BoostLiquidity(Record):
    """The liquidity of a boost pool, at its fee tier."""

    fee_tier_bps: int
    available_amount: Amount
    asset: AssetSymbol
    chain: ChainName
