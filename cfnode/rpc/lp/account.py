"""The `lp_*` methods of the account and its assets: registration, deposits, withdrawals, transfers, swaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS
from cfnode.core.jsonrpc import RpcError
from cfnode.node.signing.account import WaitFor
from cfnode.node.signing.provider import LiquidityProviderClient
from cfnode.rpc.cf.method import query
from cfnode.rpc.cf.params import ADDRESS20, CHAIN_PARAM
from cfnode.rpc.lp.params import PRICE_LIMITS, WAIT_FOR, amount_of, fitting
from cfnode.rpc.lp.results import deposit_address, wait_result
from cfnode.rpc.lp.rows import reading, submitting
from cfnode.rpc.table.broker_params import ASSET, DCA, OTHER_ERROR, address_on
from cfnode.rpc.table.convert import ACCOUNT, NUMBER_OR_HEX, TEXT, U16, U32, U128_MAX, to_hex
from cfnode.rpc.table.rows import Param

if TYPE_CHECKING:
    from cfnode.node.node import Node

NOT_IN_BLOCK: Final = (
    "InBlock waiting is not allowed for this method. Use request_liquidity_deposit_address_v2 instead."
)


def provider_of(node: Node) -> LiquidityProviderClient:
    """Return the node's liquidity provider."""
    assert node.provider is not None  # the rows are in the table only then
    return node.provider


async def register_account(node: Node) -> str:
    """Register the node's account as a liquidity provider; return the transaction's hash."""
    return to_hex(await provider_of(node).register_account())


async def register_refund_address(node: Node, chain: str, address: str) -> str:
    """Set where assets of a chain go back to; return the transaction's hash."""
    return to_hex(await provider_of(node).register_refund_address(address_on(chain, address, "address")))


async def request_deposit_address(
    node: Node, asset: str, wait_for: WaitFor | None, boost_fee: int | None
) -> dict[str, Any]:
    """Open a deposit channel of the account, and wait for finality unless `wait_for` is NoWait."""
    if wait_for is WaitFor.IN_BLOCK:
        raise RpcError(OTHER_ERROR, NOT_IN_BLOCK)
    submitted = await provider_of(node).request_deposit_address(
        asset, boost_fee or 0, wait_for or WaitFor.FINALIZED
    )
    return wait_result(submitted, deposit_address)


async def request_deposit_address_v2(node: Node, asset: str, boost_fee: int | None) -> dict[str, Any]:
    """Open a deposit channel of the account; return as soon as no fork can assign it to another account."""
    opened_channel = await provider_of(node).open_deposit_channel(asset, boost_fee or 0)
    block = opened_channel.inclusion.block
    return {
        "block_number": block.number,
        "block_hash": to_hex(block.hash),
        "tx_index": opened_channel.inclusion.index,
        "response": deposit_address(opened_channel.channel),
    }


async def withdraw_asset(
    node: Node, amount: int, asset: str, destination: str, wait_for: WaitFor | None
) -> dict[str, Any]:
    """Send an amount to an address on its chain; respond with the egress id."""
    if amount_of(amount) == 0:
        raise RpcError(OTHER_ERROR, "Withdrawal amount must be greater than 0")
    address = address_on(ASSETS[asset].chain, destination, "destination_address")
    submitted = await provider_of(node).withdraw(amount, asset, address, wait_for or WaitFor.FINALIZED)
    return wait_result(submitted, list)


async def transfer_asset(node: Node, amount: int, asset: str, destination: bytes) -> str:
    """Give an amount to another liquidity provider; return the transaction's hash."""
    if fitting(amount, U128_MAX, "Failed to convert amount to u128") == 0:
        raise RpcError(OTHER_ERROR, "Amount must be greater than 0")
    return to_hex(await provider_of(node).transfer(amount, asset, destination))


async def schedule_swap(
    node: Node,
    amount: int,
    input_asset: str,
    output_asset: str,
    retry_duration: int,
    price_limits: dict[str, Any],
    dca: dict[str, int] | None,
    wait_for: WaitFor | None,
) -> dict[str, Any]:
    """Swap assets of the account; respond with the id of the swap request."""
    submitted = await provider_of(node).schedule_swap(
        amount_of(amount),
        input_asset,
        output_asset,
        retry_duration,
        price_limits,
        dca,
        wait_for or WaitFor.FINALIZED,
    )
    return wait_result(submitted, lambda number: {"swap_request_id": number})


async def request_redemption(
    node: Node, address: bytes, exact_amount: int | None, executor: bytes | None
) -> str:
    """Redeem FLIP of the account, by default all, to an Ethereum address; return the transaction's hash."""
    amount = None if exact_amount is None else amount_of(exact_amount)
    return to_hex(await provider_of(node).request_redemption(amount, address, executor))


async def free_balances(node: Node) -> Any:
    """Return the account's free balance of every asset, at the last finalized block."""
    block, account = node.chain.finalized.hash, provider_of(node).account
    return await query(node, block, "cf_free_balances", account_id=account)


_ASSET: Final = Param("asset", ASSET)
_AMOUNT: Final = Param("amount", NUMBER_OR_HEX)
_BOOST_FEE: Final = Param("boost_fee", U16, optional=True)

METHODS: Final = (
    submitting("lp_register_account", register_account),
    submitting(
        "lp_register_liquidity_refund_address", register_refund_address, CHAIN_PARAM, Param("address", TEXT)
    ),
    submitting("lp_request_liquidity_deposit_address", request_deposit_address, _ASSET, WAIT_FOR, _BOOST_FEE),
    submitting("lp_request_liquidity_deposit_address_v2", request_deposit_address_v2, _ASSET, _BOOST_FEE),
    submitting(
        "lp_withdraw_asset", withdraw_asset, _AMOUNT, _ASSET, Param("destination_address", TEXT), WAIT_FOR
    ),
    submitting("lp_transfer_asset", transfer_asset, _AMOUNT, _ASSET, Param("destination_account", ACCOUNT)),
    submitting(
        "lp_schedule_swap",
        schedule_swap,
        _AMOUNT,
        Param("input_asset", ASSET),
        Param("output_asset", ASSET),
        Param("retry_duration", U32),
        Param("price_limits", PRICE_LIMITS),
        Param("dca_params", DCA, optional=True),
        WAIT_FOR,
    ),
    submitting(
        "lp_request_redemption",
        request_redemption,
        Param("redeem_address", ADDRESS20),
        Param("exact_amount", NUMBER_OR_HEX, optional=True),
        Param("executor_address", ADDRESS20, optional=True),
    ),
    reading("lp_free_balances", free_balances, alias="lp_asset_balances"),
)
