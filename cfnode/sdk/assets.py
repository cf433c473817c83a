"""Assets by chain and symbol, their display names, and the contracts of tokens.

Chain and symbol together name an asset (`Arbitrum`, `USDC`, in any case). Names, decimals, numbers and the
forms in which an asset may be given are those of `core.assets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from cfnode.core.assets import (
    ASSETS,
    AnyAsset,
    ForeignAsset,
    UnknownAsset,
    UnknownChain,
    UnknownName,
    asset_of,
    asset_on,
    chain_in_text,
    symbols_of,
    units,
)
from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.names import AssetName, AssetSymbol, ChainName
from cfnode.sdk.record import Record

__all__ = [
    "AssetRef",
    "asset_given",
    "asset_named",
    "asset_referred",
    "chain_named",
    "chain_of",
    "contract_address",
    "display_name",
    "name_of",
    "symbol_named",
    "symbol_of",
    "units",
    "wire_asset",
]

_NAMES = {
    "Eth": "Ether",
    "Flip": "FLIP",
    "Usdc": "USDC",
    "Usdt": "USDT",
    "Wbtc": "WBTC",
    "Cbbtc": "Coinbase Wrapped BTC",
    "Btc": "Bitcoin",
    "ArbUsdc": "Arbitrum USDC",
    "ArbUsdt": "Arbitrum USDT",
    "ArbEth": "Arbitrum Ether",
    "Sol": "Solana",
    "SolUsdc": "Solana USDC",
    "SolUsdt": "Solana USDT",
    "HubDot": "Assethub DOT",
    "HubUsdc": "Assethub USDC",
    "HubUsdt": "Assethub USDT",
    "Trx": "Tron",
    "TrxUsdt": "Tron USDT",
    "Bnb": "BNB",
    "BscUsdt": "Binance Bridged USDT",
    "Dot": "Polkadot",
}

_NETWORKS = ("backspin", "sisyphos", "perseverance", "mainnet")
_CONTRACTS = {
    "Flip": (
        "0x10C6E9530F1C1AF873a391030a1D9E8ed0630D26",
        "0xcD079EAB6B5443b545788Fd210C8800FEADd87fa",
        "0xdC27c60956cB065D19F08bb69a707E37b36d8086",
        "0x826180541412D574cf1336d22c0C0a287822678A",
    ),
    "Usdc": (
        "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0",
        "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
        "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    ),
    "Usdt": (
        "0x0DCd1Bf9A1b36cE34237eEaFef220932846BCD82",
        "0x27CEA6Eb8a21Aae05Eb29C91c5CA10592892F584",
        "0x27CEA6Eb8a21Aae05Eb29C91c5CA10592892F584",
        "0xdAC17F958D2ee523a2206206994597C13D831ec7",
    ),
    "Wbtc": (
        "0x67d269191c92Caf3cD7723F116c85e6E9bf55933",
        "0xaaf48bd21155efeff9ca3699659c96bc86539b49",
        "0xaaf48bd21155efeff9ca3699659c96bc86539b49",
        "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
    ),
    "Cbbtc": (
        "0xE6E340D132b5f46d1e472DebcD681B2aBc16e57E",
        "0xcbB7C0006F23900c38EB856149F799620fcb8A4a",
        "0xcbB7C0006F23900c38EB856149F799620fcb8A4a",
        "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf",
    ),
    "ArbUsdc": (
        "0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9",
        "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d",
        "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d",
        "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
    ),
    "ArbUsdt": (
        "0x9A676e781A523b5d0C0e43731313A708CB607508",
        "0x3dd1A7A99CFa2554Da8b3483e6eD739120Fc35cB",
        "0x3dd1A7A99CFa2554Da8b3483e6eD739120Fc35cB",
        "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
    ),
    "SolUsdc": (
        "24PNhTaNtomHhoy3fTRaMhAFCRj4uHqhZEEoWrKDbR5p",
        "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
    ),
    "SolUsdt": (
        "8D5DryH5hA6s7Wf5AHXX19pNBwaTmMmvj4UgQGW2S8dF",
        "FvuqJYh8YeEmarW5qkSrYeEgzaTKktgL3vhgBy2Csy4o",
        "FvuqJYh8YeEmarW5qkSrYeEgzaTKktgL3vhgBy2Csy4o",
        "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB",
    ),
    "TrxUsdt": (
        "TWLpd9LSUJgdVcqxrg2MYnXq7Spkx5r9oz",
        "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf",
        "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf",
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
    ),
    "BscUsdt": (
        "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9",
        "0x337610d27c682E347C9cD60BD4b3b107C9d34dDd",
        "0x337610d27c682E347C9cD60BD4b3b107C9d34dDd",
        "0x55d398326f99059fF775485246999027B3197955",
    ),
}


@dataclass(frozen=True)
class AssetRef(Record):
    """An asset in JSON documents: `{"chain": "Ethereum", "asset": "ETH"}`."""

    chain: ChainName
    asset: AssetSymbol


def asset_referred(reference: AssetRef, field: str) -> ForeignAsset:
    """Return the asset of a reference; raise ValidationError for an unknown pair of chain and symbol."""
    return _asset(reference.chain, reference.asset, f"{field}.chain", f"{field}.asset")


def asset_named(chain: Any, symbol: Any, side: str) -> ForeignAsset:
    """Return the asset of a chain and a symbol, given as `<side>_chain` and `<side>_asset`.

    Raises ValidationError for an unknown chain, or an unknown asset of the chain.
    """
    return _asset(chain, symbol, f"{side}_chain", f"{side}_asset")


def asset_given(asset: AnyAsset, field: str) -> ForeignAsset:
    """Return the asset that a caller gives in any of its forms (`core.assets`). Raises ValidationError."""
    try:
        return asset_of(asset)
    except UnknownName as error:
        raise ValidationError.at(field, str(error)) from None


def _asset(chain: Any, symbol: Any, chain_field: str, symbol_field: str) -> ForeignAsset:
    try:
        if chain is not None and symbol is not None:
            return asset_on(str(chain), str(symbol))
    except UnknownChain as error:
        raise _unknown(error, chain_field) from None
    except UnknownAsset as error:
        raise _unknown(error, symbol_field) from None
    chain_named(chain, chain_field)
    symbol_named(symbol, chain, symbol_field)
    raise ValidationError.at(chain_field if chain is None else symbol_field, "Required")


def chain_named(chain: Any, field: str) -> str | None:
    """Return the chain of a name in any case; None is any chain. Raises ValidationError."""
    try:
        return None if chain is None else chain_in_text(str(chain)).name
    except UnknownChain as error:
        raise _unknown(error, field) from None


def symbol_named(symbol: Any, chain: str | None, field: str) -> str | None:
    """Return the symbol of a name in any case, on a chain or (None) on any; None is any asset.

    Raises ValidationError for a symbol that the chain lacks.
    """
    if symbol is None:
        return None
    if chain is not None:
        return _asset(chain, symbol, field, field).symbol
    text, known = str(symbol).strip().upper(), symbols_of(None)
    if text not in known:
        raise ValidationError.at(field, unknown_value("asset", symbol, known))
    return text


def _unknown(error: UnknownName, field: str) -> ValidationError:
    return ValidationError.at(field, unknown_value(error.kind, error.name, error.known))


def chain_of(asset: ForeignAsset) -> ChainName:
    """Return the chain of an asset, in the type of the SDK's records."""
    return cast("ChainName", asset.chain)


def symbol_of(asset: ForeignAsset) -> AssetSymbol:
    """Return the symbol of an asset, in the type of the SDK's records."""
    return cast("AssetSymbol", asset.symbol)


def name_of(asset: ForeignAsset) -> AssetName:
    """Return the name of an asset, in the type of the SDK's orders."""
    return cast("AssetName", asset.name)


def wire_asset(asset: ForeignAsset) -> dict[str, str]:
    """Return an asset in the format of brokers and the swap service."""
    return {"asset": asset.symbol, "chain": asset.chain}


def display_name(asset: ForeignAsset) -> str:
    """Return the display name of an asset: `Arbitrum USDC`."""
    return _NAMES[asset.name]


def contract_address(asset: ForeignAsset, tokens: str) -> str | None:
    """Return the token contract on a network; None for a chain's own coin, or an asset without one."""
    addresses = _CONTRACTS.get(asset.name)
    return addresses[_NETWORKS.index(tokens)] if addresses else None


assert set(_NAMES) == set(ASSETS), "every asset of the core has a name"
