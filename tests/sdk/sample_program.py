"""A program that uses each call of both clients; its types are what `mypy --strict` is asked about."""

from __future__ import annotations

from decimal import Decimal
from typing import assert_type

from cfnode.sdk import (
    AffiliateBroker,
    AsyncSwapSDK,
    BrokerOptions,
    CcmParams,
    DepositAddress,
    Features,
    FillOrKillParams,
    Options,
    Quote,
    QuoteResponse,
    QuotesResponse,
    SdkError,
    SwapSDK,
    SwapStatus,
    SwapStatusV1,
    TransportError,
)
from cfnode.sdk.models.chain_info import AssetInfo, BoostLiquidity, ChainInfo, SwapLimits
from cfnode.sdk.models.vault_swap import VaultSwapData
from cfnode.sdk.recovery import CheckContracts, FailedCall, FetchFailedCall, FindFailedCalls, Payload

OPTIONS = Options(
    network="mainnet",
    broker=BrokerOptions("https://broker.example", commission_bps=15),
    enabled_features=Features(dca=True),
    default_refund_addresses={"Ethereum": "0xa56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF"},
)
TERMS = FillOrKillParams(
    refund_address="bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    retry_duration_blocks=100,
    slippage_tolerance_percent="1.5",
)
RECEIVER = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"


def swap(sdk: SwapSDK) -> str:
    """Quote, open a channel, and read its status."""
    quotes = assert_type(sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", 100_000_000), QuotesResponse)
    quote = quotes.dca or assert_type(quotes.regular, Quote)
    channel = assert_type(
        sdk.request_deposit_address_v2(
            quote.boost_quote or quote,
            RECEIVER,
            TERMS,
            broker_commission_bps=20,
            affiliate_brokers=[AffiliateBroker("cFHyJEHEQ1YkT9xuFnxnPWVkihpYEGjBg4WbF6vCPtSPQoE8n", 5)],
            ccm_params=CcmParams("0xdeadc0de", 125_000),
        ),
        DepositAddress,
    )
    expiry: int = channel.estimated_deposit_channel_expiry_time
    print(channel.deposit_address, expiry, channel.affiliate_brokers[0].commission_bps)
    assert_type(sdk.dev_announce(channel, amount=50_000_000), str)
    assert_type(sdk.dev_deposit(channel, amount="0.5"), str)
    for status in sdk.watch_status(channel.deposit_channel_id):
        assert_type(status, SwapStatus)
    assert_type(sdk.get_status_v2(channel.deposit_channel_id), SwapStatus)
    assert_type(sdk.get_status(channel.deposit_channel_id), SwapStatusV1)
    return channel.deposit_channel_id


def short_form(sdk: SwapSDK) -> Decimal:
    """Quote in the short form."""
    quote = assert_type(sdk.quote("BTC", "ETH", "0.1"), Quote)
    return assert_type(quote.whole_egress_amount, Decimal)


def older_forms(sdk: SwapSDK) -> None:
    """Use the older forms of quotes and channels."""
    answer = assert_type(sdk.get_quote("Bitcoin", "BTC", "Ethereum", "ETH", 100_000_000), QuoteResponse)
    assert_type(answer.quote, Quote)
    assert_type(
        sdk.request_deposit_address(
            "Bitcoin",
            "BTC",
            "Ethereum",
            "ETH",
            RECEIVER,
            amount=100_000_000,
            fill_or_kill_params=FillOrKillParams(TERMS.refund_address, 100, min_price="24.5"),
            max_boost_fee_bps=30,
        ),
        DepositAddress,
    )


def facts(sdk: SwapSDK) -> None:
    """Read chains, assets, fees and limits."""
    assert_type(sdk.get_chains("Bitcoin"), tuple[ChainInfo, ...])
    assert_type(sdk.get_assets(chain="Ethereum"), tuple[AssetInfo, ...])
    assert_type(sdk.get_swap_limits(), SwapLimits)
    assert_type(sdk.get_required_block_confirmations(), dict[str, int | None])
    assert_type(sdk.get_channel_opening_fees(), dict[str, int])
    assert_type(sdk.get_boost_liquidity(fee_tier_bps=5), tuple[BoostLiquidity, ...])


def vault_swap(sdk: SwapSDK) -> VaultSwapData:
    """Quote a vault swap, and encode it."""
    quotes = sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", 100_000_000, is_vault_swap=True)
    encoded = assert_type(sdk.encode_vault_swap_data(quotes.quotes[0], RECEIVER, TERMS), VaultSwapData)
    assert_type(sdk.dev_send_to_vault(encoded, 100_000_000, TERMS.refund_address), str)
    return encoded


def recovery(sdk: SwapSDK) -> None:
    """Use each call of the recovery."""
    offered = assert_type(sdk.call(FindFailedCalls("ethereum")), tuple[Payload, ...])
    failed = assert_type(sdk.call(FetchFailedCall("ethereum", offered[0].broadcast_id)), FailedCall)
    sdk.call(CheckContracts(failed, "https://ethereum.example"))


async def concurrently() -> None:
    """Use the client for coroutines."""
    async with AsyncSwapSDK(OPTIONS) as sdk:
        try:
            quotes = assert_type(
                await sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", 100_000_000), QuotesResponse
            )
            channel = assert_type(
                await sdk.request_deposit_address_v2(quotes.quotes[0], RECEIVER, TERMS), DepositAddress
            )
        except TransportError as error:
            print(error.code, error.retryable, error.sent)
        except SdkError as error:
            print(error.code, error.message)
        else:
            async for status in sdk.watch_status(channel.deposit_channel_id, seconds=6):
                print(status.state, status.is_final)
        assert_type(await sdk.get_assets(), tuple[AssetInfo, ...])
