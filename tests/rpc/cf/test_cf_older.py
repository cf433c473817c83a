"""cf_* on the official runtime of genesis (spec 100), whose APIs had other forms: in today's, or why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli.client import CallRefused
from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.table.rows import Method, Subscription
from tests.process import NodeProcess, running_node
from tests.rpc.clients import WebSocket
from tests.rpc.older import ALICE, BOB, CHARLIE, open_pool, prepared
from tests.rpc.samples import BTC, ETH, PAIR, PARAMS, SOL, USDC

ROWS = [row.name for row in (*CF, *MONITORING) if isinstance(row, Method)]
STREAMS = [row.name for row in CF if isinstance(row, Subscription)]
STREAM_PARAMS: dict[str, list[Any]] = {
    "cf_subscribe_pool_price": PAIR,
    "cf_subscribe_pool_price_v2": PAIR,
    "cf_subscribe_scheduled_swaps": PAIR,
    "cf_subscribe_ingress_events": ["Ethereum"],
}
DOCUMENTED = {-32020, -32021, -32022, -32026}
NONE_OF_ANY = {
    "Ethereum": {"ETH": "0x0", "FLIP": "0x0", "USDC": "0x0"},
    "Polkadot": {"DOT": "0x0"},
    "Bitcoin": {"BTC": "0x0"},
}
VALIDATOR = {
    "last_heartbeat": 0,
    "reputation_points": 0,
    "keyholder_epochs": [1],
    "is_current_authority": True,
    "is_current_backup": False,
    "is_qualified": False,
    "is_online": False,
    "is_bidding": False,
    "apy_bp": 0,
}


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Run a node on the official genesis runtime, with a pool and orders."""
    official: Path = request.getfixturevalue("berghain_spec")
    folder = tmp_path_factory.mktemp("older")
    spec, metadata = prepared(official, folder)
    with running_node(folder, f"--chain={spec}", "--dev", "--dev-seal=instant", "--no-prometheus") as node:
        open_pool(node, metadata)
        yield node


def info_of(node: NodeProcess, key: Keypair) -> dict[str, Any]:
    """Return an account's info without its id."""
    address = ss58.encode(key.public)
    info: dict[str, Any] = node.call("cf_account_info", address)
    assert info.pop("account_id") == address
    return info


def error_of(node: NodeProcess, method: str, *params: Any) -> dict[str, Any]:
    """Return the error of a call."""
    with pytest.raises(CallRefused) as refused:
        node.call(method, *params)
    return refused.value.error


def agreed(answer: dict[str, Any]) -> bool:
    """Return whether an answer is a result or a documented error."""
    return "result" in answer or answer["error"]["code"] in DOCUMENTED


@pytest.mark.parametrize("name", ROWS)
def test_every_row_answers_with_a_result_or_a_documented_error(node: NodeProcess, name: str) -> None:
    """Answer each method on the oldest runtime with a result or a documented error."""
    try:
        answer = {"result": node.call(name, *PARAMS.get(name, ()))}
    except CallRefused as refused:
        answer = {"error": refused.error}
    assert agreed(answer), answer
    assert "Traceback" not in node.log


@pytest.mark.parametrize("name", STREAMS)
async def test_every_subscription_begins_or_is_refused_with_a_documented_error(
    node: NodeProcess, name: str
) -> None:
    """Begin each subscription on the oldest runtime, or refuse it with a documented error."""
    async with WebSocket(int(node.url.rpartition(":")[2])) as client:
        assert agreed(await client.call(name, *STREAM_PARAMS.get(name, ())))
    assert "Traceback" not in node.log


# Accounts


def test_an_account_that_does_not_exist_is_unregistered_with_zeros(node: NodeProcess) -> None:
    """Return an unknown account as unregistered, with zeros."""
    assert info_of(node, Keypair.from_suri("//Nobody")) == {
        "flip_balance": "0x0",
        "asset_balances": NONE_OF_ANY,
        "bond": "0x0",
        "role": "unregistered",
    }


def test_a_validators_info_matches_the_older_method(node: NodeProcess) -> None:
    """Return a validator's info as the older method has it, in today's form."""
    info = info_of(node, ALICE)
    assert int(info.pop("flip_balance"), 16) > 0
    assert info == {
        "asset_balances": NONE_OF_ANY,
        "bond": "0x0",
        "role": "validator",
        **VALIDATOR,
        "max_bid": None,
    }
    second = node.call("cf_account_info_v2", ss58.encode(ALICE.public))
    assert {name: second[name] for name in VALIDATOR} == VALIDATOR
    assert second["restricted_balances"] == {}
    assert second["bound_redeem_address"] is None


def test_a_broker_has_its_earned_fees_by_asset(node: NodeProcess) -> None:
    """Return a broker's fees by asset."""
    info = info_of(node, BOB)
    assert list(info) == ["flip_balance", "asset_balances", "bond", "role", "earned_fees"]
    assert info["role"] == "broker"
    assert info["earned_fees"] == {**NONE_OF_ANY, "Ethereum": {**NONE_OF_ANY["Ethereum"], "ETH": "0x5"}}


def test_a_provider_has_balances_refund_addresses_and_nothing_boosted_or_lent(node: NodeProcess) -> None:
    """Return a provider's balances and refund addresses, and nothing boosted or lent, which came later."""
    info = info_of(node, CHARLIE)
    assert info["role"] == "liquidity_provider"
    # What its orders have taken is gone from the 100 ETH of genesis.
    assert 98 * 10**18 < int(info["asset_balances"]["Ethereum"]["ETH"], 16) < 99 * 10**18
    assert info["refund_addresses"] == {
        "Bitcoin": None,
        "Ethereum": "0x" + "11" * 20,
        "Polkadot": ss58.encode(b"\x22" * 32, 0),
    }
    assert info["boost_balances"] == {
        chain: {symbol: [] for symbol in symbols} for chain, symbols in NONE_OF_ANY.items()
    }
    assert info["lending_positions"] == info["collateral_balances"] == []
    assert "earned_fees" not in info


# Pools


def test_an_asset_of_a_later_runtime_is_no_asset_here(node: NodeProcess) -> None:
    """Know only the assets of this runtime: a later one is refused as a parameter."""
    assert [supported["asset"] for supported in node.call("cf_supported_assets")] == [
        "ETH",
        "FLIP",
        "USDC",
        "DOT",
        "BTC",
    ]
    error = error_of(node, "cf_pool_info", SOL, USDC)
    assert (error["code"], error["data"][:35]) == (-32602, "Expected a valid asset specifier. A")


def test_a_pool_of_the_older_form_has_todays_names(node: NodeProcess) -> None:
    """Return a pool's fees, liquidity, depth, ratio and price under today's names."""
    fees = {"limit_order_fee_hundredth_pips": 1000, "range_order_fee_hundredth_pips": 1000}
    assert node.call("cf_pool_info", *PAIR) == fees
    liquidity = node.call("cf_pool_liquidity", *PAIR)
    assert liquidity["limit_orders"] == {"asks": [{"tick": 8000, "amount": hex(10**18)}], "bids": []}
    assert {"tick": 6000, "liquidity": hex(10**12)} in liquidity["range_orders"]
    depth = node.call("cf_pool_depth", *PAIR, {"start": 5000, "end": 9000})
    assert depth["asks"]["limit_orders"]["depth"] == hex(10**18)
    assert depth["bids"]["limit_orders"] == {"price": None, "depth": "0x0"}
    ratio = node.call("cf_required_asset_ratio_for_range_order", *PAIR, {"start": 6000, "end": 7500})
    assert list(ratio) == ["base", "quote"]
    assert int(node.call("cf_pool_price", *PAIR)["price"], 16) / 2**128 == pytest.approx(2)


def test_orders_of_one_provider_have_named_members(node: NodeProcess) -> None:
    """Return one provider's orders with named members, and demand the provider."""
    lp = ss58.encode(CHARLIE.public)
    assert node.call("cf_pool_orders", *PAIR, lp) == {
        "limit_orders": {
            "asks": [{"lp": lp, "id": "0x7", "tick": 8000, "sell_amount": hex(10**18)}],
            "bids": [],
        },
        "range_orders": [{"lp": lp, "id": "0x9", "range": {"start": 6000, "end": 7500}, "liquidity": 10**12}],
    }
    assert error_of(node, "cf_pool_orders", *PAIR)["message"].endswith("of this runtime requires lp")


def test_a_swap_rate_is_returned_without_fees_or_refused(node: NodeProcess) -> None:
    """Return a swap's rate, and refuse the form with fees, which this runtime does not compute."""
    rate = node.call("cf_swap_rate", USDC, ETH, 10**9)
    assert rate["intermediary"] is None
    assert int(rate["output"], 16) / 10**9 == pytest.approx(0.5, abs=0.01)
    error = error_of(node, "cf_swap_rate_v2", USDC, ETH, hex(10**9))
    assert error["code"] == -32026
    assert error["message"].endswith("does not return the fees of a swap")


@pytest.mark.parametrize(
    ("method", "params", "code", "end"),
    [
        ("cf_pool_info", [BTC, USDC], -32020, "returned None: this runtime has no such pool, or cannot"),
        ("cf_swap_rate", [BTC, USDC, 1], -32020, "returned None: this runtime has no such pool, or cannot"),
        ("cf_pool_depth", [*PAIR, {"start": 9, "end": -9}], -32021, "DispatchError: InvalidTickRange"),
    ],
)
def test_what_an_older_runtime_cannot_say_is_a_documented_error(
    node: NodeProcess, method: str, params: list[Any], code: int, end: str
) -> None:
    """Answer what an older runtime cannot say with a documented error."""
    error = error_of(node, method, *params)
    assert error["code"] == code
    assert error["message"].endswith(end)
