"""`cfnode lp` on a running development node, by what it prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from tests.sdk.lp.place import ACCOUNT, ETHER, Market, market

RANGE = ("set-range", "ETH", "--id", "1")


def lp(place: Market, *arguments: str) -> Result:
    """Run `cfnode lp` with the market's node and account."""
    env = {"CFNODE_URL": place.node.url, "CFNODE_LP_ACCOUNT": ACCOUNT}
    return CliRunner().invoke(cli, ["lp", *arguments], env=env, catch_exceptions=False)


def test_orders_are_set_moved_listed_and_cancelled(place: Market) -> None:
    """Set, move, list and cancel orders; an equal order again changes nothing on the chain."""
    done = lp(place, "set-limit", "eth", "sell", "0.5", "--price", "2900", "--id", "7")
    assert done.output.startswith("set: sell order 7 of ETH: 0.5 ETH at 2900."), done.output
    again = lp(place, "set-limit", "eth", "sell", "0.5", "--price", "2900", "--id", "7", "--json")
    order = json.loads(again.output)
    assert order["changed"] is False
    assert (order["order"]["amount"], order["order"]["id"]) == (str(ETHER // 2), 7)
    lp(place, "set-limit", "ETH", "buy", "100", "--tick", str(place.tick() - 500), "--id", "7")
    (sell, buy) = json.loads(lp(place, "orders", "--asset", "ETH", "--json").output)
    assert sell == order["order"] | {"originalAmount": str(ETHER // 2), "feesEarned": {"Usdc": "0"}}
    assert (buy["side"], buy["amount"]) == ("buy", str(100 * 10**6))
    assert "100 USDC" in lp(place, "orders").output
    book = json.loads(lp(place, "book", "Ethereum/ETH", "--json").output)
    assert {"tick": sell["tick"], "price": sell["price"], "amount": sell["amount"]} in book["asks"]
    assert "0.5 ETH" in lp(place, "book", "ETH").output

    closed = json.loads(lp(place, "cancel", "ETH", "buy", "--json").output)
    assert [(order["side"], order["amount"]) for order in closed] == [("buy", buy["amount"])]
    assert "sell" in lp(place, "cancel", "--all").output
    assert json.loads(lp(place, "orders", "--json").output) == []


def test_a_range_order_is_set_by_prices_and_amounts_or_by_ticks_and_liquidity(place: Market) -> None:
    """Set a range order by amounts or by liquidity, and refuse one that cannot pay its minimum."""
    terms = ("set-range", "eth", "--id", "3", "--price", "2500", "3100", "--amounts", "5", "15000")
    done = lp(place, *terms)
    assert done.output.startswith("set: range order 3 of ETH: liquidity "), done.output
    again = json.loads(lp(place, *terms, "--json").output)
    assert again["changed"] is False
    (stands,) = json.loads(lp(place, "orders", "--json").output)
    assert again["order"] == {name: stands[name] for name in again["order"]}
    ticks = str(stands["lower"]), str(stands["upper"])
    half = str(int(stands["liquidity"]) // 2)
    by_ticks = json.loads(
        lp(place, "set-range", "ETH", "--id", "3", "--tick", *ticks, "--liquidity", half, "--json").output
    )
    assert by_ticks == {"order": again["order"] | {"liquidity": half}, "changed": True}
    short = lp(place, *terms, "--minimum", "5", "15000")
    assert (short.exit_code, "AssetRatioUnachievable" in short.output) == (ExitCode.FAILURE, True)
    closed = json.loads(lp(place, "cancel", "ETH", "range", "--id", "3", "--json").output)
    assert closed == [by_ticks["order"]]


def test_balances_are_in_whole_units_or_in_base_units(place: Market) -> None:
    """Print balances in base units as JSON and in whole units as text."""
    amounts = json.loads(lp(place, "balances", "--json").output)
    assert 99 * ETHER < int(amounts["Eth"]) <= 100 * ETHER
    (line,) = [line for line in lp(place, "balances").output.splitlines() if line.startswith("ETH ")]
    assert line.split()[1].startswith("99.")


@pytest.mark.world
def test_fills_are_printed_by_block(tmp_path: Path) -> None:
    """Print the fills of each block, with order, sold and bought amount."""
    with market(tmp_path) as place:
        assert "no fills" in lp(place, "fills").output
        lp(place, "set-limit", "ETH", "buy", "50000", "--tick", str(place.tick() + 20), "--id", "3")
        place.swap(ETHER)
        (block,) = json.loads(lp(place, "fills", "--since", "1", "--json").output)
        (fill,) = block["fills"]
        assert (fill["side"], fill["id"], list(fill["sold"]), list(fill["bought"])) == (
            "buy",
            3,
            ["Usdc"],
            ["Eth"],
        )
        printed = lp(place, "fills").output
        assert printed.startswith(f"block {block['blockNumber']}: buy order 3 of ETH gave 280")


def test_what_is_wrong_is_named(place: Market) -> None:
    """Name the missing, excessive or contradicting argument, and the orders that the chain refused."""
    for arguments, words in (
        (("set-limit", "ETH", "sell", "1", "--id", "1"), "give --price PRICE or --tick TICK"),
        (("set-limit", "ETH", "sell", "0", "--id", "1", "--tick", "1"), "expected an amount above 0"),
        (("set-limit", "ETH", "sell", "1", "--id", "1", "--tick", "900000"), "expected a tick from"),
        (("set-limit", "USDC", "sell", "1", "--id", "1", "--tick", "1"), "there is no pool of USDC and USDC"),
        (("set-limit", "ETH", "ask", "1", "--id", "1", "--tick", "1"), "Choose from sell, buy"),
        ((*RANGE, "--liquidity", "1"), "give --price LOW HIGH or --tick LOW HIGH"),
        ((*RANGE, "--tick", "1", "2"), "give --amounts ASSET USDC or --liquidity NUMBER"),
        (
            (*RANGE, "--tick", "1", "2", "--liquidity", "1", "--minimum", "1", "1"),
            "--minimum needs --amounts",
        ),
        ((*RANGE, "--tick", "2", "1", "--liquidity", "1"), "expected a tick above the lower one"),
        ((*RANGE, "--price", "2", "1", "--amounts", "1", "1"), "expected a tick above the lower one"),
        ((*RANGE, "--tick", "1", "900000", "--liquidity", "1"), "expected a tick from"),
        ((*RANGE, "--tick", "1", "2", "--amounts", "0", "0"), "expected an amount above 0"),
        (("cancel",), "give an ASSET (and SIDE, --id), or --all alone"),
        (("cancel", "ETH", "--all"), "or --all alone"),
        (("orders", "--lp-account", "cF12"), "expected the SS58 address"),
    ):
        result = lp(place, *arguments)
        assert result.exit_code == ExitCode.USAGE, (arguments, result.output)
        assert words in result.output, (arguments, result.output)
    refused = lp(place, "set-limit", "ETH", "sell", "5000", "--id", "1", "--tick", "1", "--json")
    assert refused.exit_code == ExitCode.FAILURE
    assert json.loads(refused.output)["error"]["code"] == "ORDERS_INCOMPLETE"
