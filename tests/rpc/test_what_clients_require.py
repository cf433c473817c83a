"""Each result is what the published clients' parsers require of it.

Rows are asked as in `test_cf_presentation`, on the real metadata; what a runtime must have answered first is
asked of a development node.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from cfnode.core.scale.metadata import Metadata
from tests.conftest import shared
from tests.devchain.runtime.differences import ours
from tests.rpc.conftest import Served
from tests.rpc.forms import Requirement, a_hex, a_number, a_text, an_account, an_amount, failures
from tests.rpc.requirements import CHANNEL, REQUIRED, REWARDS, VAULT_SWAPS
from tests.rpc.samples import ACCOUNT, BTC, ETH, EVM_ADDRESS, PARAMS, REFUND
from tests.rpc.sane import BTC_ADDRESS
from tests.signing import signed_by_wallet
from tests.support.rpc.cases import CASES, MORE_CASES
from tests.support.rpc.official import differences, example
from tests.support.rpc.samples_chain import ask, metadata

__all__ = ["metadata"]  # a fixture


@pytest.mark.parametrize("case", REQUIRED)
async def test_a_result_is_what_the_clients_parsers_require(metadata: Metadata, case: str) -> None:
    """Give each result the form that the published clients' parsers require."""
    name, params, cases = (CASES | MORE_CASES).get(case, (case, PARAMS.get(case, []), {}))
    answer = await ask(metadata, name, *params, **cases)
    assert answer not in ([], {}, None), "a list without entries says nothing of their form"
    assert failures(answer, REQUIRED[case]) == []


EVM_TERMS = {"chain": "Ethereum", "input_amount": "0xde0b6b3a7640000", "refund_parameters": REFUND}
OPENED = [ETH, BTC, BTC_ADDRESS, 10]
ON_A_NODE: dict[str, tuple[list[Any], Requirement]] = {
    "chain_getBlockHash": ([0], a_hex),
    "state_getMetadata": ([], a_hex),
    "state_getRuntimeVersion": ([], {
        "specName": a_text, "implName": a_text, "authoringVersion": a_number, "specVersion": a_number,
        "implVersion": a_number, "transactionVersion": a_number, "stateVersion": a_number,
        "apis": [[a_hex, a_number]],
    }),
    "broker_request_swap_deposit_address": (
        [*OPENED, None, None, None, REFUND], CHANNEL | {"source_chain_expiry_block": an_amount},
    ),
    "broker_request_swap_parameter_encoding": ([*OPENED, EVM_TERMS], VAULT_SWAPS["ethereum"]),
    "broker_encode_cf_parameters": ([*OPENED, REFUND], a_hex),
    "broker_open_private_btc_channel": ([], a_number),
    "cf_get_vault_addresses": ([], {
        "ethereum": {"Eth": [a_number] * 20}, "arbitrum": {"Arb": [a_number] * 20},
        "bitcoin": [[an_account, {"Btc": [a_number]}]],
    }),
    "cf_account_info": ([ACCOUNT], {"role": a_text}),
    **{name: ([], REQUIRED[name]) for name in (
        "cf_supported_assets", "cf_available_pools", "cf_environment", "cf_accounts", "cf_epoch_duration",
        "cf_flip_supply", "cf_eth_key_manager_address", "cf_boost_pools_depth",
        "cf_safe_mode_statuses", "cf_oracle_prices",
    )},
}  # fmt: skip


async def test_a_development_node_answers_as_the_parsers_require(instant: Served) -> None:
    """Answer from a development node in the forms that the parsers require."""
    await instant.call("broker_register_account")
    problems = []
    for method, (params, wanted) in ON_A_NODE.items():
        problems += failures(await instant.call(method, *params), wanted, method)
    assert problems == []


async def test_a_channel_for_a_wallets_account_is_as_the_parsers_require(instant: Served) -> None:
    """Open a channel for a wallet's account with an answer that the parsers accept."""
    await instant.call("broker_register_account")
    remark = f"0x00005400{EVM_ADDRESS[2:]}"  # System.remark of the SCALE form of Eth(address)
    payload, bounds = await instant.call("cf_encode_non_native_call", remark, 100, 0, {"Eth": "PersonalSign"})
    asked = [signed_by_wallet(payload["String"]), bounds, ETH, None, EVM_ADDRESS]
    channel = await instant.call(WALLETS_CHANNEL, *asked)
    wanted = {"requested_for": an_account, "deposit_chain_expiry_block": an_amount, "refund_address": a_text}
    assert failures(channel, CHANNEL | wanted) == []


async def test_rewards_have_the_format_that_the_parsers_require() -> None:
    """Return rewards in the format of the parsers and of the official example."""
    rewards = await ask(ours("2.3.0"), REWARDS_METHOD, AccountRole="Validator")
    assert failures(rewards, REWARDS) == []
    assert differences(rewards, example(REWARDS_METHOD), "", False) == []


WALLETS_CHANNEL = "broker_request_account_creation_deposit_address"
REWARDS_METHOD = "cf_reward_distribution_estimate"
UNSERVED = {"cf_failed_call_bsc"}
"""What a client has a method for and no release of the runtime has (`test_cf_newer.py`)."""


def required_methods() -> set[str]:
    """Return the methods of the table of what the clients' parsers require."""
    notes = shared("sdk.md").read_text()
    table = notes[notes.index("### 5.1 ") : notes.index("### 5.2 ")]
    cells = re.findall(r"^\| ((?:chain|state|cf|lp|broker)_[^|]*?) \|", table, re.MULTILINE)
    methods: set[str] = set()
    for name, tail in (match for cell in cells for match in re.findall(r"(\w+_\w+)([^,]*)", cell)):
        methods.add(name)
        methods |= {name.rpartition("_")[0] + "_" + match for match in re.findall(r"/ ?(\w+)", tail)}
    return methods


def test_no_row_of_what_clients_require_is_forgotten() -> None:
    """Cover each method that the clients' parsers read."""
    held = {case.partition(".")[0] for case in (*REQUIRED, *ON_A_NODE)} | {WALLETS_CHANNEL, REWARDS_METHOD}
    required = required_methods()
    assert len(required) > 50
    assert required - held == UNSERVED
