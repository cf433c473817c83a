"""Enums of chains, assets and networks, for completion in editors.

Each value is a plain string.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Assets", "Chains", "Networks"]


class Chains(StrEnum):
    """The chains of swaps."""

    Arbitrum = "Arbitrum"
    Assethub = "Assethub"
    Bitcoin = "Bitcoin"
    Bsc = "Bsc"
    Ethereum = "Ethereum"
    Polkadot = "Polkadot"
    Solana = "Solana"
    Tron = "Tron"


class Assets(StrEnum):
    """The symbols of assets; chain and symbol together name an asset (`Chains.Arbitrum`, `Assets.USDC`)."""

    BNB = "BNB"
    BTC = "BTC"
    CBBTC = "CBBTC"
    DOT = "DOT"
    ETH = "ETH"
    FLIP = "FLIP"
    SOL = "SOL"
    TRX = "TRX"
    USDC = "USDC"
    USDT = "USDT"
    WBTC = "WBTC"


class Networks(StrEnum):
    """The networks of a client; `dev` is a node on this machine."""

    mainnet = "mainnet"
    perseverance = "perseverance"
    sisyphos = "sisyphos"
    backspin = "backspin"
    dev = "dev"
