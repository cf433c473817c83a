"""Client library of Chainflip: quotes, deposit channels, vault swaps, and statuses of swaps.

    from cfnode.sdk import SwapSDK

    with SwapSDK(network="dev") as sdk:
        quotes = sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", 100_000_000)
        print(quotes.regular.egress_amount)

`AsyncSwapSDK` has the same methods as coroutines, for trio and asyncio. The recovery of failed transfers
is in `cfnode.sdk.recovery`, the library for market makers in `cfnode.sdk.lp`.
"""

from cfnode.core.assets import AnyAsset
from cfnode.sdk.assets import AssetRef
from cfnode.sdk.calls import Call
from cfnode.sdk.client import AsyncSwapSDK, SwapSDK
from cfnode.sdk.errors import (
    BackendError,
    BadAnswer,
    BadStatus,
    ChainError,
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
from cfnode.sdk.names import Assets, Chains, Networks
from cfnode.sdk.options import BrokerOptions, Features, Options
from cfnode.sdk.record import Number
from cfnode.sdk.subscriptions import subscription
from cfnode.swaps.fate import Fate

__all__ = [
    "AffiliateBroker",
    "AnyAsset",
    "AssetInfo",
    "AssetRef",
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
    "Chains",
    "Chunk",
    "DcaParams",
    "DcaProgress",
    "Deposit",
    "DepositAddress",
    "DepositChannel",
    "Durations",
    "Egress",
    "EvmVaultSwap",
    "FailedPayout",
    "Failure",
    "Fate",
    "Features",
    "Fee",
    "FillOrKillParams",
    "Issue",
    "Networks",
    "NoQuote",
    "Number",
    "Options",
    "PoolFee",
    "PoolInfo",
    "Quote",
    "QuoteCcmParams",
    "QuoteResponse",
    "QuotesResponse",
    "RpcCallError",
    "SdkError",
    "SolanaAccount",
    "SolanaVaultSwap",
    "StatusFillOrKill",
    "SwapLimits",
    "SwapProgress",
    "SwapSDK",
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
