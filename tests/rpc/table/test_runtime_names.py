"""Which assets and chains a node lists and takes: those of each block's runtime, across an upgrade."""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import CHAINS, assets_since
from cfnode.rpc.table.convert import account
from tests.rpc.conftest import MakeServed, Served, first_block
from tests.rpc.samples import ACCOUNT, BTC, ETH, EVM_ADDRESS, REFUND, USDC
from tests.support.rpc.backend import CHANNEL, get, post, quote_query

BNB = {"chain": "Bsc", "asset": "BNB"}
CBBTC = {"chain": "Ethereum", "asset": "CBBTC"}
OLD_CHAINS = "`Ethereum`, `Polkadot`, `Bitcoin`, `Arbitrum`, `Solana`, `Assethub`, `Tron`"
NOT_AN_ASSET = (
    'Expected a valid asset specifier. Assets should be specified as upper-case strings, e.g. `"ETH"`, '
    'and can be optionally distinguished by chain, e.g. `{ chain: "Ethereum", asset: "ETH" }.'
)
ORDER = {"LimitOrder": {"base_asset": BNB, "quote_asset": USDC, "side": "buy", "tick": 0, "sell_amount": 1}}
ASSET_CALLS: dict[str, list[Any]] = {
    "cf_max_swap_amount": [BNB],
    "cf_pool_price": [BNB, USDC],
    "cf_pool_info": [ETH, CBBTC],
    "cf_boost_pool_details": [BNB],
    "cf_swap_rate_v3": [BNB, BTC, "0x1", 0],
    "cf_lending_pools": [CBBTC],
    "cf_encode_cf_parameters": [ACCOUNT, ETH, BNB, EVM_ADDRESS, 0, REFUND],
    "broker_requestSwapDepositAddress": [BTC, CBBTC, EVM_ADDRESS, 0, None, 0, None, REFUND],
    "dev_setPool": [BNB, 1],
}
CHAIN_CALLS = "cf_controlled_vault_addresses", "cf_ingress_egress_events", "dev_abortBroadcast"


async def maps_by_asset(served: Served, at: str | None) -> list[dict[str, dict[str, Any]]]:
    """Return the maps from each place in which an answer has one value for each asset."""
    assert served.node.broker is not None
    broker = await served.call("cf_account_info", account(served.node.broker.account), at)
    environment = await served.call("cf_environment", at)
    ingress, swapping = environment["ingress_egress"], environment["swapping"]
    limits = await served.call("cf_get_trading_strategy_limits", at)
    return [
        await served.call("cf_free_balances", ACCOUNT, at),
        broker["asset_balances"],
        broker["earned_fees"],
        *(ingress[name] for name in ("minimum_deposit_amounts", "ingress_fees", "egress_fees")),
        *(ingress[name] for name in ("egress_dust_limits", "boost_minimum_add_funds_amounts")),
        *(swapping[name] for name in ("maximum_swap_amounts", "minimum_chunk_size")),
        swapping["default_oracle_price_protection"],
        environment["pools"]["fees"],
        limits["minimum_deployment_amount"],
    ]


def named(release: str) -> dict[str, set[str]]:
    """Return the symbols by chain."""
    symbols: dict[str, set[str]] = {}
    for asset in assets_since(release):
        symbols.setdefault(asset.chain, set()).add(asset.symbol)
    return symbols


async def check_answers(served: Served, release: str, at: str | None) -> None:
    """Check that each answer of a block names the assets and chains of a release, and no others."""
    for assets_by_chain in await maps_by_asset(served, at):
        assert {chain: set(symbols) for chain, symbols in assets_by_chain.items()} == named(release)
        assert list(assets_by_chain) == [chain for chain in CHAINS if chain in named(release)]
    chains = {chain.lower() for chain in named(release)}
    monitored = await served.call("cf_monitoring_data", at)
    for name in ("external_chains_height", "open_deposit_channels", "fee_imbalance", "pending_broadcasts"):
        assert monitored[name].keys() == chains
    assert (await served.call("cf_monitoring_external_chains_block_height", at)).keys() == chains
    screened = await served.call("cf_get_transaction_screening_events", at)
    assert ("bsc_events" in screened) == (release == "2.3")


async def check_supported(served: Served, release: str) -> None:
    """Check that the list has the order of the chains, and of the assets of each."""
    wanted = sorted(assets_since(release), key=lambda asset: (CHAINS[asset.chain].index, asset.chain_index))
    listed = await served.call("cf_supported_assets")
    assert listed == [{"chain": asset.chain, "asset": asset.symbol} for asset in wanted]


async def test_what_a_client_may_name_is_what_the_runtime_of_the_block_knows(make_served: MakeServed) -> None:
    """Name and accept exactly the assets and chains of each block's runtime, across an upgrade."""
    served = await first_block(await make_served(seal="instant", runtime="2.2.9"))
    await served.call("broker_registerAccount")
    await check_supported(served, "2.2")
    await check_answers(served, "2.2", None)
    for method, params in ASSET_CALLS.items():
        error = await served.error(method, *params)
        data = f"asset: {NOT_AN_ASSET}" if method == "dev_setPool" else NOT_AN_ASSET
        assert (method, error["code"], error["data"]) == (method, -32602, data)
    orders = await served.error("cf_swap_rate_v2", ETH, USDC, "0x1", [ORDER])
    assert orders["data"] == f"{NOT_AN_ASSET} at line 1 column 64"
    for method in CHAIN_CALLS:
        error = await served.error(method, "Bsc")
        text = f"unknown variant `Bsc`, expected one of {OLD_CHAINS} at line 1 column 5"
        data = f"chain: {text}" if method == "dev_abortBroadcast" else text
        assert (method, error["code"], error["data"]) == (method, -32602, data)
    marked = await served.error("broker_mark_transaction_for_rejection", {"Bsc": "0x" + "11" * 32})
    assert marked["code"] == -32602
    assert marked["data"].startswith("unknown variant `Bsc`, expected one of `Bitcoin`, `Ethereum`")
    extra = {"chain": "Bsc", "input_amount": 1, "refund_parameters": REFUND}
    encoded = await served.error(
        "broker_requestSwapParameterEncoding", ETH, BTC, "bcrt1q", 0, extra, None, 0, None, None
    )
    assert "unknown variant `Bsc`, expected one of `Bitcoin`, `Ethereum`, `Arbitrum`" in encoded["data"]
    bsc = {"srcChain": "Bsc", "srcAsset": "BNB"}
    refused = 400, {"message": "invalid request: srcAsset"}
    assert await get(served, "/v2/quote", **quote_query(**bsc)) == refused
    assert await post(served, "/api/openSwapDepositChannel", CHANNEL | bsc) == refused
    assert await get(served, "/v2/swaps/1-bsc-1") == (400, {"message": "Invalid chain: bsc"})

    old = await served.call("chain_getBlockHash", None)
    await served.call("dev_upgrade", "2.3.0")
    await served.call("dev_newBlock")
    await check_supported(served, "2.3")
    await check_answers(served, "2.3", None)
    await check_answers(served, "2.2", old)
    assert int(await served.call("cf_max_swap_amount", BNB) or "0x0", 16) == 0
    assert (await served.call("cf_pool_info", BNB, USDC))["range_order_fee_hundredth_pips"] > 0
    for by in ([BNB, USDC, old], {"base_asset": BNB, "quote_asset": USDC, "hash": old}):
        params = by if isinstance(by, list) else [by]
        error = await served.error("cf_pool_info", *params)
        assert (error["code"], error["data"]) == (-32602, NOT_AN_ASSET)
    assert (await served.error("cf_pool_info", BNB, USDC, "0x" + "77" * 32))["code"] == -32022
    assert await served.call("cf_controlled_vault_addresses", "Bsc") != {}
    assert (await served.error("cf_controlled_vault_addresses", "Bsc", None, old))["code"] == -32602
    assert (await get(served, "/v2/quote", **quote_query(**bsc, amount=10**18)))[0] == 200
