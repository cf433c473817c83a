"""What people write as an address, and what becomes of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.addresses import (
    NETWORKS,
    AddressError,
    address_to_text,
    encode_foreign_address,
    foreign_address,
    parse_address,
    script_from_text,
    script_to_text,
)
from cfnode.core.assets import CHAINS
from tests.conftest import shared

# Valid by BIP 173 and BIP 350, and accepted by the State Chain; the SDK's library is narrower.
NARROWER_IN_THE_SDK = {
    "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4": "upper case throughout",
    "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs": "witness version 2",
}


def vectors(chain: str) -> dict[str, object]:
    """Return one chain's address vectors: each text with what the official clients say of it."""
    chain_vectors = json.loads(shared("sdk-examples", "address-vectors.json").read_text())[chain]
    assert isinstance(chain_vectors, dict)
    return chain_vectors


def accepted(text: str, network: str) -> bool:
    """Return whether a text is a Bitcoin address of a network."""
    try:
        script_from_text(text, NETWORKS[network])
    except AddressError:
        return False
    return True


def test_bitcoin_addresses_are_distinguished_by_network_as_in_clients() -> None:
    """Accept a Bitcoin address on the networks where the SDK accepts it.

    Elsewhere the coins would be lost.
    """
    names = {"mainnet": "Mainnet", "testnet": "Testnet", "regtest": "Development"}
    for text, expected in vectors("bitcoin").items():
        if text in NARROWER_IN_THE_SDK:
            assert accepted(text, "Mainnet")
            continue
        assert isinstance(expected, dict)
        assert {n: accepted(text, ours) for n, ours in names.items()} == expected, text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "P2PKH"),
        ("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "P2SH"),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "P2WPKH"),
        ("bc1qwqdg6squsna38e46795at95yu9atm8azzmyvckulcc7kytlcckxswvvzej", "P2WSH"),
        ("bc1p7jc7jx0z32gcm5k3dewpqra2vv303jnnhurhrwl384kgnnhsp73qf9a9c3", "Taproot"),
        ("bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y", "OtherSegwit"),
    ],
)
def test_a_bitcoin_address_names_its_script_and_back(text: str, kind: str) -> None:
    """Read each kind of Bitcoin script from its address and write it back unchanged."""
    script = script_from_text(text, NETWORKS["Mainnet"])
    assert script[0] == kind
    assert script_to_text(script, NETWORKS["Mainnet"]) == text


@pytest.mark.parametrize(
    "text",
    [
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",  # version 0 with the checksum of version 1
        "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",  # a character outside the alphabet
        "bc1QW508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",  # mixed case
        "bc1",
        "1" * 5000,
        "\u0130bc1q",
    ],
)
def test_what_only_resembles_a_bitcoin_address_is_refused(text: str) -> None:
    """Refuse a near miss (wrong checksum, mixed case, foreign letters): no script belongs to it."""
    with pytest.raises(AddressError, match="not a Bitcoin address"):
        script_from_text(text, NETWORKS["Mainnet"])


@given(text=st.text(max_size=100))
def test_no_text_makes_the_bitcoin_parser_raise_anything_else(text: str) -> None:
    """Answer any text with a script or an AddressError: an address is a stranger's input."""
    accepted(text, "Mainnet")


@given(
    version=st.integers(2, 16),
    program=st.binary(min_size=2, max_size=40),
    network=st.sampled_from(["Mainnet", "Testnet", "Development"]),
)
def test_every_witness_program_survives_its_text(version: int, program: bytes, network: str) -> None:
    """Write a witness program of any later version as text and read it back, on every network."""
    script = ("OtherSegwit", {"version": version, "program": program})
    assert script_from_text(script_to_text(script, NETWORKS[network]), NETWORKS[network]) == script  # type: ignore[arg-type]


@pytest.mark.parametrize(("chain", "name"), [("solana", "Solana"), ("polkadot", "Assethub")])
def test_addresses_are_accepted_where_clients_accept_them(chain: str, name: str) -> None:
    """Accept and refuse Solana and Polkadot addresses as the official clients do."""
    for text, expected in vectors(chain).items():
        try:
            parse_address(name, text)
            got = True
        except AddressError:
            got = False
        assert got is expected, text


def test_an_evm_address_is_hex_in_any_case_with_or_without_prefix() -> None:
    """Read an EVM address in any case, with or without 0x, and write it in lower case."""
    address = bytes.fromhex("a56a6be23b6cf39d9448ff6e897c29c41c8fbdff")
    for text in ("0xa56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF", "A56A6BE23B6CF39D9448FF6E897C29C41C8FBDFF"):
        assert parse_address("Arbitrum", text) == ("Arb", address)
    assert address_to_text(("Arb", address)) == "0xa56a6be23b6cf39d9448ff6e897c29c41c8fbdff"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0xzz", "Invalid hex"),
        ("0x1234", "Invalid address length"),
        ("0x" + "12 " * 20, "no blanks"),
        ("", "Invalid address length"),
    ],
)
def test_a_malformed_evm_address_gets_the_error_text_of_the_official_node(text: str, reason: str) -> None:
    """Use the official node's error text for a malformed EVM address: clients compare it."""
    with pytest.raises(AddressError, match=reason):
        parse_address("Ethereum", text)


ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"


@pytest.mark.parametrize(
    ("chain", "text", "official"),
    [
        ("Ethereum", "0x" + "12 " * 20, "Invalid hex"),
        ("Solana", "0x12", "Invalid address length"),
        ("Solana", "no address", "Invalid hex"),
        ("Tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", "Invalid hex"),
        ("Tron", "42" + "00" * 20, "Invalid address length"),
        (
            "Polkadot",
            f"{ALICE[:-1]}Z",
            "Address is neither valid ss58: 'Invalid checksum' "
            "nor hex: 'Invalid character 'G' at position 1'",
        ),
        (
            "Assethub",
            "0x1234",
            "Address is neither valid ss58: 'Base 58 requirement is violated' "
            "nor hex: 'Invalid address length'",
        ),
        ("Assethub", "abc", "Address is neither valid ss58: 'Length is bad' nor hex: 'Odd number of digits'"),
    ],
)
def test_a_malformed_address_has_the_official_text_beside_our_own(
    chain: str, text: str, official: str
) -> None:
    """Carry the official error text of every chain's address in the error, next to our own words."""
    with pytest.raises(AddressError) as refused:
        parse_address(chain, text)
    assert refused.value.official == official


@pytest.mark.parametrize(
    "text",
    [
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
        "41a614f803b6fd780986a42c78ec9c7f77e6ded13c",
        "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c",
    ],
)
def test_a_tron_address_is_written_in_three_ways(text: str) -> None:
    """Read a Tron address as base58, as hex with its prefix and as plain hex: all three are in use."""
    address = parse_address("Tron", text)
    assert address == ("Tron", bytes.fromhex("a614f803b6fd780986a42c78ec9c7f77e6ded13c"))
    assert address_to_text(address) == "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"


@pytest.mark.parametrize("text", ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", "T", "", "42" + "00" * 20])
def test_a_wrong_tron_address_is_refused(text: str) -> None:
    """Refuse a Tron address whose checksum, length or prefix is wrong."""
    with pytest.raises(AddressError, match="not a Tron address"):
        parse_address("Tron", text)


def test_a_bitcoin_text_goes_through_and_the_runtime_judges_it() -> None:
    """Pass Bitcoin text on unread, as the node does, and refuse it only where its network is known."""
    address = parse_address("Bitcoin", "bcrt1qs758ursh4q9z627kt3pp5yysm78ddny6txaqgw")
    checked = foreign_address(address, NETWORKS["Development"])
    assert checked[1][0] == "P2WPKH"
    assert encode_foreign_address(checked, NETWORKS["Development"]) == address
    with pytest.raises(AddressError, match="not a Bitcoin address of the network 'bc'"):
        foreign_address(address, NETWORKS["Mainnet"])
    with pytest.raises(AddressError, match="UTF-8"):
        foreign_address(("Btc", b"\xff"), NETWORKS["Mainnet"])


@given(chain=st.sampled_from(sorted(CHAINS)), text=st.text(max_size=80))
def test_no_text_makes_a_parser_raise_anything_but_its_own_error(chain: str, text: str) -> None:
    """Answer any text for any chain with an address of that chain or an AddressError."""
    try:
        address = parse_address(chain, text)
    except AddressError:
        return
    assert address[0] == CHAINS[chain].address


@given(account=st.binary(min_size=32, max_size=32))
def test_solana_and_assethub_accounts_survive_their_text(account: bytes) -> None:
    """Write Solana and Assethub accounts as text and read them back."""
    assert parse_address("Solana", address_to_text(("Sol", account))) == ("Sol", account)
    assert parse_address("Assethub", address_to_text(("Hub", account))) == ("Hub", account)
