"""Vault swaps asked of the runtime: every check by its name or text, and Bitcoin's there and back."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.addresses import NETWORKS, script_to_text
from cfnode.core.addresses.solana import program_address
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeTrap
from cfnode.devchain.runtime.keys import solana_environment, solana_public_key
from cfnode.devchain.runtime.runtime import DevRuntime
from tests.devchain.runtime.broker import Broker, address_on, ccm, refund
from tests.support.devchain.vault_swaps import BITCOIN, encoded, evm

ADDITIONAL = "VersionedSolanaCcmAdditionalData"


@pytest.fixture
def broker() -> Broker:
    """Return a broker on a new chain."""
    return Broker()


def test_a_coin_is_sent_to_the_vault_and_a_token_taken_from_its_contract(broker: Broker) -> None:
    """Encode a coin's vault swap as a payment to the vault, and a token's with the token's contract."""
    kind, (chain, native) = encoded(broker, evm("Ethereum"))
    vault = broker.world.stored("Environment", "EthereumVaultAddress")
    details = native["details"]
    assert (kind, chain) == ("Ok", "Ethereum")
    assert (details["to"], details["value"], details["source_token_address"]) == (vault, 5, None)
    assert details["calldata"][:4].hex() == "dd687345"
    _, (_, token) = encoded(broker, evm("Arbitrum"), "ArbUsdc")
    contract = broker.world.stored("Environment", "ArbitrumSupportedAssets", "ArbUsdc")
    assert (token["details"]["value"], token["details"]["source_token_address"]) == (0, contract)
    _, (_, tron) = encoded(broker, evm("Tron"), "TrxUsdt")
    assert tron["details"]["calldata"][:4].hex() == "a9059cbb"
    assert tron["details"]["to"] == "TEKuUVzAooaQ6ExUgWcJdY6MHQkSaM2uJo"
    assert tron["details"]["source_token_address"] == "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"


def test_the_terms_alone_are_the_end_of_the_call(broker: Broker) -> None:
    """Encode the terms alone as the bytes that the calldata ends in."""
    _, (_, native) = encoded(broker, evm("Ethereum"))
    kind, terms = broker.world.api(
        "CustomRuntimeApi_cf_encode_cf_parameters",
        broker.account,
        "Eth",
        address_on("Solana"),
        "Sol",
        refund("Ethereum"),
        None,
        0,
        10,
        [],
        None,
    )
    assert kind == "Ok"
    assert terms in native["details"]["calldata"]


def terms_alone(
    broker: Broker, source: str, refunds: dict[str, Any], destination: str = "Sol", **changes: Any
) -> Any:
    """Return the answer to a request for the terms alone."""
    usual = {
        "destination_address": address_on(ASSETS[destination].chain),
        "destination_asset": destination,
        "refund_parameters": refunds,
        "dca_parameters": None,
        "boost_fee": 0,
        "broker_commission": 10,
        "affiliate_fees": [],
        "channel_metadata": None,
    } | changes
    return broker.world.api(
        "CustomRuntimeApi_cf_encode_cf_parameters", broker.account, source, *usual.values()
    )


@pytest.mark.parametrize("source", ["Btc", "Dot", "HubDot", "HubUsdc"])
def test_there_are_no_terms_alone_for_a_chain_whose_vault_passes_none_on(broker: Broker, source: str) -> None:
    """Refuse the terms alone for chains whose vault passes none on."""
    refused = ("Err", ("RawMessage", b"Unsupported source chain for encoding cf_parameters"))
    assert terms_alone(broker, source, refund(ASSETS[source].chain)) == refused


def test_a_destination_is_not_in_the_terms_alone_and_not_looked_at_without_a_message(broker: Broker) -> None:
    """Ignore the destination in the terms alone, and check it only with a message."""
    nowhere = {"destination": "Btc", "destination_address": ("Btc", b"no address")}
    usual = terms_alone(broker, "Eth", refund("Ethereum"))
    assert terms_alone(broker, "Eth", refund("Ethereum"), **nowhere) == usual
    named = terms_alone(broker, "Eth", refund("Ethereum"), **nowhere, channel_metadata=ccm())
    assert named == ("Err", ("Module", b"InvalidDestinationAddress"))


def test_a_message_from_bitcoin_is_refused_after_it_has_been_read(broker: Broker) -> None:
    """Refuse a message from Bitcoin, after the check of the message itself."""
    bad = terms_alone(broker, "Btc", refund("Bitcoin"), "ArbEth", channel_metadata=ccm(data=b"x"))
    assert bad == ("Err", ("RawMessage", b"Invalid CCM"))
    good = terms_alone(broker, "Btc", refund("Bitcoin"), "ArbEth", channel_metadata=ccm())
    text = b"Vault swaps with CCM are not supported for the Bitcoin Chain"
    assert good == ("Err", ("RawMessage", text))


def test_a_refund_address_of_another_chain_has_no_terms(broker: Broker) -> None:
    """Refuse terms whose refund address is of another chain."""
    refused = ("Err", ("RawMessage", b"Invalid refund address"))
    assert terms_alone(broker, "Eth", refund("Solana")) == refused


def test_an_interval_that_bitcoins_output_cannot_hold_is_refused(broker: Broker) -> None:
    """Refuse a chunk interval above what Bitcoin's payload can hold, two bytes."""
    assert broker.swapping("open_private_btc_channel") == "Ok"
    dca = {"number_of_chunks": 1, "chunk_interval": 65_536}
    refused = ("Err", ("Module", b"InvalidDcaParameters"))
    assert encoded(broker, BITCOIN, "Btc", dca_parameters=dca) == refused


def test_bitcoins_highest_slippage_means_none(broker: Broker) -> None:
    """Read 255 as no limit of slippage from Bitcoin, and 254 as one."""
    terms = BITCOIN[1] | {"max_oracle_price_slippage": 255}
    missing = ("Err", ("Module", b"NoPrivateChannelExistsForBroker"))
    assert encoded(broker, ("Bitcoin", terms), "Btc", "Trx") == missing
    terms = terms | {"max_oracle_price_slippage": 254}
    assert encoded(broker, ("Bitcoin", terms), "Btc", "Trx")[1] == ("Module", b"OraclePriceNotAvailable")


def solana_terms(**changes: Any) -> tuple[str, Any]:
    """Return the source parameters of a vault swap from Solana."""
    usual = {
        "from": address_on("Solana"),
        "seed": b"seed",
        "input_amount": 5,
        "refund_parameters": refund("Solana"),
        "from_token_account": None,
    }
    return "Solana", usual | changes


@pytest.mark.parametrize("source", ["SolUsdc", "SolUsdt"])
def test_a_token_on_solana_is_sent_under_the_vaults_account_for_it(broker: Broker, source: str) -> None:
    """Name the vault's account of the token in a token's instruction."""
    known, token = solana_environment(), source.removeprefix("Sol").lower()
    kind, (_, swap) = encoded(broker, solana_terms(), source, "Eth")
    mint = getattr(known, f"{token}_token_mint_pubkey")
    supported, _ = program_address([b"supported_token", mint], known.vault_program)
    assert (kind, swap["instruction"]["accounts"][6]["pubkey"]) == ("Ok", supported)


def test_a_seed_that_solana_cannot_derive_from_is_no_argument(broker: Broker) -> None:
    """Trap on a seed longer than Solana's limit of 32 bytes."""
    assert encoded(broker, solana_terms(seed=bytes(32)), "Sol", "Eth")[0] == "Ok"
    with pytest.raises(RuntimeTrap, match="at most 32 bytes, not 33"):
        encoded(broker, solana_terms(seed=bytes(33)), "Sol", "Eth")


def solana_message(receiver: bytes) -> dict[str, Any]:
    """Return a message to Solana with a receiver."""
    accounts = values.CcmAccounts(
        cf_receiver=values.CcmAddress(pubkey=receiver, is_writable=False),
        additional_accounts=[],
        fallback_address=bytes(32),
    )
    return ccm(data=DevRuntime().composition.codec_of(ADDITIONAL).encode(values.SolanaCcmDataV0(accounts)))


def test_a_message_to_solana_names_no_account_of_the_vaults(broker: Broker) -> None:
    """Refuse a message that names an account of the vault: the receiver could act on it."""
    assert encoded(broker, evm("Ethereum"), channel_metadata=solana_message(b"\x07" * 32))[0] == "Ok"
    refused = ("Err", ("RawMessage", b"Invalid Ccm: additional data contains invalid accounts"))
    for ours in (solana_environment().token_vault_pda_account, solana_public_key()):
        assert encoded(broker, evm("Ethereum"), channel_metadata=solana_message(ours)) == refused


def test_bitcoin_needs_a_private_channel_and_reads_back(broker: Broker) -> None:
    """Refuse Bitcoin's encoding without a private channel; with one, decode what was encoded."""
    missing = ("Err", ("Module", b"NoPrivateChannelExistsForBroker"))
    assert encoded(broker, BITCOIN, "Btc") == missing
    assert broker.swapping("open_private_btc_channel") == "Ok"
    affiliate = broker.swapping("register_affiliate", withdrawal_address=b"\x01" * 20)
    assert affiliate == "Ok"
    account = broker.event("AffiliateRegistration")["affiliate_id"]
    dca = {"number_of_chunks": 3, "chunk_interval": 2}
    fees = [{"account": account, "bps": 25}]
    kind, (_, swap) = encoded(broker, BITCOIN, "Btc", affiliate_fees=fees, dca_parameters=dca)
    assert kind == "Ok"
    assert len(swap["nulldata_payload"]) <= 80
    text = script_to_text(swap["deposit_address"], NETWORKS["Development"])
    assert text.startswith("bcrt1p")
    kind, read = broker.world.api(
        "CustomRuntimeApi_cf_decode_vault_swap_parameter",
        broker.account,
        ("Bitcoin", swap | {"deposit_address": text}),
    )
    assert kind == "Ok"
    assert (read["source_asset"], read["destination_asset"]) == ("Btc", "Sol")
    assert read["extra_parameters"] == ("Bitcoin", BITCOIN[1] | {"max_oracle_price_slippage": 255})
    assert (read["affiliate_fees"], read["dca_parameters"]) == (fees, dca)


def test_a_bitcoin_payload_is_decoded_with_its_default_chunks(broker: Broker) -> None:
    """Decode a Bitcoin payload with its default chunks, and refuse a truncated one."""

    def read(payload: bytes) -> Any:
        swap = ("Bitcoin", {"nulldata_payload": payload, "deposit_address": "-"})
        return broker.world.api("CustomRuntimeApi_cf_decode_vault_swap_parameter", broker.account, swap)

    assert broker.swapping("open_private_btc_channel") == "Ok"
    _, (_, swap) = encoded(broker, BITCOIN, "Btc")
    assert read(swap["nulldata_payload"])[1]["dca_parameters"] == {"number_of_chunks": 1, "chunk_interval": 2}
    text = b"Failed to decode Bitcoin Null data Payload"
    assert read(swap["nulldata_payload"][:-1]) == ("Err", ("RawMessage", text))


REFUSED: list[tuple[dict[str, Any], bytes]] = [
    ({"boost_fee": 256}, b"BoostFeeTooHigh"),
    ({"broker_commission": 1001}, b"BrokerCommissionBpsTooHigh"),
    (
        {"destination_address": address_on("Ethereum")},
        b"Destination address and asset are on different chains.",
    ),
    ({"dca_parameters": {"number_of_chunks": 0, "chunk_interval": 2}}, b"ZeroNumberOfChunksNotAllowed"),
    ({"affiliate_fees": [{"account": b"\x09" * 32, "bps": 1}]}, b"AffiliateNotRegisteredForBroker"),
    ({"extra": evm("Arbitrum")}, b"Incompatible or unsupported source_asset and extra_parameters"),
    ({"extra": evm("Ethereum", retry_duration=601)}, b"RetryDurationTooHigh"),
    (
        {"extra": evm("Ethereum", refund_address=address_on("Solana"))},
        b"Refund address must be an EVM address",
    ),
    (
        {"destination": "Btc", "channel_metadata": ccm()},
        b"Destination chain does not support CCM",
    ),
    ({"destination": "ArbEth", "channel_metadata": ccm(data=b"x")}, b"Invalid CCM"),
    ({"destination": "Dot", "channel_metadata": ccm(data=b"x")}, b"Invalid CCM"),
    (
        {"extra": evm("Ethereum", refund_ccm_metadata=ccm(data=b"x")), "boost_fee": 256},
        b"Invalid Ccm: Additional data supplied but they will not be used",
    ),
    # What the swap asks for is checked before whether its transaction fits the source.
    ({"extra": evm("Arbitrum", retry_duration=601)}, b"RetryDurationTooHigh"),
    ({"extra": evm("Tron"), "destination": "ArbEth", "channel_metadata": ccm(data=b"x")}, b"Invalid CCM"),
    ({"extra": BITCOIN, "boost_fee": 256}, b"BoostFeeTooHigh"),
    ({"destination": "Btc", "destination_address": ("Btc", b"no address")}, b"InvalidDestinationAddress"),
]


@pytest.mark.parametrize(("changes", "text"), REFUSED)
def test_an_error_names_the_wrong_parameter(broker: Broker, changes: dict[str, Any], text: bytes) -> None:
    """Return the error that names the wrong parameter, by text or by the runtime's name."""
    changes = dict(changes)
    extra = changes.pop("extra", evm("Ethereum"))
    destination = changes.pop("destination", "Sol")
    kind, (_, reason) = encoded(broker, extra, destination=destination, **changes)
    assert (kind, reason) == ("Err", text)


def test_a_commission_below_the_brokers_least_is_refused(broker: Broker) -> None:
    """Refuse a commission below the broker's own minimum."""
    assert broker.swapping("set_vault_swap_minimum_broker_fee", minimum_fee_bps=11) == "Ok"
    assert encoded(broker, evm("Ethereum")) == ("Err", ("RawMessage", b"Broker commission is too low"))
