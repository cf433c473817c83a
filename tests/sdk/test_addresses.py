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
    """Return texts with the verdicts of the libraries that the JavaScript SDK uses."""
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
    """Agree with the JavaScript SDK on addresses of EVM chains, Solana, Polkadot and Tron."""
    for network in NETWORKS.values():
        for chain in chains:
            verdicts = {text: is_address(text, chain, network) for text in vectors[kind]}
            assert verdicts == vectors[kind]


@pytest.mark.parametrize("network", list(BITCOIN))
def test_bitcoin_addresses_belong_to_one_network(vectors: dict[str, Any], network: str) -> None:
    """Accept a Bitcoin address on the networks that it is made for, and on no other."""
    for text, expected in vectors["bitcoin"].items():
        assert is_address(text, "Bitcoin", NETWORKS[network]) == expected[BITCOIN[network]], text


def test_the_development_chain_has_regtest_addresses(vectors: dict[str, Any]) -> None:
    """Accept addresses of regtest, and no others, on the development chain."""
    for text, expected in vectors["bitcoin"].items():
        assert is_address(text, "Bitcoin", NETWORKS["dev"]) == expected["regtest"], text


def test_accounts_of_affiliates(vectors: dict[str, Any]) -> None:
    """Agree with the JavaScript SDK on accounts of the State Chain."""
    assert {text: is_account(text) for text in vectors["cf"]} == vectors["cf"]


@pytest.mark.parametrize("text", [None, 5, "0x" + "a" * 300, b"0x00"])
def test_what_is_no_short_text_is_no_address(text: object) -> None:
    """Refuse what is no text, and a text above any address's length."""
    assert not is_address(text, "Ethereum", NETWORKS["dev"])
