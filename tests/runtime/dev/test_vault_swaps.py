"""Vault swaps asked of the runtime: every check by its name or text, and Bitcoin's there and back."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.addresses import NETWORKS, script_to_text
from cfnode.core.assets import ASSETS
from tests.runtime.dev.broker import Broker, address_on, ccm, refund

BITCOIN = ("Bitcoin", {"min_output_amount": 7, "retry_duration": 10, "max_oracle_price_slippage": None})


def evm(chain: str, amount: int = 5, **changes: Any) -> tuple[str, Any]:
    return chain, {"input_amount": amount, "refund_parameters": refund(chain, **changes)}


def encoded(broker: Broker, extra: Any, source: str = "Eth", destination: str = "Sol", **changes: Any) -> Any:
    usual = {
        "destination_address": address_on(ASSETS[destination].chain),
        "broker_commission": 10,
        "channel_metadata": None,
        "boost_fee": 0,
        "affiliate_fees": [],
        "dca_parameters": None,
    } | changes
    address, commission, *rest = usual.values()
    return broker.world.api(
        "CustomRuntimeApi_cf_request_swap_parameter_encoding",
        broker.account,
        source,
        destination,
        address,
        commission,
        extra,
        *rest,
    )


@pytest.fixture
def broker() -> Broker:
    return Broker()


def test_a_coin_is_sent_to_the_vault_and_a_token_taken_from_its_contract(broker: Broker) -> None:
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
    assert tron["details"]["to"] == tron["details"]["source_token_address"]


def test_the_terms_alone_are_the_end_of_the_call(broker: Broker) -> None:
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


def test_bitcoin_needs_a_private_channel_and_reads_back(broker: Broker) -> None:
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
    assert read["extra_parameters"] == BITCOIN
    assert (read["affiliate_fees"], read["dca_parameters"]) == (fees, dca)


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
]


@pytest.mark.parametrize(("changes", "text"), REFUSED)
def test_what_is_wrong_is_named(broker: Broker, changes: dict[str, Any], text: bytes) -> None:
    changes = dict(changes)
    extra = changes.pop("extra", evm("Ethereum"))
    destination = changes.pop("destination", "Sol")
    kind, (_, told) = encoded(broker, extra, destination=destination, **changes)
    assert (kind, told) == ("Err", text)


def test_a_commission_below_the_brokers_least_is_refused(broker: Broker) -> None:
    assert broker.swapping("set_vault_swap_minimum_broker_fee", minimum_fee_bps=11) == "Ok"
    assert encoded(broker, evm("Ethereum")) == ("Err", ("RawMessage", b"Broker commission is too low"))
