"""Quotes and vault swaps over JSON-RPC: what is refused before the runtime is asked, and in which order."""

from __future__ import annotations

from typing import Any

from cfnode.core.hashing import blake2_128
from cfnode.core.ss58 import decode
from tests.rpc.conftest import Served

USDC = {"chain": "Ethereum", "asset": "USDC"}
ETH = {"chain": "Ethereum", "asset": "ETH"}
DOT = {"chain": "Polkadot", "asset": "DOT"}
SOL = {"chain": "Solana", "asset": "SOL"}
ALICE = "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"
SOLANA_ADDRESS = "E7agYbChuTxrx949yD3ezbuCbpnHBKN5ZheWYNtaEWrG"
TOO_LONG = {"gas_budget": 1, "message_length": 15_001}


async def test_an_amount_is_looked_at_before_the_message(served_node: Served) -> None:
    """Check the amount before the message, in the official order."""
    for amount, message in (
        ("0x0", "Swap input amount cannot be zero."),
        (hex(2**128), "Swap input amount too large."),
        ("0x1", "CCM message size too large."),
    ):
        error = await served_node.error("cf_swap_rate_v3", ETH, USDC, amount, 0, None, TOO_LONG)
        assert error == {"code": -32602, "message": message}


async def test_an_order_that_sells_more_than_an_amount_can_hold_sells_the_most(served_node: Served) -> None:
    """Cap an order's size at 128 bits, as the official node does."""

    def order(amount: int) -> Any:
        terms = {"base_asset": ETH, "quote_asset": USDC, "side": "buy", "tick": 0, "sell_amount": hex(amount)}
        return [{"LimitOrder": terms}]

    asked = ("cf_swap_rate_v2", ETH, USDC, hex(10**18))
    most = await served_node.call(*asked, order(2**128 - 1))
    assert await served_node.call(*asked, order(2**128)) == most
    assert await served_node.call(*asked, order(2**256 - 1)) == most


async def test_polkadot_has_no_price_and_yet_fees(served_node: Served) -> None:
    """Answer no price for Polkadot and yet its fees."""
    for pair in ((DOT, USDC), (USDC, DOT), (ETH, SOL), (USDC, USDC)):
        assert await served_node.call("cf_pool_price", *pair) is None
    fees = await served_node.call("cf_ingress_egress_environment")
    assert fees["ingress_fees"]["Polkadot"]["DOT"] == hex(197_300_000)
    assert fees["egress_fees"]["Polkadot"]["DOT"] == hex(197_450_000)


async def test_accounts_come_in_the_order_of_their_storage_keys(served_node: Served) -> None:
    """List accounts in the order of their storage keys."""
    accounts = [account for account, _ in await served_node.call("cf_accounts")]
    infos = await served_node.call("cf_all_account_infos")
    assert [info["account_id"] for info in infos] == accounts
    assert len(accounts) > 6
    keys = [blake2_128(decode(account)[1]) for account in accounts]
    assert keys == sorted(keys)


async def test_a_seed_on_solana_has_at_most_32_bytes(served_node: Served) -> None:
    """Refuse a seed on Solana over 32 bytes."""
    refund = {"retry_duration": 0, "refund_address": SOLANA_ADDRESS, "min_price": "0x0"}
    terms = {"chain": "Solana", "from": SOLANA_ADDRESS, "input_amount": 1, "refund_parameters": refund}

    async def encode(seed: str) -> Any:
        arguments = (ALICE, SOL, ETH, "0x" + "11" * 20, 0, terms | {"seed": seed})
        return await served_node.http.call("cf_request_swap_parameter_encoding", *arguments)

    assert (await encode("0x" + "01" * 32))["result"]["chain"] == "Solana"
    assert (await encode("0x" + "01" * 33))["error"]["code"] == -32602
