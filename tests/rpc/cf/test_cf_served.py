"""cf_* on a running development node: what it answers, and that every listed row answers in an agreed way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.assets import asset_by_symbol
from cfnode.core.scale.metadata import decode_metadata
from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.table.rows import Method
from tests.conftest import shared
from tests.rpc.conftest import ALICE, MakeServed, Served
from tests.rpc.samples import PARAMS

UNKNOWN = "0x" + "77" * 32
ROWS = [row.name for row in (*CF, *MONITORING) if isinstance(row, Method)]
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "development-chain.md"
ACCOUNT = ss58.encode(ALICE.public, 2112)


async def test_the_chain_returns_its_epoch_funding_and_contracts(served_node: Served) -> None:
    """Return epoch, funding, gateway and supply of the chain."""
    assert await served_node.call("cf_current_epoch") == 1
    assert await served_node.call("cf_min_funding") == hex(10**18)
    gateway = await served_node.call("cf_eth_state_chain_gateway_address")
    assert len(gateway) == 40
    assert int(gateway, 16) > 0
    total, outside = await served_node.call("cf_flip_supply")
    assert int(total, 16) >= int(outside, 16) > 0
    assert await served_node.call("cf_tx_fee_multiplier") == 10_000


async def test_the_broker_is_among_the_accounts(served_node: Served) -> None:
    """List the broker among the accounts."""
    assert served_node.node.broker is not None
    broker = ss58.encode(served_node.node.broker.account, 2112)
    assert [broker, ""] in await served_node.call("cf_accounts")


async def test_an_unknown_block_and_a_block_with_a_discarded_state_get_different_errors(
    make_served: MakeServed,
) -> None:
    """Distinguish an unknown block from one whose state was discarded, in the official texts."""
    served = await make_served(pruning=2)
    first = await served.call("dev_newBlock")
    for _ in range(8):
        await served.call("dev_newBlock")
    gone = await served.error("cf_current_epoch", first["hash"] if isinstance(first, dict) else first)
    never = await served.error("cf_current_epoch", UNKNOWN)
    assert gone["code"] == never["code"] == -32022
    assert gone["message"].startswith("Unknown block: State already discarded for 0x")
    assert never["message"] == f"Unknown block: Header was not found in the database: {UNKNOWN}"
    assert "data" not in never


async def test_a_method_that_the_runtime_lacks_is_unsupported(served_node: Served) -> None:
    """Refuse a method that the runtime lacks as unsupported, and name it."""
    error = await served_node.error("cf_witness_count", *PARAMS["cf_witness_count"])
    assert error["code"] == -32026
    assert error["message"].startswith("CfApiError::UnsupportedRuntimeApiVersion")
    assert "CustomRuntimeApi_cf_witness_count" in error["message"]


@pytest.mark.parametrize(
    ("account", "reason"),
    [
        ("0x" + "11" * 32, "Base 58 requirement is violated"),
        ("cFnonsense", "Length is bad"),
        (5, "invalid type: integer `5`, expected a string at line 1 column 1"),
    ],
)
async def test_a_malformed_account_is_an_invalid_parameter(
    served_node: Served, account: Any, reason: str
) -> None:
    """Refuse a malformed account as an invalid parameter, with the reason."""
    error = await served_node.error("cf_free_balances", account)
    assert error == {"code": -32602, "message": "Invalid params", "data": reason}


ELECTIONS = {
    f"cf_{chain}_{what}"
    for chain in ("solana", "bitcoin", "ethereum", "arbitrum", "tron", "bsc", "assethub", "generic")
    for what in ("electoral_data", "filter_votes")
}
NEWER = {"cf_failed_call_bsc", "cf_withdrawal_whitelist"}
"""Methods for runtimes that are newer than those of the development chain."""
NOT_MODELLED = {
    "cf_generate_gov_key_call_hash",
    "cf_witness_count",
    "cf_evm_calldata",
}


async def test_the_rules_of_lending_and_strategies_are_those_of_the_main_nets_runtime(
    served_node: Served,
) -> None:
    """Use the main net's rules of lending and strategies on the development chain."""
    theirs = decode_metadata(shared("vectors", "chainflip", "metadata-v15-20300.scale").read_bytes())
    rules = theirs.storage("LendingPools", "LendingConfig").decode(None)
    config = await served_node.call("cf_lending_config")
    amounts = {name for name in config if name.endswith("_usd")}
    assert {name: int(config[name], 16) if name in amounts else config[name] for name in config} == {
        name: rules[name] for name in config
    }
    limits = await served_node.call("cf_get_trading_strategy_limits")
    for member, item in (
        ("deployment", "DeploymentAmountForStrategy"),
        ("added_funds", "AddedFundsToStrategy"),
    ):
        least = dict(theirs.storage("TradingStrategy", f"Minimum{item}").decode(None))
        minimum = limits[f"minimum_{member}_amount"]
        assert minimum == {
            chain: {symbol: least.get(asset_by_symbol(chain, symbol).name) for symbol in symbols}
            for chain, symbols in minimum.items()
        }


async def test_what_the_development_chain_does_not_model_is_what_its_guide_lists(
    served_node: Served,
) -> None:
    """Model everything but what the guide lists."""
    unsupported = set()
    for name in ROWS:
        answer = await served_node.http.call(name, *PARAMS.get(name, ()))
        if "error" in answer and answer["error"]["code"] == -32026:
            unsupported.add(name)
    assert unsupported - NEWER == NOT_MODELLED | ELECTIONS
    guide = GUIDE.read_text()
    assert [name for name in sorted(NOT_MODELLED) if f"`{name}`" not in guide] == []
