"""Chainflip's published clients ask a development node all that they can, and understand every answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop.lively import (
    ARB_ETH,
    BROKER,
    PROVIDER,
    SOL_ADDRESS,
    SOL_USDC,
    TRON_ADDRESS,
    TRON_USDT,
    TRX,
    Life,
    account,
)
from tests.interop.test_clients import report_of, script_of
from tests.process import NodeProcess
from tests.rpc.samples import ACCOUNT, BTC, ETH, EVM_ADDRESS, PAIR, REFUND, SOL, TICKS, USDC
from tests.rpc.sane import SIGNATURE
from tests.sdk.place import node_with_broker

CLIENTS: Final = ("@chainflip/rpc", "chainflip-rpc-1.11", "chainflip-rpc-1.8")

Asked = dict[str, list[list[Any]]]


@dataclass
class Lively:
    """A node on whose chain much has happened, and what can be asked there."""

    node: NodeProcess
    asked: Asked


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lively]:
    with node_with_broker(tmp_path_factory.mktemp("lively")) as node:
        node.call("dev_newBlock")
        life = Life(node)
        life.price()
        life.provide()
        failed = life.fail_transfers()
        life.boost()
        life.trade()
        seen = [*life.pay_in(), life.sent_on("Ethereum")]
        yield Lively(node, questions(node, failed, seen))


def vault_swaps() -> list[list[Any]]:
    """The parameters of vault swaps from each chain, of coins and of tokens."""
    found = []
    evm = {"input_amount": "0xde0b6b3a7640000", "refund_parameters": REFUND}
    tron = {"input_amount": "0xf4240", "refund_parameters": REFUND | {"refund_address": TRON_ADDRESS}}
    solana = {
        "input_amount": "0xf4240",
        "from": SOL_ADDRESS,
        "seed": "0x" + "11" * 32,
        "refund_parameters": REFUND | {"refund_address": SOL_ADDRESS},
    }
    bitcoin = {"min_output_amount": "0x5", "retry_duration": 10}
    for asset, terms in (
        *((BTC, bitcoin), (ETH, evm), (USDC, evm), (ARB_ETH, evm)),
        *((TRX, tron), (TRON_USDT, tron), (SOL, solana), (SOL_USDC, solana)),
    ):
        target, address = (ETH, EVM_ADDRESS) if asset != ETH else (ARB_ETH, EVM_ADDRESS)
        found.append([asset, target, address, 10, {"chain": asset["chain"], **terms}])
    return found


def questions(node: NodeProcess, failed: dict[str, int], seen: list[tuple[str, str]]) -> Asked:
    """What a client has methods for, and with which parameters each is asked."""
    swaps, (validator, *_) = vault_swaps(), node.call("cf_all_account_infos", ["Validator"])
    broker, provider, authority = account(BROKER), account(PROVIDER), validator["account_id"]
    terms = [ETH, BTC, "bcrt1qs758ursh4q9z627kt3pp5yysm78ddny6txaqgw", 10]
    opened = [*terms, None, 0, None, REFUND, {"number_of_chunks": 2, "chunk_interval": 2}]
    plain = (
        "cf_accounts", "cf_boost_pools_depth", "cf_environment", "cf_funding_environment",
        "cf_ingress_egress_environment", "cf_pools_environment", "cf_supported_assets",
        "cf_swapping_environment", "state_getMetadata", "state_getRuntimeVersion",
        "cf_authority_emission_per_block", "cf_epoch_duration", "cf_auction_state",
        "cf_monitoring_simulate_auction", "cf_flip_supply", "cf_eth_state_chain_gateway_address",
        "cf_eth_key_manager_address", "cf_available_pools", "cf_safe_mode_statuses", "cf_oracle_prices",
        "cf_get_trading_strategies", "cf_get_trading_strategy_limits", "cf_lending_pools",
        "cf_lending_config", "cf_loan_accounts", "cf_lending_pool_supply_balances", "cf_all_loans",
        "cf_get_vault_addresses", "cf_all_account_infos", "cf_boost_pool_details",
        "cf_boost_pool_pending_fees",
    )  # fmt: skip
    return {
        **{name: [[]] for name in plain},
        "chain_getBlockHash": [[0], []],
        "broker_request_swap_deposit_address": [opened],
        "broker_request_account_creation_deposit_address": [
            [SIGNATURE, {"nonce": 0, "expiry_block": 10_000}, ETH, None, EVM_ADDRESS]
        ],
        "broker_request_swap_parameter_encoding": swaps,
        "cf_request_swap_parameter_encoding": [[broker, *swap] for swap in swaps],
        "broker_encode_cf_parameters": [[*terms, REFUND]],
        "cf_encode_cf_parameters": [[broker, *terms, REFUND]],
        "cf_account_info": [[each] for each in (broker, provider, authority, ACCOUNT)],
        "cf_pool_depth": [[*PAIR, TICKS]],
        "cf_pool_orders": [PAIR, [*PAIR, provider], [*PAIR, provider, True]],
        "cf_pool_orderbook": [[*PAIR, 100]],
        "cf_pool_price_v2": [PAIR],
        "cf_swap_rate": [[*PAIR, "0xde0b6b3a7640000"], [ETH, BTC, "0xde0b6b3a7640000"]],
        "cf_swap_rate_v2": [[*PAIR, "0xde0b6b3a7640000"], [ETH, BTC, "0xde0b6b3a7640000"]],
        "cf_swap_rate_v3": [[*PAIR, "0xde0b6b3a7640000", 10], [ETH, BTC, "0xde0b6b3a7640000", 10]],
        "lp_total_balances": [[provider]],
        **{f"cf_failed_call_{chain.lower()}": [[broadcast]] for chain, broadcast in failed.items()},
        "cf_ingress_egress_events": [list(each) for each in seen],
    }


REFUSED: Final = {
    "chainflip-rpc-1.11": {
        # It is older than WBTC and Tron: what is not in its list of assets and chains it refuses.
        "cf_available_pools": "Invalid literal value",
        "broker_request_swap_parameter_encoding": "Invalid discriminator value",
        "cf_request_swap_parameter_encoding": "Invalid discriminator value",
        # It wants a broker's address under the keys of this epoch and of the one before.
        "cf_get_vault_addresses": "No current BTC address for broker",
    },
    "chainflip-rpc-1.8": {
        "broker_request_swap_parameter_encoding": "Invalid discriminator value",
        "cf_request_swap_parameter_encoding": "Invalid discriminator value",
        # Members that the answers had at its time: of a provider and a validator, and of the auction.
        "cf_account_info": "Required",
        "cf_auction_state": "blocks_per_epoch",
    },
}
"""What a parser refuses on the main net too, with words of the refusal."""
UNANSWERED: Final = {
    "broker_request_account_creation_deposit_address": "-32024",
    "cf_get_trading_strategy_limits": "-32026",
    "cf_lending_config": "-32026",
}
"""What the development chain has no answer to, with the code of the error."""
EMPTY: Final = {
    *("cf_get_trading_strategies", "cf_lending_pools", "cf_loan_accounts"),
    *("cf_lending_pool_supply_balances", "cf_all_loans"),
}
"""What has no entries on a development chain."""


@pytest.fixture(scope="module")
def told(lively: Lively, node_modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """By client, transport and method: for each question None or why the answer was not understood."""
    if not all((node_modules / client).exists() for client in CLIENTS):
        pytest.skip("Chainflip's clients are not among the Node.js peers: scripts/peers installs them")
    folder = tmp_path_factory.mktemp("asked")
    asked = folder / "asked.json"
    asked.write_text(json.dumps(lively.asked))
    script = script_of("chainflip_rpc.mjs", node_modules, folder)
    return report_of("node", script, lively.node.url, ",".join(CLIENTS), str(asked))


def test_every_method_of_the_newest_client_is_asked(lively: Lively, told: Any) -> None:
    assert set(told[CLIENTS[0]]["http"]) == set(lively.asked)
    for client in CLIENTS[1:]:
        assert set(told[client]["ws"]) < set(lively.asked)


@pytest.mark.parametrize("transport", ["http", "ws"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_published_client_understands_every_answer(told: Any, client: str, transport: str) -> None:
    answers = told[client][transport]
    refused = {method: [each for each in reasons if each] for method, reasons in answers.items()}
    refused = {method: reasons for method, reasons in refused.items() if reasons}
    expected = REFUSED.get(client, {}) | {
        method: UNANSWERED[method] for method in UNANSWERED if method in answers
    }
    assert {method: refused[method] for method in refused.keys() - expected.keys()} == {}
    assert expected.keys() - refused.keys() == set(), "these are understood by now: take them off the lists"
    for method, words in expected.items():
        assert all(words in reason for reason in refused[method]), refused[method]


def test_the_answers_that_were_understood_are_not_empty(lively: Lively) -> None:
    empty = set()
    for method, questions in lively.asked.items():
        if method not in UNANSWERED and not all(lively.node.call(method, *each) for each in questions):
            empty.add(method)
    assert empty == EMPTY
