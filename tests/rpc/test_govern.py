"""`dev_govern`: governance's calls in JSON, and what JSON is none."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.devchain.methods.metadata_reader import read_call
from tests.rpc.conftest import Served

ETH = {"chain": "Ethereum", "asset": "ETH"}
FEES = {"SetNetworkFeeForAsset": {"asset": ETH, "rate": 2_500}}


async def test_governance_changes_what_swaps_cost(instant: Served) -> None:
    """Change what swaps cost by governance, and pass on a refusal and a missing member."""
    block = await instant.call("dev_govern", "Swapping", "update_pallet_config", {"updates": [FEES]})
    (event,) = [event for event in await instant.call("dev_events", block) if event["pallet"] == "Swapping"]
    assert event["fields"] == {"update": ["SetNetworkFeeForAsset", {"asset": "Eth", "rate": 2_500}]}
    fees = (await instant.call("cf_environment"))["swapping"]["network_fees"]
    assert fees["regular_network_fee"]["rates"]["Ethereum"]["ETH"] == 2_500

    refused = {"updates": [{"SwapRetryDelay": {"delay": 0}}]}
    error = await instant.error("dev_govern", "Swapping", "update_pallet_config", refused)
    assert (error["code"], 'name: "ZeroSwapRetryDelayNotAllowed"' in error["message"]) == (-32024, True)
    for arguments in ([], {}):
        error = await instant.error("dev_govern", "Swapping", "update_pallet_config", arguments)
        assert error["code"] == -32602
    assert error["data"] == "arguments: missing member updates"


ACCOUNT = b"\x07" * 32
CALLS: list[tuple[str, str, dict[str, Any], Any]] = [
    ("System", "remark", {"remark": "0x00ff"}, {"remark": b"\x00\xff"}),
    ("LiquidityProvider", "register_lp_account", {}, None),
    (
        "LiquidityProvider",
        "purge_balances",
        {"accounts": [[ss58.encode(ACCOUNT, 2112), "Btc", "0xff"]]},
        {"accounts": [(ACCOUNT, "Btc", 255)]},
    ),
    (
        "LiquidityProvider",
        "schedule_swap",
        {
            "amount": 1,
            "input_asset": {"chain": "Arbitrum", "asset": "USDC"},
            "output_asset": "Btc",
            "retry_duration": 5,
            "price_limits": {"min_price": "0x" + "f" * 64},
        },
        {
            "amount": 1,
            "input_asset": "ArbUsdc",
            "output_asset": "Btc",
            "retry_duration": 5,
            "price_limits": {"min_price": 2**256 - 1, "max_oracle_price_slippage": None},
            "dca_params": None,
        },
    ),
    (
        "Environment",
        "batch",
        {"calls": [{"System": {"remark": {"remark": "0x"}}}, {"LiquidityProvider": "register_lp_account"}]},
        {"calls": [("System", ("remark", {"remark": b""})), ("LiquidityProvider", "register_lp_account")]},
    ),
    (
        "LiquidityPools",
        "update_range_order",
        {
            "base_asset": "Eth",
            "quote_asset": "Usdc",
            "id": 3,
            "option_tick_range": {"start": -5, "end": 5},
            "size_change": {"Increase": {"Liquidity": {"liquidity": 9}}},
        },
        {
            "base_asset": "Eth",
            "quote_asset": "Usdc",
            "id": 3,
            "option_tick_range": {"start": -5, "end": 5},
            "size_change": ("Increase", ("Liquidity", {"liquidity": 9})),
        },
    ),
]


@pytest.fixture(scope="module")
def main_net(metadata_v15: bytes) -> Metadata:
    """Decode the main net's metadata."""
    return decode_metadata(metadata_v15)


@pytest.mark.parametrize(("pallet", "name", "said", "meant"), CALLS)
def test_a_call_of_the_main_net_is_read_by_its_metadata(
    main_net: Metadata, pallet: str, name: str, said: dict[str, Any], meant: Any
) -> None:
    """Read a call's JSON by the metadata: hex, accounts, assets, enums, nested calls."""
    assert read_call(main_net, pallet, name, said) == (pallet, name if meant is None else (name, meant))


def test_no_depth_of_json_is_too_much(main_net: Metadata) -> None:
    """Refuse JSON that is nested too deeply instead of exhausting the stack."""
    deep: Any = {"System": {"remark": {"remark": "0x"}}}
    for _ in range(200):
        deep = {"Environment": {"batch": {"calls": [deep]}}}
    with pytest.raises(ValueError, match="nested too deeply"):
        read_call(main_net, "Environment", "batch", {"calls": [deep]})


@pytest.mark.parametrize(
    ("pallet", "call", "arguments", "reason"),
    [
        ("Nothing", "update_pallet_config", {}, "pallet: no pallet"),
        ("Swapping", "nothing", {}, "call: Swapping has no call"),
        ("Swapping", "update_pallet_config", {"updates": {}}, "updates: expected an array"),
        ("Swapping", "update_pallet_config", {"updates": [{"Nothing": {}}]}, "expected one of"),
        (
            "Swapping",
            "update_pallet_config",
            {"updates": [{"SetBrokerBond": {"bond": "0x1" + "0" * 32}}]},
            "bond",
        ),
        ("Swapping", "update_pallet_config", {"updates": [], "more": 1}, "unknown member"),
        (
            "Swapping",
            "update_pallet_config",
            {"updates": [{"SwapRetryDelay": {"delay": "9"}}]},
            "delay: expected",
        ),
        ("System", "remark", {"remark": "hello"}, "remark: "),
        ("LiquidityProvider", "purge_balances", {"accounts": [["x", "Eth", 1]]}, "Length is bad"),
        ("LiquidityProvider", "purge_balances", {"accounts": [[]]}, "an array of 3"),
    ],
)
def test_what_is_no_call(main_net: Metadata, pallet: str, call: str, arguments: Any, reason: str) -> None:
    """Name the part of a call that is wrong."""
    with pytest.raises(ValueError, match=reason) as caught:
        read_call(main_net, pallet, call, arguments)
    assert str(caught.value).partition(": ")[0] in ("pallet", "call", "arguments")
