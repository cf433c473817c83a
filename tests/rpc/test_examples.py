"""Every serialisation of the official node that we have is compared with an answer of ours.

Most in `test_cf_presentation`; here what a broker does, what is notified, and what is part of an answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from cfnode.core.scale.metadata import Metadata
from tests.conftest import shared
from tests.rpc.clients import WebSocket
from tests.rpc.conftest import Served
from tests.rpc.samples import ACCOUNT, BTC, ETH, EVM_ADDRESS, PAIR, REFUND, USDC
from tests.rpc.sane import BTC_ADDRESS
from tests.support.rpc.assets import ETHER
from tests.support.rpc.cases import CASES
from tests.support.rpc.official import NEWER, differences, example
from tests.support.rpc.providers import Provider
from tests.support.rpc.samples_chain import ask, metadata
from tests.support.waiting import LIMIT_S

__all__ = ["metadata"]  # a fixture

BITCOIN = 10**8

BROKERS_FORMS = {
    f"broker_{name}": f"cf_{name}"
    for name in (
        "all_open_deposit_channels", "encode_cf_parameters", "get_open_deposit_channels",
        "get_vault_addresses", *(f"request_swap_parameter_encoding.{chain}" for chain in (
            "bitcoin", "ethereum", "arbitrum", "solana",
        )),
    )
}  # fmt: skip
"""Methods of a broker that are a row with its own account filled in."""
PARTS = {"cf_account_info.operator_part", "pools_environment_entry", "cf_get_transaction_screening_events"}
DONE = {
    "broker_request_swap_deposit_address", "broker_withdraw_fees", "broker_affiliate_withdrawal_request",
    "cf_subscribe_lp_order_fills.notification", "cf_subscribe_scheduled_swaps.notification",
    "cf_lp_get_order_fills",
}  # fmt: skip
ELSEWHERE = {
    "cf_ingress_egress_events": "test_cf_presentation",
    "cf_reward_distribution_estimate": "test_what_clients_require",
    "lp_get_open_swap_channels.channel": "test_lp",
    "lp_order.limit": "test_lp_orders",
    "lp_order.range": "test_lp_orders",
    "lp_order_fills": "test_lp_orders",
    "lp_request_liquidity_deposit_address_v2.response": "test_lp",
    "lp_schedule_swap.response": "test_lp",
    "lp_wait_result.tx_details": "test_lp_waiting",
    "lp_wait_result.tx_hash": "test_lp_waiting",
}
"""The file of tests that compares an example; of lp_* methods, which need a liquidity provider's key, all."""
AS_TYPED = ("address:", "timestamp:")
"""Members whose value the official node's tests made up: addresses without 0x."""


def test_every_example_is_compared_with_an_answer() -> None:
    """Compare every example of the official node with an answer of ours, here or in the named file."""
    there = {path.stem for path in shared("rpc-examples").glob("*.json")} - {"index"}
    compared = {*CASES, *BROKERS_FORMS, *PARTS, *DONE, *ELSEWHERE}
    assert len(there) > 70
    assert there == compared
    assert set(ELSEWHERE.values()) <= {path.stem for path in Path(__file__).parent.rglob("test_*.py")}


@pytest.mark.parametrize("name", BROKERS_FORMS)
async def test_a_brokers_form_is_that_of_its_row(metadata: Metadata, name: str) -> None:
    """Answer a broker's form with the members and values of its example."""
    method, params, cases = CASES.get(BROKERS_FORMS[name], (BROKERS_FORMS[name], [], {}))
    assert differences(await ask(metadata, method, *params, **cases), example(name), "", False) == []


async def test_an_operators_info_lists_its_validators(metadata: Metadata) -> None:
    """List an operator's validators as the example does."""
    theirs = example("cf_account_info.operator_part")
    ours = await ask(metadata, "cf_account_info", ACCOUNT, AccountRole="Operator")
    assert differences({name: ours[name] for name in theirs}, theirs, "", False) == []


async def test_an_entry_of_the_pools_environment(metadata: Metadata) -> None:
    """Write an entry of the pools' environment as the example does."""
    fees = (await ask(metadata, "cf_pools_environment"))["fees"]
    assert differences(fees["Ethereum"]["ETH"], example("pools_environment_entry"), "", False) == []


async def test_what_became_of_marked_deposits_on_each_chain(metadata: Metadata) -> None:
    """Write what became of marked deposits on each chain as the examples do."""
    name = "cf_get_transaction_screening_events"
    for chain, events in example(name).items():
        for place, kind in enumerate(kind for event in events for kind in event):
            ours = await ask(metadata, name, TransactionScreeningEvent=kind)
            if chain in ours or chain not in NEWER:
                assert differences(ours[chain], [events[place]], f"{chain}.{kind}", False) == []


def same_form(ours: Any, name: str) -> None:
    """Check an answer against an example, but for values that the official tests made up."""
    mismatches = differences(ours, example(name), "", False)
    assert [line for line in mismatches if not any(field in line for field in AS_TYPED)] == []


async def next_with(ws: WebSocket, method: str, member: str) -> Any:
    """Return the next notification of a subscription in which something is listed, whole."""
    with trio.fail_after(LIMIT_S):
        while True:
            message = await ws.message()
            if message.get("method") == method and message["params"]["result"][member]:
                return message


async def test_answers_and_messages_for_a_broker_match_the_examples(instant: Served) -> None:
    """Answer and notify a broker in the forms of the examples."""
    provider = Provider(instant)
    await provider.begin()
    await provider.sell((await instant.call("cf_pool_price", ETH, USDC))["tick"], ETHER)
    await instant.call("broker_register_account")
    affiliate = await instant.call("broker_register_affiliate", EVM_ADDRESS)
    shares = [{"account": affiliate, "bps": 100}]
    refund = REFUND | {"refund_address": BTC_ADDRESS}
    asked = [BTC, ETH, EVM_ADDRESS, 100, None, None, shares, refund]
    channel = await instant.call("broker_request_swap_deposit_address", *asked)
    same_form(channel, "broker_request_swap_deposit_address")
    async with instant.websocket() as ws:
        await ws.call("cf_subscribe_scheduled_swaps", *PAIR)
        await ws.call("cf_subscribe_lp_order_fills", "Best")
        await instant.call("dev_deposit", channel["address"], BTC, BITCOIN)
        name = "cf_subscribe_scheduled_swaps"
        same_form(await next_with(ws, name, "swaps"), f"{name}.notification")
        for _ in range(2):
            await instant.call("dev_newBlock")
        name = "cf_subscribe_lp_order_fills"
        notification = await next_with(ws, name, "fills")
        same_form(notification, f"{name}.notification")
    block = notification["params"]["result"]["block_hash"]
    same_form(await instant.call("cf_lp_get_order_fills", block), "cf_lp_get_order_fills")
    withdrawn = await instant.call("broker_withdraw_fees", USDC, EVM_ADDRESS)
    same_form(withdrawn, "broker_withdraw_fees")
    withdrawn = await instant.call("broker_affiliate_withdrawal_request", affiliate)
    same_form(withdrawn, "broker_affiliate_withdrawal_request")
