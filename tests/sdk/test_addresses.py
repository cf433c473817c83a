"""Which texts are addresses, by the results of the libraries that the JavaScript SDK uses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cfnode.sdk.addresses import is_account, is_address
from cfnode.sdk.networks import NETWORKS
from tests.conftest import shared

BITCOIN = {"mainnet": "mainnet", "perseverance": "testnet", "sisyphos": "testnet", "backspin": "regtest"}


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(shared("sdk-examples", "address-vectors.json").read_text())
    return document


@pytest.mark.parametrize(
    ("kind", "chains"),
    [
        ("evm", ["Ethereum", "Arbitrum", "Bsc"]),
        ("solana", ["Solana"]),
        ("polkadot", ["Polkadot", "Assethub"]),
        ("tron", ["Tron"]),
    ],
)
def test_addresses_that_are_the_same_on_each_network(
    vectors: dict[str, Any], kind: str, chains: list[str]
) -> None:
    for network in NETWORKS.values():
        for chain in chains:
            verdicts = {text: is_address(text, chain, network) for text in vectors[kind]}
            assert verdicts == vectors[kind]


@pytest.mark.parametrize("network", list(BITCOIN))
def test_bitcoin_addresses_belong_to_one_network(vectors: dict[str, Any], network: str) -> None:
    for text, expected in vectors["bitcoin"].items():
        assert is_address(text, "Bitcoin", NETWORKS[network]) == expected[BITCOIN[network]], text


def test_the_development_chain_has_regtest_addresses(vectors: dict[str, Any]) -> None:
    for text, expected in vectors["bitcoin"].items():
        assert is_address(text, "Bitcoin", NETWORKS["dev"]) == expected["regtest"], text


def test_accounts_of_affiliates(vectors: dict[str, Any]) -> None:
    assert {text: is_account(text) for text in vectors["cf"]} == vectors["cf"]


@pytest.mark.parametrize("text", [None, 5, "0x" + "a" * 300, b"0x00"])
def test_what_is_no_short_text_is_no_address(text: object) -> None:
    assert not is_address(text, "Ethereum", NETWORKS["dev"])
