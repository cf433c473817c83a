"""Client library of Chainflip: quotes, deposit channels, vault swaps, and statuses of swaps.

    from cfnode.sdk import SwapSDK

    with SwapSDK(network="dev") as sdk:
        quote = sdk.quote("BTC", "ETH", "0.1")
        print(quote.whole_egress_amount, "ETH")

`AsyncSwapSDK` has the same methods as coroutines, for trio and asyncio. The recovery of failed transfers
is in `cfnode.sdk.recovery`, the library for market makers in `cfnode.sdk.lp`.
"""

from cfnode.core.assets import AnyAsset, ForeignAsset
from cfnode.sdk.amounts import Quantity
from cfnode.sdk.assets import AssetRef
from cfnode.sdk.calls import Call
from cfnode.sdk.client import AsyncSwapSDK, SwapSDK
from cfnode.sdk.errors import (
    BackendError,
    BadAnswer,
    BadStatus,
    ChainError,
    ClientClosed,
    ErrorCode,
    Issue,
    NoQuote,
    RpcCallError,
    SdkError,
    TimedOut,
    TransportError,
    Unreachable,
    ValidationError,
)
from cfnode.sdk.models.chain_info import AssetInfo, BoostLiquidity, ChainInfo, SwapLimits
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.models.payout import FailedPayout
from cfnode.sdk.models.quote import (
    Durations,
    Fee,
    PoolFee,
    PoolInfo,
    Quote,
    QuoteCcmParams,
    QuoteResponse,
    QuotesResponse,
)
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.models.status import (
    Boost,
    BrokerShare,
    Chunk,
    DcaProgress,
    DepositChannel,
    StatusCcm,
    StatusFillOrKill,
    SwapProgress,
    SwapStatus,
    SwapStatusV1,
)
from cfnode.sdk.models.transfer import Deposit, Egress, Failure, Transfer
from cfnode.sdk.models.vault_swap import (
    BitcoinVaultSwap,
    EvmVaultSwap,
    SolanaAccount,
    SolanaVaultSwap,
    TronVaultSwap,
    VaultSwapData,
)
from cfnode.sdk.names import (
    Asset,
    AssetName,
    Assets,
    AssetSymbol,
    ChainName,
    Chains,
    FailureMode,
    FeeKind,
    NetworkName,
    Networks,
    QuoteKind,
    SwapState,
    SwapStateV1,
)
from cfnode.sdk.options import BrokerOptions, Features, Options
from cfnode.sdk.record import Number
from cfnode.sdk.subscriptions import subscription
from cfnode.swaps.fate import Fate

__all__ = [
    "AffiliateBroker",
    "AnyAsset",
    "Asset",
    "AssetInfo",
    "AssetName",
    "AssetRef",
    "AssetSymbol",
    "Assets",
    "AsyncSwapSDK",
    "BackendError",
    "BadAnswer",
    "BadStatus",
    "BitcoinVaultSwap",
    "Boost",
    "BoostLiquidity",
    "BrokerOptions",
    "BrokerShare",
    "Call",
    "CcmParams",
    "ChainError",
    "ChainInfo",
    "ChainName",
    "Chains",
    "Chunk",
    "ClientClosed",
    "DcaParams",
    "DcaProgress",
    "Deposit",
    "DepositAddress",
    "DepositChannel",
    "Durations",
    "Egress",
    "ErrorCode",
    "EvmVaultSwap",
    "FailedPayout",
    "Failure",
    "FailureMode",
    "Fate",
    "Features",
    "Fee",
    "FeeKind",
    "FillOrKillParams",
    "ForeignAsset",
    "Issue",
    "NetworkName",
    "Networks",
    "NoQuote",
    "Number",
    "Options",
    "PoolFee",
    "PoolInfo",
    "Quantity",
    "Quote",
    "QuoteCcmParams",
    "QuoteKind",
    "QuoteResponse",
    "QuotesResponse",
    "RpcCallError",
    "SdkError",
    "SolanaAccount",
    "SolanaVaultSwap",
    "StatusCcm",
    "StatusFillOrKill",
    "SwapLimits",
    "SwapProgress",
    "SwapSDK",
    "SwapState",
    "SwapStateV1",
    "SwapStatus",
    "SwapStatusV1",
    "TimedOut",
    "Transfer",
    "TransportError",
    "TronVaultSwap",
    "Unreachable",
    "ValidationError",
    "VaultSwapData",
    "subscription",
]
