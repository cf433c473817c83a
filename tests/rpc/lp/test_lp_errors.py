"""Each check of the pallets that lp_* calls reach, as its named error; and what no lp_* call can provoke."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.lp_storage import ProviderStorage
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from tests.rpc.conftest import MakeServed, Served
from tests.support.rpc import lp_refusals, order_refusals
from tests.support.rpc.assets import DOLLAR, ETH, ETHER, EVM_ADDRESS, USDC
from tests.support.rpc.providers import (
    BOTH,
    NOW,
    ONE,
    Provider,
    free,
    funded,
    open_orders,
    provider_on,
    response,
    tick_of,
)

PROVIDER = Keypair.from_suri("//Provider")
ADDRESS = ss58.encode(PROVIDER.account, 2112)
HUGE = {"Liquidity": {"liquidity": hex(2**127)}}
HIGH = {"start": 100_000, "end": 100_010}
USELESS = {"AssetAmounts": {"maximum": {"base": 0, "quote": hex(DOLLAR)}, "minimum": {"base": 0, "quote": 0}}}
"""A range above the price takes only the base asset."""
LIMITS = {"min_price": "0x0", "max_oracle_price_slippage": None}
OTHER_NETWORK = "bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh"
WITHDRAW = ("lp_withdraw_asset", [hex(ETHER), ETH, EVM_ADDRESS, NOW])
SWAP_ALL = ("lp_schedule_swap", [hex(2**100), ETH, USDC, 5, LIMITS, None, NOW])
LIMIT = ("lp_set_limit_order", [*BOTH, "sell", 1, 0, hex(ETHER), None, NOW])
RANGE = ("lp_set_range_order", [*BOTH, 1, HIGH, ONE, NOW])
DEPOSIT = ("lp_request_liquidity_deposit_address_v2", [ETH])

ALWAYS: list[tuple[str, list[Any], str]] = [
    ("lp_set_range_order", [*BOTH, 1, HIGH, HUGE, NOW], "MaximumGrossLiquidity"),
    ("lp_set_range_order", [*BOTH, 1, HIGH, USELESS, NOW], "InvalidSize"),
    ("lp_update_range_order", [*BOTH, 1, HIGH, {"increase": USELESS}, NOW], "OrderDoesNotExist"),
    ("lp_update_limit_order", [*BOTH, "buy", 1, 0, {"increase": 0}, None, NOW], "OrderDoesNotExist"),
    ("lp_set_limit_order", [USDC, USDC, "sell", 1, 0, 1, None, NOW], "PoolDoesNotExist"),
    ("lp_set_limit_order", [USDC, ETH, "sell", 1, 0, 1, None, NOW], "PoolDoesNotExist"),
    (*SWAP_ALL, "LiquidityProvider.InsufficientBalance"),
    ("lp_transfer_asset", [hex(ETHER), ETH, ADDRESS], "CannotTransferToOriginAccount"),
    ("lp_register_liquidity_refund_address", ["Bitcoin", OTHER_NETWORK], "InvalidEncodedAddress"),
]
IN_CODE_RED: list[tuple[str, list[Any], str]] = [
    (*LIMIT, "UpdatingLimitOrdersDisabled"),
    (*RANGE, "UpdatingRangeOrdersDisabled"),
    (*WITHDRAW, "WithdrawalsDisabled"),
    (*SWAP_ALL, "InternalSwapsDisabled"),
    (*DEPOSIT, "LiquidityDepositDisabled"),
]
ELSEWHERE = {"SheduledUpdateLimitReached", "DestinationNotAllowed", "NoLiquidityRefundAddressRegistered"}
"""Provoked by tests of this module and of `lp_refusals`."""
_GOVERNANCE = "a check of a call of governance"
_DEREGISTRATION = "a check of deregister_lp_account, for which there is no lp_* method"
_UNUSED = "the chain declares it, and no call that a provider can make raises it"
_WHITELIST = "a check of calls of whitelists, for which there is no lp_* method"
_TO_ACCOUNT = "a check of transfer_flip_to_on_chain_balance, for which there is no lp_* method"
OUT_OF_REACH = {
    "PoolAlreadyExists": _GOVERNANCE,
    "InvalidFeeAmount": _GOVERNANCE,
    "InvalidInitialPrice": _GOVERNANCE,
    "PoolDisabled": _UNUSED,
    "UnsupportedCall": _UNUSED,
    "InsufficientLiquidity": "swaps of users",
    "OutputOverflow": "more of an asset than there is",
    "BalanceOverflow": "more of an asset than there is",
    "MaximumPoolInstances": "2^128 pools of a tick would have to be used up",
    "OpenOrdersRemaining": _DEREGISTRATION,
    "FundsRemaining": _DEREGISTRATION,
    "BoostedFundsRemaining": _DEREGISTRATION,
    "WithdrawalWhitelistNotCleared": _DEREGISTRATION,
    "UnauthorisedToModify": _UNUSED,
    "ChainDeprecated": _UNUSED,
    "RefundAmountTooLow": "refunds of transaction fees to the vaults",
    "FlipTransferToOnChainBalanceDisabled": _TO_ACCOUNT,
    "FlipTransferToOnChainBalanceUnavailable": _TO_ACCOUNT,
    "BelowMinimumFunding": _TO_ACCOUNT,
    "TimelockExceedsMaximum": _WHITELIST,
    "TooManyPendingUpdates": _WHITELIST,
}


def provoked() -> Iterator[str]:
    """Yield the names of errors in the tables of the lp_* tests."""
    for _, _, code, words in (*lp_refusals.REFUSED, *order_refusals.REFUSED):
        if code == -32024:
            yield words
    for _, _, name in (*ALWAYS, *IN_CODE_RED):
        yield name.rpartition(".")[2]
    yield from ELSEWHERE
    yield "DestinationAccountNotLiquidityProvider"  # test_lp, a transfer to another provider


def test_each_error_of_the_pallets_is_provoked_or_out_of_reach() -> None:
    """Provoke each error that the pallets declare, or say why none of the calls reaches it."""
    declared = {
        name
        for pallet in (PoolsStorage, ProviderStorage, AssetBalances)
        for name in vars(pallet.Error)
        if name[0].isupper()
    }
    reached = set(provoked())
    assert reached <= declared
    assert declared - reached == set(OUT_OF_REACH)


async def refused(served: Served, table: list[tuple[str, list[Any], str]]) -> None:
    """Check that each call of a table is refused by its pallet and name."""
    for method, params, name in table:
        pallet, _, short = name.rpartition(".")
        error = await served.error(method, *params)
        assert error["code"] == -32024, (method, params, error)
        assert f'name: "{short}"' in error["message"], (method, params, error)
        assert f'pallet: "{pallet}' in error["message"]


@pytest.mark.world
async def test_what_is_wrong_is_named_and_nothing_changes(make_served: MakeServed) -> None:
    """Name each wrong call's error and leave balances and orders as they were."""
    served = await funded(await provider_on(make_served))
    await served.call("lp_register_liquidity_refund_address", "Ethereum", EVM_ADDRESS)
    before = await free(served, ETH), await free(served, USDC)
    await refused(served, ALWAYS)
    await served.call("dev_govern", "Environment", "update_safe_mode", {"update": "CodeRed"})
    await refused(served, IN_CODE_RED)
    await served.call("dev_govern", "Environment", "update_safe_mode", {"update": "CodeGreen"})
    assert (await free(served, ETH), await free(served, USDC)) == before
    orders = await open_orders(served)
    assert orders == {"limit_orders": {"asks": [], "bids": []}, "range_orders": []}
    await zero_amounts(served)
    await an_id_twice(served)
    await a_nonce_that_is_stale(served)
    await more_than_twelve_in_a_block(served)
    await an_address_that_is_not_listed(served)


async def zero_amounts(served: Served) -> None:
    """Set an order of nothing that does not stand, which changes nothing."""
    nothing = {"Liquidity": {"liquidity": 0}}
    for method, params in (
        ("lp_set_limit_order", [*BOTH, "sell", 9, 0, 0, None, NOW]),
        ("lp_set_range_order", [*BOTH, 9, HIGH, nothing, NOW]),
    ):
        assert response(await served.call(method, *params)) == [], method


async def an_id_twice(served: Served) -> None:
    """Set an order twice under one id: it is moved, and closed once."""
    tick = await tick_of(served) + 500
    for at in (tick, tick + 1):
        await served.call("lp_set_limit_order", *BOTH, "sell", 5, at, hex(ETHER), None, NOW)
    (order,) = (await open_orders(served))["limit_orders"]["asks"]
    assert (order["tick"], order["sell_amount"]) == (tick + 1, hex(ETHER))
    close = {"base_asset": ETH, "quote_asset": USDC, "side": "sell", "id": 5}
    closed = response(await served.call("lp_cancel_orders_batch", [close, close], NOW))
    assert [order["LimitOrder"]["sell_amount_change"] for order in closed] == [{"decrease": hex(ETHER)}]


async def a_nonce_that_is_stale(served: Served) -> None:
    """Use a nonce twice, which is refused; a transaction signed elsewhere with the next one counts."""
    stale = await served.signed_remark(nonce=0, key=PROVIDER)
    error = await served.error("author_submitExtrinsic", f"0x{stale.hex()}")
    assert (error["code"], "outdated" in str(error["data"]).lower()) == (1010, True), error
    next_nonce = await served.call("system_accountNextIndex", ADDRESS)
    other = await served.signed_remark(nonce=next_nonce, key=PROVIDER)
    await served.call("author_submitExtrinsic", f"0x{other.hex()}")
    await served.call(*LIMIT[:1], *LIMIT[1])
    await served.call("lp_cancel_all_orders", NOW)
    assert await served.call("system_accountNextIndex", ADDRESS) == next_nonce + 3


async def more_than_twelve_in_a_block(served: Served) -> None:
    """Let more orders close in a block than the twelve of a provider that it closes."""
    tick, last = await tick_of(served) + 500, served.node.chain.best.number + 18
    for number in range(12):
        terms = ("sell", number, tick, hex(ETHER), None, NOW, last)
        assert response(await served.call("lp_set_limit_order", *BOTH, *terms))
    terms = ("sell", 12, tick, hex(ETHER), None, NOW, last)
    error = await served.error("lp_set_limit_order", *BOTH, *terms)
    assert 'name: "SheduledUpdateLimitReached"' in error["message"]
    await served.call("lp_cancel_all_orders", NOW)


async def an_address_that_is_not_listed(served: Served) -> None:
    """Withdraw past a whitelist, which allows what is on it and the refund address."""
    provider = Provider(served, PROVIDER)
    allowed = ("Allow", ("ExternalAddress", ("Eth", b"\x77" * 20)))
    await provider.submit("AssetBalances", "update_whitelist", change=allowed)
    elsewhere = "0x" + "88" * 20
    error = await served.error("lp_withdraw_asset", hex(ETHER), ETH, elsewhere, NOW)
    assert 'name: "DestinationNotAllowed"' in error["message"], error
    done = await served.call("lp_withdraw_asset", hex(ETHER), ETH, "0x" + "77" * 20, NOW)
    assert response(done)[0] == "Ethereum"
