"""Chainflip's published clients ask a development node all that they can, and understand every answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from cfnode.core.scale.metadata import Metadata
from tests.conftest import shared
from tests.interop.asked import Asked, questions
from tests.interop.lively import BROKER, PROVIDER, Life, account
from tests.rpc.requirements import REQUIRED
from tests.rpc.samples import BTC, PAIR, PARAMS
from tests.support.interop.programs import report_of, script_of
from tests.support.rpc.cases import CASES, MORE_CASES, Case
from tests.support.rpc.samples_chain import ask, metadata

pytestmark = pytest.mark.world

__all__ = ["metadata"]  # a fixture

CLIENTS: Final = ("@chainflip/rpc", "chainflip-rpc-1.11", "chainflip-rpc-1.8")

REFUSED: Final = {
    "@chainflip/rpc": {
        # 2.2 is older than BSC and CBBTC: pools of assets that it does not know it refuses.
        "cf_available_pools": "Invalid literal value",
    },
    "chainflip-rpc-1.11": {
        # It is older than WBTC and Tron: what is not in its list of assets and chains it refuses.
        "cf_available_pools": "Invalid literal value",
        "broker_request_swap_parameter_encoding": "Invalid discriminator value",
        "cf_request_swap_parameter_encoding": "Invalid discriminator value",
        # It wants a broker's address under the keys of this epoch and of the one before.
        "cf_get_vault_addresses": "No current BTC address for broker",
        # A loan's account had a collateral to be topped up then.
        "cf_lending_config": "topup",
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
EMPTY: Final = {
    *("cf_get_trading_strategies", "cf_lending_pools", "cf_loan_accounts"),
    *("cf_lending_pool_supply_balances", "cf_all_loans"),
}
"""What has no entries on a development chain."""


@pytest.fixture(scope="module")
def asked(lively: Life) -> Asked:
    """Return the questions for the played chain."""
    return questions(lively)


@pytest.fixture(scope="module")
def clients(node_modules: Path) -> Path:
    """Return the folder of the peers, with Chainflip's clients in it."""
    if not all((node_modules / client).exists() for client in CLIENTS):
        pytest.skip("Chainflip's clients are not among the Node.js peers: scripts/peers installs them")
    return node_modules


@pytest.fixture(scope="module")
def verdicts(lively: Life, asked: Asked, clients: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return by client, transport and method, for each question None or why its answer was misunderstood."""
    folder = tmp_path_factory.mktemp("asked")
    file = folder / "asked.json"
    file.write_text(json.dumps(asked))
    script = script_of("chainflip_rpc.mjs", clients, folder)
    return report_of("node", script, lively.node.url, ",".join(CLIENTS), str(file))


def test_every_method_of_the_newest_client_is_asked(asked: Asked, verdicts: Any) -> None:
    """Ask every method over HTTP with the newest client, and fewer with the older ones."""
    assert set(verdicts[CLIENTS[0]]["http"]) == set(asked)
    for client in CLIENTS[1:]:
        assert set(verdicts[client]["ws"]) < set(asked)


@pytest.mark.parametrize("transport", ["http", "ws"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_published_client_understands_every_answer(verdicts: Any, client: str, transport: str) -> None:
    """Parse every answer with a published client, except those that its age explains."""
    answers = verdicts[client][transport]
    refused = {method: [reason for reason in reasons if reason] for method, reasons in answers.items()}
    refused = {method: reasons for method, reasons in refused.items() if reasons}
    expected = REFUSED.get(client, {})
    assert {method: refused[method] for method in refused.keys() - expected.keys()} == {}
    assert expected.keys() - refused.keys() == set(), "these are understood by now: take them off the lists"
    for method, words in expected.items():
        assert all(words in reason for reason in refused[method]), refused[method]


def test_the_answers_that_were_understood_are_not_empty(lively: Life, asked: Asked) -> None:
    """Answer with entries wherever there can be any: a parser accepts anything that is empty."""
    full = {name for name in asked if all(lively.node.call(name, *params) for params in asked[name])}
    assert asked.keys() - full == EMPTY


def test_what_has_happened_stands_in_the_answers(lively: Life) -> None:
    """Return in the answers what the played life has done."""
    ask_node = lively.node.call
    orders = ask_node("cf_pool_orders", *PAIR, account(PROVIDER))
    kinds = (*orders["limit_orders"].values(), orders["range_orders"])
    assert [len(kind) for kind in kinds] == [1, 1, 1]
    (boosts,) = ask_node("cf_boost_pool_details", BTC)
    assert len(boosts["deposits_pending_finalization"]) == 1
    answers = [ask_node("cf_ingress_egress_events", *params) for params in lively.seen]
    assert all(
        any(answer[kind] for answer in answers) for kind in ("deposits", "broadcasts", "vault_deposits")
    )
    broker = ask_node("cf_account_info", account(BROKER))
    assert int(broker["earned_fees"]["Ethereum"]["USDC"], 16) > 0
    assert (len(broker["affiliates"]), broker["btc_vault_deposit_address"][:5]) == (1, "bcrt1")
    assert set(lively.failed) == {"Ethereum", "Arbitrum", "Tron"}
    assert {price["price_status"] for price in ask_node("cf_oracle_prices")} == {"UpToDate"}


SAMPLED_OTHERWISE: Final = {
    "cf_available_pools": "the base is any asset and the quote the same",
    "cf_boost_pool_details": "there are boost pools of every asset, of Polkadot's too",
    "cf_boost_pool_pending_fees": "there are boost pools of every asset, of Polkadot's too",
    "cf_get_vault_addresses": "all addresses are of one chain",
    "cf_request_swap_parameter_encoding.tron": "the vault's address is any text",
}
"""What samples are that no chain's state can be."""


@pytest.fixture
async def samples(metadata: Metadata) -> dict[str, Any]:
    """Return by case, the answers of every row on the main net's runtime, with samples of its types."""
    results = {}
    for case, (name, params, changes) in sampled().items():
        cases = {"Asset": "Usdc"} if name in ("cf_environment", "cf_pools_environment") else changes
        results[case] = await ask(metadata, name, *params, **cases)
    return results


def refusals(results: dict[str, Any], clients: Path, folder: Path) -> dict[str, dict[str, str]]:
    """Return by client, the words with which its parsers refuse results by case."""
    folder.mkdir()
    file = folder / "results.json"
    file.write_text(json.dumps({case: [case.partition(".")[0], result] for case, result in results.items()}))
    script = script_of("chainflip_parsers.mjs", clients, folder)
    refused: dict[str, dict[str, str]] = report_of("node", script, ",".join(CLIENTS), str(file))
    return refused


async def test_the_newest_parser_understands_the_main_nets_runtime(
    samples: dict[str, Any], clients: Path, tmp_path: Path
) -> None:
    """Parse answers of the main net's own types with the newest client, except for impossible samples."""
    refused = refusals(samples, clients, tmp_path / "ours")[CLIENTS[0]]
    assert {case: words for case, words in refused.items() if case not in SAMPLED_OTHERWISE} == {}
    assert set(refused) == set(SAMPLED_OTHERWISE)


async def test_a_client_of_any_age_refuses_of_ours_only_what_it_refuses_of_the_official_node(
    samples: dict[str, Any], clients: Path, tmp_path: Path
) -> None:
    """Have a client refuse of ours only what it refuses of the official node, too."""
    official = {path.stem: json.loads(path.read_text()) for path in shared("rpc-examples").glob("cf_*.json")}
    both = {case: samples[case] for case in samples.keys() & official.keys()}
    assert len(both) > 40
    ours = refusals(both, clients, tmp_path / "ours")
    theirs = refusals(official, clients, tmp_path / "theirs")
    for client in CLIENTS:
        more = ours[client].keys() - theirs[client].keys() - set(SAMPLED_OTHERWISE)
        assert {case: ours[client][case] for case in more} == {}


def sampled() -> dict[str, Case]:
    """Return the parameters of each method, and the variants with which its runtime API answers."""
    plain_cases: dict[str, Case] = {
        name: (name, PARAMS.get(name, []), {}) for name in REQUIRED if "." not in name
    }
    return plain_cases | CASES | MORE_CASES
