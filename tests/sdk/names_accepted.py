# pyright: strict
"""A program with every form of a valid name, which type checkers accept."""

from __future__ import annotations

from decimal import Decimal
from typing import assert_never

from cfnode.sdk import (
    Asset,
    Assets,
    AsyncSwapSDK,
    ChainName,
    Chains,
    DepositAddress,
    ErrorCode,
    Networks,
    Options,
    SdkError,
    SwapSDK,
    SwapState,
    SwapStatus,
)
from cfnode.sdk.lp import LimitOrder, LiquidityProvider, price_of_tick, whole_units


def networks(text: str) -> list[SwapSDK]:
    """Name networks as words, members, and members of a text."""
    return [SwapSDK(network="mainnet"), SwapSDK(network=Networks.dev), SwapSDK(network=Networks(text))]


def quotes(sdk: SwapSDK, text: str) -> None:
    """Name chains and assets of quotes."""
    sdk.get_quote_v2("Bitcoin", "BTC", "Arbitrum", "USDC", 100_000_000)
    sdk.get_quote_v2(Chains.Bitcoin, Assets.BTC, Chains(text), Assets(text), 100_000_000)
    sdk.quote("BTC", "ETH", "0.1")
    sdk.quote("Btc", "ArbUsdc", Decimal("0.1"))
    sdk.quote("Bitcoin/BTC", Asset.ArbUsdc, 10_000_000)
    sdk.quote(Asset(text), Asset.Eth, "0.1")


def again(sdk: SwapSDK, channel: DepositAddress) -> ChainName:
    """Name chains and assets out of an answer."""
    sdk.get_quote_v2(channel.src_chain, channel.src_asset, channel.dest_chain, channel.dest_asset, 1)
    return channel.src_chain if channel.src_chain == "Bitcoin" else Chains.Ethereum


def refunds() -> Options:
    """Name chains of refund addresses."""
    return Options(network="dev", default_refund_addresses={"Bitcoin": "bc1q", Chains.Ethereum: "0x"})


def meaning(status: SwapStatus) -> str:
    """Compare the state of a swap with each of its words."""
    state: SwapState = status.state
    match state:
        case "WAITING" | "RECEIVING":
            return "deposit"
        case "SWAPPING":
            return "pools"
        case "SENDING" | "SENT":
            return "payout"
        case "COMPLETED" | "FAILED":
            return "over"
    assert_never(state)


def failed(error: SdkError) -> bool:
    """Compare an error code with its words."""
    code: ErrorCode = error.code
    return code == "TIMEOUT" or error.code in ("UNREACHABLE", "CHAIN")


def orders(lp: LiquidityProvider) -> None:
    """Name assets and sides of orders."""
    order = LimitOrder("BTC", "sell", 1, "0.5", price="100100")
    lp.set_orders([order, LimitOrder(Asset.ArbEth, "buy", 2, "100", tick=0, quote="Usdc")])
    lp.get_book(order.asset)
    print(price_of_tick(order.tick, order.asset, order.quote), whole_units(1, order.sold_asset))


async def awaited(sdk: AsyncSwapSDK) -> None:
    """Name assets at the client for coroutines."""
    await sdk.quote("Sol", "Ethereum/FLIP", "1.5")
