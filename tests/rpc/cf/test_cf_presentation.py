"""Every cf_* answer has the members and the value forms of the official node.

The rows are asked on a chain that answers each runtime API of the real metadata (runtime 2.2.3) with a value
of its type; what they make of it is compared, member by member, with serialisations of the official node.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from cfnode.core import jsonrpc
from cfnode.core.assets import CHAINS
from cfnode.core.jsonrpc import RpcError
from cfnode.core.scale.metadata import Metadata
from cfnode.core.scale.types import Variants
from cfnode.node.chain.runtime_api import ApiMissing
from cfnode.rpc.cf import controlled, witnessed
from cfnode.rpc.cf.json_overrides import vanity_name
from tests.rpc.samples import AMOUNT, PARAMS
from tests.support.rpc.cases import CASES
from tests.support.rpc.official import differences, example
from tests.support.rpc.samples_chain import ROWS, ask, metadata

__all__ = ["metadata"]  # a fixture

VAULT = next(vault for vault in controlled._VAULTS.values() if vault.rotates)


# The examples of these were built from numbers that a node has as amounts.
LOOSE = {
    "cf_environment", "cf_funding_environment", "cf_ingress_egress_environment", "cf_auction_state",
    "cf_swapping_environment", "cf_swap_rate", "cf_account_info.lp", "cf_account_info.no_account",
    *(name for name in CASES if name.startswith("broker_decode_vault_swap_parameter")),
}  # fmt: skip
OPTIONAL = {"account_id", "bound_redeem_address", "restricted_balances", "current_delegation_status",
            "upcoming_delegation_status", "vanity_name", "operator"}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_members_and_value_forms_are_those_of_the_official_node(metadata: Metadata, case: str) -> None:
    """Write each answer with the members and value forms of the official node's examples."""
    name, params, cases = CASES[case]
    ours = await ask(metadata, name, *params, **cases)
    mismatches = differences(ours, example(case), "", case in LOOSE)
    assert [line for line in mismatches if line.partition(" ")[0].rpartition(".")[2] not in OPTIONAL] == []


async def test_the_environment_names_the_chains_and_assets_of_its_runtime(metadata: Metadata) -> None:
    """Name exactly the runtime's own chains and assets in the environment."""
    definition = metadata.registry.find("chains", "ForeignChain").definition
    assert isinstance(definition, Variants)
    chains = {case.name for case in definition.variants}
    answer = await ask(metadata, "cf_ingress_egress_environment")
    for name in ("witness_safety_margins", "channel_opening_fees", "ingress_delays", "boost_delays"):
        assert answer[name].keys() == chains == CHAINS.keys() - {"Bsc"}
    assert answer["minimum_deposit_amounts"].keys() == chains
    # One asset is in the runtime's map; of each other one unit may be added.
    minimums = [
        minimum for chain in answer["boost_minimum_add_funds_amounts"].values() for minimum in chain.values()
    ]
    assert sorted(set(minimums)) == ["0x1", hex(AMOUNT)]
    assert minimums.count(hex(AMOUNT)) == 1


async def test_a_chain_without_vaults_has_an_empty_list(
    metadata: Metadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Return an empty list for a chain without vaults."""

    async def none(*_: Any, **__: Any) -> Any:
        return {"bitcoin_vault": None, "bitcoin": [], "predicted_seconds_until_next_vault_rotation": 0}

    monkeypatch.setattr(controlled, "value", none)
    assert await ask(metadata, "cf_controlled_vault_addresses", "Bitcoin") == {"Bitcoin": []}


async def test_the_next_rotation_is_counted_from_the_clock(
    metadata: Metadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Count the next rotation from the clock, to the millisecond."""

    async def one(*_: Any, **__: Any) -> Any:
        return {
            "bitcoin_vault": {"Btc": b"x"},
            "bitcoin": [],
            "predicted_seconds_until_next_vault_rotation": 60,
        }

    monkeypatch.setattr(controlled, "value", one)
    monkeypatch.setattr(controlled, "_named", lambda vaults: [(VAULT, ("Btc", b"x"))])
    monkeypatch.setattr(controlled, "time", SimpleNamespace(time_ns=lambda: 1_500_000_000))
    answer = await ask(metadata, "cf_controlled_vault_addresses")
    assert [vault["next_predicted_rotation"] for vault in answer["Bitcoin"]] == [
        "1970-01-01 00:01:01.500 UTC"
    ]


@pytest.mark.parametrize(
    ("unix_ns", "text"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (1_500_000_000, "1970-01-01 00:00:01.500 UTC"),
        (1_000_250_000, "1970-01-01 00:00:01.000250 UTC"),
        (1_000_000_001, "1970-01-01 00:00:01.000000001 UTC"),
    ],
)
def test_a_time_has_the_digits_that_it_needs_in_threes(unix_ns: int, text: str) -> None:
    """Write a time with as many digits, in threes, as it needs."""
    assert controlled.clock_text(unix_ns) == text


def test_a_vanity_name_that_is_no_text_is_replaced_as_a_whole() -> None:
    """Replace a vanity name that is not UTF-8 as a whole."""
    assert (vanity_name("Zoë".encode()), vanity_name(b"a\xff")) == ("Zoë", "<Invalid UTF-8>")


async def test_what_was_witnessed_is_written_as_people_and_explorers_do(metadata: Metadata) -> None:
    """Write witnessed deposits and broadcasts in the addresses and ids that explorers display."""
    name = "cf_ingress_egress_events"
    ethereum = await ask(metadata, name, "Ethereum", RawWitnessedEvents="Ethereum", ForeignChainAddress="Eth")
    bitcoin = await ask(metadata, name, "Bitcoin", RawWitnessedEvents="Bitcoin")
    assert differences(ethereum | {"broadcasts": bitcoin["broadcasts"]}, example(name), "", False) == []
    assert ethereum["broadcasts"][0]["broadcast_id"] == 7
    assert bitcoin["vault_deposits"][0]["tx_id"] == "0x" + "11" * 32
    assert bitcoin["broadcasts"][0]["tx_out_id"] == {"hash": "11" * 32}
    assert bitcoin["deposits"][0]["deposit_address"].startswith("1")


async def test_what_a_newer_runtime_has_seen_of_assethub(
    metadata: Metadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write what a newer runtime has seen of Assethub."""
    extrinsic = {"block_number": 42, "extrinsic_index": 7}
    deposit = {
        "deposit_address": b"\x33" * 32,
        "asset": "HubDot",
        "amount": 200,
        "deposit_details": extrinsic,
    }
    sent = {"tx_out_id": b"\x22" * 64, "transaction_ref": extrinsic}

    async def seen(*_: Any, **__: Any) -> Any:
        return "Assethub", {"deposits": [(2, deposit)], "broadcasts": [(3, sent)]}

    monkeypatch.setattr(witnessed, "value", seen)
    name = "cf_ingress_egress_events"
    answer = await ask(metadata, name, "Assethub")
    assert answer["deposits"] == [
        deposit for deposit in example(name)["deposits"] if "Assethub" in str(deposit)
    ]
    assert answer["broadcasts"] == [
        {
            "broadcast_chain_block_height": 3,
            "broadcast_id": 7,
            "tx_out_id": {"signature": "22" * 64},
            "tx_ref": extrinsic,
        }
    ]
    assert answer["vault_deposits"] == []


UNOFFERED = {
    # what runtime 2.2.3 does not have
    *("cf_reward_distribution_estimate", "cf_withdrawal_whitelist", "cf_failed_call_bsc"),
    *(f"cf_{chain}_{what}" for chain in ("bsc", "assethub") for what in ("electoral_data", "filter_votes")),
}


@pytest.mark.parametrize("name", sorted(ROWS))
async def test_every_row_shows_what_its_runtime_api_gives(metadata: Metadata, name: str) -> None:
    """Give each row's answer as JSON, or say that the runtime has no such method."""
    if name in UNOFFERED:
        with pytest.raises((ApiMissing, RpcError), match="runtime 20203 has no"):
            await ask(metadata, name, *PARAMS.get(ROWS[name].name, []))
    else:
        answer = await ask(metadata, name, *PARAMS.get(ROWS[name].name, []))
        assert json.loads(jsonrpc.encode(answer)) == answer
