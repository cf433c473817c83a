"""Published clients and bare requests call each lp_* method; the results are those of the official node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from tests.conftest import shared
from tests.sdk.lp.place import ACCOUNT, ETH, ETHER, USDC, Market, market
from tests.support.interop.programs import report_of, script_of
from tests.support.rpc.assets import EVM_ADDRESS
from tests.support.rpc.official import recorded, shape

pytestmark = pytest.mark.world

CLIENTS = ("http client", "ws client", "polkadot provider", "fetch")
EVE = ss58.encode(Keypair.from_suri("//Eve").account, 2112)
PAIR, NOW = (ETH, USDC), "InBlock"
LIQUIDITY = {"Liquidity": {"liquidity": hex(10**12)}}
HALF = {"Liquidity": {"liquidity": hex(10**12 // 2)}}
LIMITS = {"min_price": "0x0", "max_oracle_price_slippage": None}
CLOSE = {"base_asset": ETH, "quote_asset": USDC, "id": 2}
ANY = object()
"""A result of which the examples have no form."""


def waited(response: Any) -> Any:
    """Return the form of a call that was waited for."""
    return {"tx_details": {"tx_hash": "hex", "response": response}}


def order(kind: str, change: str, size: Any = None) -> Any:
    """Return the form of an order after a change of it."""
    (recording,) = recorded(f"lp_order.{kind}.json").values()
    member = "sell_amount_change" if kind == "limit" else "size_change"
    return shape(recording | {member: {change: size or recording[member]["increase"]}})


class Refused(str):
    """Words of the only answer to a call that an account can make once, or not at all."""


def steps(place: Market) -> list[tuple[str, list[Any], Any]]:
    """Return each method with its parameters, and the form of its result."""
    tick = place.tick()
    ticks = {"start": tick - 1000, "end": tick + 1000}
    limit, range_ = {"LimitOrder": order("limit", "decrease")}, {"RangeOrder": order("range", "decrease")}
    channel = shape(
        recorded("lp_request_liquidity_deposit_address_v2.response.json") | {"deposit_address": "0x"}
    )
    opened = {"block_number": "int", "block_hash": "hex", "tx_index": "int", "response": channel}
    swap, sent = recorded("lp_schedule_swap.response.json"), recorded("lp_wait_result.tx_hash.json")
    return [
        ("lp_register_account", [], Refused("AccountRoleAlreadyRegistered")),
        ("lp_register_liquidity_refund_address", ["Ethereum", EVM_ADDRESS], "hex"),
        ("lp_request_liquidity_deposit_address", [ETH, "NoWait"], shape(sent)),
        ("lp_request_liquidity_deposit_address_v2", [ETH], opened),
        ("lp_withdraw_asset", [hex(ETHER), ETH, EVM_ADDRESS, NOW], waited(["text", "int"])),
        ("lp_transfer_asset", [hex(ETHER), ETH, EVE], Refused("DestinationAccountNotLiquidityProvider")),
        ("lp_schedule_swap", [hex(ETHER), ETH, USDC, 5, LIMITS, None, NOW], waited(shape(swap))),
        ("lp_request_redemption", [EVM_ADDRESS, hex(10**24)], Refused("InsufficientBalance")),
        ("lp_set_range_order", [*PAIR, 2, ticks, LIQUIDITY, NOW], waited([order("range", "increase")])),
        (
            "lp_update_range_order",
            [*PAIR, 2, None, {"decrease": HALF}, NOW],
            waited([order("range", "decrease")]),
        ),
        (
            "lp_set_limit_order",
            [*PAIR, "sell", 1, tick + 900, hex(ETHER), None, NOW],
            waited([order("limit", "increase")]),
        ),
        (
            "lp_update_limit_order",
            [*PAIR, "sell", 1, None, {"decrease": hex(ETHER // 2)}, None, NOW],
            waited([order("limit", "decrease")]),
        ),
        ("lp_cancel_orders_batch", [[CLOSE], NOW], waited([range_])),
        ("lp_cancel_all_orders", [NOW], [waited([limit])]),
        ("lp_order_fills", [], shape(recorded("lp_order_fills.json") | {"fills": []})),
        ("lp_free_balances", [], ANY),
        ("lp_asset_balances", [], ANY),
        ("lp_total_balances", [ACCOUNT], ANY),
        ("lp_get_open_swap_channels", [], ANY),
        ("lp_subscribe_order_fills", [], ANY),
        ("lp_unsubscribe_order_fills", ["$last"], "bool"),
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    """Yield a node with a provider's market."""
    with market(tmp_path_factory.mktemp("market")) as market_place:
        yield market_place


def test_each_method_answers_each_client_as_the_official_node_does(
    place: Market, node_modules: Path, tmp_path: Path
) -> None:
    """Return the official form of each lp_* method's result to each client."""
    if not (node_modules / "@chainflip/rpc").exists():
        pytest.skip("@chainflip/rpc is not among the Node.js peers: scripts/peers installs it")
    table, file = steps(place), tmp_path / "calls.json"
    assert {method for method, _, _ in table} == {
        name for name in shared("methods.txt").read_text().split() if name.startswith("lp_")
    }
    file.write_text(json.dumps([(method, params) for method, params, _ in table]))
    report = report_of("node", script_of("lp_clients.mjs", node_modules, tmp_path), place.node.url, str(file))
    assert tuple(report) == CLIENTS
    for client, answers in report.items():
        for (method, _, form), answer in zip(table, answers, strict=True):
            check(client, method, form, answer)
        balances = answers[[method for method, _, _ in table].index("lp_free_balances")]
        assert set(recorded("lp_total_balances.json")) - set(balances) <= {"Polkadot"}


def check(client: str, method: str, form: Any, answer: Any) -> None:
    """Check one answer against the form of the examples."""
    if "subscribe" in method and client in ("http client", "fetch"):
        assert "refused" in answer, (client, method, answer)
    elif isinstance(form, Refused):
        assert form in answer["refused"], (client, method, answer)
    elif form is ANY:
        assert answer, (client, method)
        assert "refused" not in answer, (client, method, answer)
    else:
        assert shape(answer) == form, (client, method, answer)
