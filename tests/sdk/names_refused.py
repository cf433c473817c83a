# pyright: strict
"""A program with mistyped names: type checkers refuse each line that is marked, and no other."""

from __future__ import annotations

from cfnode.sdk import Asset, AsyncSwapSDK, Chains, Options, SdkError, SwapSDK, SwapState, SwapStatus
from cfnode.sdk.lp import LimitOrder, LiquidityProvider, price_of_tick


def networks() -> None:
    """Name networks and chains that do not exist."""
    SwapSDK(network="mainet")  # refused
    Options(network="mainet")  # refused
    Options(default_refund_addresses={"Bitcon": "bc1q"})  # refused


def quotes(sdk: SwapSDK) -> None:
    """Name chains and assets that do not exist."""
    sdk.get_quote_v2("Bitcon", "BTC", "Ethereum", "ETH", 1)  # refused
    sdk.get_quote_v2("Bitcoin", "BTX", "Ethereum", "ETH", 1)  # refused
    sdk.get_quote("Bitcoin", "BTC", "Etherum", "ETH", 1)  # refused
    sdk.get_assets("Bitcon")  # refused
    sdk.get_boost_liquidity(asset="BTX")  # refused
    sdk.quote("BTX", "ETH", "0.1")  # refused
    sdk.quote("BTC", "Arbitrum/USDX", "0.1")  # refused
    sdk.quote("BTC", "ETH", 0.1)  # refused
    print(Chains.Bitcon)  # refused


async def awaited(sdk: AsyncSwapSDK) -> None:
    """Name an asset that does not exist, at the client for coroutines."""
    await sdk.quote("BTC", "ETX", "0.1")  # refused


def states(status: SwapStatus, error: SdkError) -> bool:
    """Compare with words that no state or error has."""
    state: SwapState = "COMPLETD"  # refused
    if error.code == "TIMEDOUT":  # refused
        return False
    if status.state == "COMPLETE":  # refused
        return False
    return status.state == state


def orders(lp: LiquidityProvider) -> None:
    """Name assets and sides that do not exist."""
    LimitOrder("BTX", "sell", 1, "0.5", price="100100")  # refused
    LimitOrder("BTC", "sel", 1, "0.5", price="100100")  # refused
    lp.get_book("BTX")  # refused
    price_of_tick(0, "BTX")  # refused
    print(Asset.Btx)  # refused
