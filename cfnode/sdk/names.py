"""Names of chains, assets, networks and states, as enums for editors and as types for type checkers.

Every name is a plain string: `"Bitcoin"`, `Chains.Bitcoin` and `Chains("bitcoin")` are equal. A type checker
refuses a mistyped literal. A text that only the running program knows becomes a name by its enum, which takes
any case and raises ValidationError for an unknown name. A newer service may return names that are not here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self, TypeAlias

from cfnode.core.assets import ASSETS, UnknownName, asset_in_text
from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import ValidationError

__all__ = [
    "Asset",
    "AssetName",
    "AssetSymbol",
    "Assets",
    "ChainName",
    "Chains",
    "FailureMode",
    "FeeKind",
    "NetworkName",
    "Networks",
    "QuoteKind",
    "SwapState",
    "SwapStateV1",
]


class _Names(StrEnum):
    """Base of the enums, which read a name in any case."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        for name in cls:
            if name.lower() == str(value).strip().lower():
                return name
        kind = cls.__name__.removesuffix("s").lower()
        raise ValidationError.at(kind, unknown_value(kind, value, list(cls)))


class Chains(_Names):
    """The chains of swaps."""

    Arbitrum = "Arbitrum"
    Assethub = "Assethub"
    Bitcoin = "Bitcoin"
    Bsc = "Bsc"
    Ethereum = "Ethereum"
    Polkadot = "Polkadot"
    Solana = "Solana"
    Tron = "Tron"


class Assets(_Names):
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


class Asset(_Names):
    """The assets by their own names; `Asset("arbitrum/usdc")` reads every form that `AssetName` lists."""

    Eth = "Eth"
    Flip = "Flip"
    Usdc = "Usdc"
    Dot = "Dot"
    Btc = "Btc"
    ArbEth = "ArbEth"
    ArbUsdc = "ArbUsdc"
    Usdt = "Usdt"
    Sol = "Sol"
    SolUsdc = "SolUsdc"
    HubDot = "HubDot"
    HubUsdt = "HubUsdt"
    HubUsdc = "HubUsdc"
    Wbtc = "Wbtc"
    ArbUsdt = "ArbUsdt"
    SolUsdt = "SolUsdt"
    Trx = "Trx"
    TrxUsdt = "TrxUsdt"
    Bnb = "Bnb"
    BscUsdt = "BscUsdt"
    Cbbtc = "Cbbtc"

    @classmethod
    def _missing_(cls, value: object) -> Self:
        try:
            return cls(asset_in_text(str(value)).name)
        except UnknownName as error:
            raise ValidationError.at("asset", str(error)) from None

    @property
    def chain(self) -> Chains:
        """The chain of the asset."""
        return Chains(ASSETS[self].chain)

    @property
    def symbol(self) -> Assets:
        """The symbol of the asset on its chain."""
        return Assets(ASSETS[self].symbol)

    @property
    def decimals(self) -> int:
        """The number of digits of the smallest unit."""
        return ASSETS[self].decimals


class Networks(_Names):
    """The networks of a client; `dev` is a node on this machine."""

    mainnet = "mainnet"
    perseverance = "perseverance"
    sisyphos = "sisyphos"
    backspin = "backspin"
    dev = "dev"


ChainName: TypeAlias = (
    Chains | Literal["Arbitrum", "Assethub", "Bitcoin", "Bsc", "Ethereum", "Polkadot", "Solana", "Tron"]
)
"""The name of a chain."""
AssetSymbol: TypeAlias = (
    Assets | Literal["BNB", "BTC", "CBBTC", "DOT", "ETH", "FLIP", "SOL", "TRX", "USDC", "USDT", "WBTC"]
)
"""The symbol of an asset on its chain."""
AssetName: TypeAlias = (
    Asset
    | Literal["ETH", "FLIP", "USDC", "DOT", "BTC", "USDT", "SOL", "WBTC", "TRX", "BNB", "CBBTC"]
    | Literal[
        "Eth",
        "Flip",
        "Usdc",
        "Dot",
        "Btc",
        "ArbEth",
        "ArbUsdc",
        "Usdt",
        "Sol",
        "SolUsdc",
        "HubDot",
        "HubUsdt",
        "HubUsdc",
        "Wbtc",
        "ArbUsdt",
        "SolUsdt",
        "Trx",
        "TrxUsdt",
        "Bnb",
        "BscUsdt",
        "Cbbtc",
    ]
    | Literal[
        "Ethereum/ETH",
        "Ethereum/FLIP",
        "Ethereum/USDC",
        "Polkadot/DOT",
        "Bitcoin/BTC",
        "Arbitrum/ETH",
        "Arbitrum/USDC",
        "Ethereum/USDT",
        "Solana/SOL",
        "Solana/USDC",
        "Assethub/DOT",
        "Assethub/USDT",
        "Assethub/USDC",
        "Ethereum/WBTC",
        "Arbitrum/USDT",
        "Solana/USDT",
        "Tron/TRX",
        "Tron/USDT",
        "Bsc/BNB",
        "Bsc/USDT",
        "Ethereum/CBBTC",
    ]
)
"""An asset in one text: its own name, with or without capitals, or chain and symbol."""
NetworkName: TypeAlias = Networks | Literal["mainnet", "perseverance", "sisyphos", "backspin", "dev"]
"""The name of a network."""
SwapState: TypeAlias = Literal["WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED", "FAILED"]
"""The state of a swap."""
SwapStateV1: TypeAlias = Literal[
    "AWAITING_DEPOSIT",
    "DEPOSIT_RECEIVED",
    "SWAP_EXECUTED",
    "EGRESS_SCHEDULED",
    "BROADCAST_REQUESTED",
    "BROADCASTED",
    "BROADCAST_ABORTED",
    "COMPLETE",
    "FAILED",
]
"""The state of a swap in the older, flat status."""
QuoteKind: TypeAlias = Literal["REGULAR", "DCA"]
"""The kind of a quote: at once, or in chunks."""
FeeKind: TypeAlias = Literal["BOOST", "INGRESS", "NETWORK", "BROKER", "EGRESS", "LIQUIDITY", "REFUND"]
"""The kind of a fee."""
FailureMode: TypeAlias = Literal[
    "DEPOSIT_IGNORED",
    "DEPOSIT_REJECTED",
    "SWAP_OUTPUT_TOO_SMALL",
    "REFUND_OUTPUT_TOO_SMALL",
    "SENDING_FAILED",
]
"""What failed: the deposit, the amount to pay out, or the sending of the payout."""
