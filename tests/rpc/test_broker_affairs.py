"""Affiliates, bindings, minimum fee, rejections and views of a broker, on a running development node."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.hashing import blake2_256
from tests.rpc.conftest import Served

ETH = {"chain": "Ethereum", "asset": "ETH"}
BTC = {"chain": "Bitcoin", "asset": "BTC"}
PAYEE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
REFUND = {"retry_duration": 10, "refund_address": PAYEE, "min_price": "0x0"}


@pytest.fixture
async def broker(instant: Served) -> Served:
    """A node whose account is a broker."""
    await instant.call("broker_register_account")
    return instant


def own_account(served: Served) -> bytes:
    assert served.node.broker is not None
    return served.node.broker.account


async def test_an_affiliate_is_registered_listed_and_ended(broker: Served) -> None:
    affiliate = await broker.call("broker_registerAffiliate", PAYEE)
    derived = blake2_256(b"chainflip/affiliate" + own_account(broker) + b"\x00")
    assert affiliate == ss58.encode(derived, 2112)
    listed = [[affiliate, {"short_id": 0, "withdrawal_address": PAYEE}]]
    assert await broker.call("broker_get_affiliates") == listed
    assert await broker.call("broker_getAffiliates", affiliate) == listed
    assert await broker.call("cf_get_affiliates", ss58.encode(own_account(broker), 2112)) == listed
    ended = await broker.call("broker_deregister_affiliate", affiliate)
    assert ended == {"account_id": affiliate, "short_id": 0}
    assert await broker.call("broker_get_affiliates") == []


async def test_an_affiliate_that_earned_nothing_has_nothing_to_withdraw(broker: Served) -> None:
    affiliate = await broker.call("broker_register_affiliate", PAYEE)
    error = await broker.error("broker_affiliate_withdrawal_request", affiliate)
    assert error["code"] == -32024
    assert 'name: "NoFundsAvailable"' in error["message"]


async def test_an_affiliate_of_somebody_else_cannot_be_ended(broker: Served) -> None:
    error = await broker.error("broker_deregister_affiliate", ss58.encode(b"\x07" * 32, 2112))
    assert 'name: "AffiliateNotRegisteredForBroker"' in error["message"]


async def test_fees_are_bound_to_an_address_once(broker: Served) -> None:
    assert len(await broker.call("broker_bind_fee_withdrawal_address", PAYEE)) == 66
    error = await broker.error("broker_bindFeeWithdrawalAddress", PAYEE)
    assert 'name: "BrokerAlreadyBound"' in error["message"]


async def test_the_minimum_fee_of_vault_swaps_has_a_cap(broker: Served) -> None:
    assert len(await broker.call("broker_set_vault_swap_minimum_broker_fee", 10)) == 66
    error = await broker.error("broker_setVaultSwapMinimumBrokerFee", 1001)
    assert 'name: "BrokerCommissionBpsTooHigh"' in error["message"]


async def test_a_call_that_the_runtime_does_not_have_is_named(broker: Served) -> None:
    error = await broker.error("broker_mark_transaction_for_rejection", {"Bitcoin": "0x" + "11" * 32})
    assert error["code"] == -32024


BAD: list[tuple[str, list[Any], str]] = [
    ("broker_register_affiliate", ["0x11"], "withdrawal_address: expected 20 bytes of hex, got 1"),
    ("broker_mark_transaction_for_rejection", [{"Doge": "0x"}], "tx_id: unknown variant 'Doge'"),
    ("broker_mark_transaction_for_rejection", [{"Solana": ["x"]}], "tx_id: expected an address and a slot"),
    ("broker_get_open_deposit_channels", ["Some"], "query: unknown variant 'Some', expected one of `All`"),
    ("broker_set_vault_swap_minimum_broker_fee", [70_000], "minimum_fee_bps: expected an integer from 0"),
    (
        "broker_request_swap_parameter_encoding",
        [ETH, BTC, "x", 1, {"chain": "Doge"}],
        "extra_parameters: unknown variant 'Doge'",
    ),
]


@pytest.mark.parametrize(("method", "params", "text"), BAD)
async def test_a_wrong_parameter_is_named(instant: Served, method: str, params: list[Any], text: str) -> None:
    error = await instant.error(method, *params)
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    assert error["data"].startswith(text)
