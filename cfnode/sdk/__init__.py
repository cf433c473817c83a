"""Client library of Chainflip: the swap SDK, and the recovery of failed transfers.

It imports `clients`, `core` and `swaps` only.

    from cfnode.sdk import SwapSDK

    with SwapSDK(network="mainnet", broker={"url": "https://…", "commission_bps": 15}) as sdk:
        quotes = sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", 100_000_000)

`AsyncSwapSDK` has the same methods as coroutines, for trio and asyncio.
"""

from cfnode.sdk.client import AsyncSwapSDK, SwapSDK
from cfnode.sdk.errors import (
    BackendError,
    BadAnswer,
    BadStatus,
    ChainError,
    NoQuote,
    RpcCallError,
    SdkError,
    TimedOut,
    TransportError,
    Unreachable,
    ValidationError,
)
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.models.payout import FailedPayout
from cfnode.sdk.models.quote import Quote, QuoteCcmParams, QuoteResponse, QuotesResponse
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.models.status import SwapStatus, SwapStatusV1
from cfnode.sdk.names import Assets, Chains, Networks
from cfnode.sdk.options import BrokerOptions, Features, Options

__all__ = [
    "AffiliateBroker",
    "Assets",
    "AsyncSwapSDK",
    "BackendError",
    "BadAnswer",
    "BadStatus",
    "BrokerOptions",
    "CcmParams",
    "ChainError",
    "Chains",
    "DcaParams",
    "DepositAddress",
    "FailedPayout",
    "Features",
    "FillOrKillParams",
    "Networks",
    "NoQuote",
    "Options",
    "Quote",
    "QuoteCcmParams",
    "QuoteResponse",
    "QuotesResponse",
    "RpcCallError",
    "SdkError",
    "SwapSDK",
    "SwapStatus",
    "SwapStatusV1",
    "TimedOut",
    "TransportError",
    "Unreachable",
    "ValidationError",
]
