"""Single requests against a running development node: what arrives there, and what it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from cfnode.core.chain_time import NOW_KEY, stored_time
from cfnode.core.scale.metadata import decode_metadata
from cfnode.sdk import Asset, ChainError, DcaParams, FillOrKillParams, RpcCallError, SwapSDK, ValidationError
from cfnode.sdk.models.vault_swap import BitcoinVaultSwap, EvmVaultSwap, SolanaVaultSwap, TronVaultSwap
from cfnode.sdk.networks import NETWORKS
from tests.sdk.forms import FORMS, Form
from tests.sdk.place import AFFILIATE_BPS, AMOUNT, OWN_BPS, RECEIVER, REFUND, Place
from tests.support.sdk.documents import EXAMPLES

DAY_MS = 24 * 3600 * 1000
ETHER = 10**18
EVENTS = "0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7"


def events(place: Place) -> list[tuple[str, Any]]:
    """Return the pallets and events of the newest block."""
    metadata = decode_metadata(bytes.fromhex(place.node.call("state_getMetadata")[2:]))
    data = bytes.fromhex(place.node.call("state_getStorage", EVENTS)[2:])
    return [record["event"] for record in metadata.event_codec.decode(data)]


def opened(place: Place) -> dict[str, Any]:
    """Return the channel that the newest block opens."""
    (event_fields,) = (
        fields
        for pallet, (name, fields) in (event for event in events(place) if isinstance(event[1], tuple))
        if (pallet, name) == ("Swapping", "SwapDepositAddressReady")
    )
    assert isinstance(event_fields, dict)
    return event_fields


def request(sdk: Any, **more: Any) -> Any:
    """Return a request for a channel from ether to bitcoin."""
    price = FillOrKillParams(RECEIVER, 5, min_price="0.03")
    return sdk.request_deposit_address("Ethereum", "ETH", "Bitcoin", "BTC", REFUND, ETHER, price, **more)


def test_the_price_arrives_as_it_was_meant(place: Place) -> None:
    """Send the minimum price as the chain stores it, rounded half up."""
    with SwapSDK(place.options("own broker")) as sdk:
        request(sdk)
    # 0.03 bitcoin for an ether are 3 satoshi for 10^12 wei; as X128, rounded half up.
    assert opened(place)["refund_parameters"]["min_price"] == (3 * 2**129 + 10**12) // (2 * 10**12)


@pytest.mark.parametrize("form", FORMS)
def test_terms_and_shares_arrive_as_they_were_meant(form: Form, place: Place) -> None:
    """Open a channel whose event has the commission, the shares, the chunks and the retries as asked."""

    async def ask(sdk: Any) -> None:
        shares = [{"account": place.affiliate, "commissionBps": AFFILIATE_BPS}]
        dca = DcaParams.from_json({"numberOfChunks": 3, "chunkInterval": 4})
        channel = await request(sdk, dca_params=dca, affiliate_brokers=shares, broker_commission_bps=20)
        fields = opened(place)
        assert fields["broker_commission_rate"] == channel.broker_commission_bps == 20 != OWN_BPS
        assert [affiliate_fee["bps"] for affiliate_fee in fields["affiliate_fees"]] == [AFFILIATE_BPS]
        assert fields["dca_parameters"] == {"number_of_chunks": 3, "chunk_interval": 4}
        assert fields["refund_parameters"]["retry_duration"] == 5
        block, chain, index = channel.deposit_channel_id.split("-")
        assert (int(index), chain) == (fields["channel_id"], "Ethereum")
        assert int(block) == int(place.node.call("chain_getHeader")["number"], 16)
        left = channel.estimated_deposit_channel_expiry_time - chain_now(place)
        assert 0 < left < 3 * DAY_MS

    form(ask, place.options("own broker"))


def chain_now(place: Place) -> int:
    """Return the time of the chain's best block, Unix milliseconds, by which channels expire."""
    return stored_time(place.node.call("state_getStorage", NOW_KEY))


def test_each_request_opens_a_channel_of_its_own(place: Place) -> None:
    """Open two channels by two equal requests, with the options' commission."""
    with SwapSDK(place.options("own broker")) as sdk:
        first, second = request(sdk), request(sdk)
    assert first.deposit_channel_id != second.deposit_channel_id
    assert first.deposit_address != second.deposit_address
    assert json.loads(json.dumps(first.to_json()))["depositChannelBrokerCommissionBps"] == OWN_BPS


@pytest.mark.parametrize("form", FORMS)
def test_a_refusal_of_the_chain_is_a_chain_error(form: Form, place: Place) -> None:
    """Raise a ChainError with pallet and name of the chain's refusal."""

    async def ask(sdk: Any) -> None:
        with pytest.raises(ChainError) as caught:
            await request(sdk, dca_params=DcaParams(2, 2**31))
        assert (caught.value.pallet, caught.value.error) == ("Swapping", "SwapRequestDurationTooLong")
        assert (caught.value.rpc_code, caught.value.code) == (-32024, "CHAIN")

    form(ask, place.options("own broker"))


def test_the_first_program_of_the_guide_ends_with_a_swap(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the guide's first program as printed: it ends with a completed swap."""
    here = replace(NETWORKS["dev"], rpc_url=place.node.url, backend_url=place.node.url)
    monkeypatch.setitem(NETWORKS, "dev", here)
    with place.sealing():
        exec(compile(EXAMPLES[0], "sdk.md", "exec"), {"__name__": "example"})
    lines = capsys.readouterr().out.split("\n")
    assert re.fullmatch(r"expected [1-9]\d*\.\d+ ETH", lines[0])
    assert (lines[1].split()[:2], lines[-2]) == (["send", "100000000"], "COMPLETED")


@pytest.mark.parametrize("form", FORMS)
def test_the_short_quote_is_the_regular_one(form: Form, place: Place) -> None:
    """Give by the short form the regular quote of the long one."""

    async def ask(sdk: Any) -> None:
        short = await sdk.quote("BTC", Asset.ArbUsdc, "0.1")
        quotes = await sdk.get_quote_v2("Bitcoin", "BTC", "Arbitrum", "USDC", AMOUNT)
        assert short == quotes.regular
        assert short.whole_deposit_amount == Decimal("0.1")
        assert short.whole_egress_amount * 10**6 == short.egress_amount > 0

    form(ask, place.options("swap service"))


# Vault swaps

VAULT_SWAPS = {
    ("Bitcoin", "BTC"): (REFUND, AMOUNT, BitcoinVaultSwap),
    ("Ethereum", "ETH"): (RECEIVER, ETHER, EvmVaultSwap),
    ("Ethereum", "USDC"): (RECEIVER, 10**9, EvmVaultSwap),
    ("Arbitrum", "ETH"): (RECEIVER, ETHER, EvmVaultSwap),
    ("Tron", "USDT"): ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", 10**9, TronVaultSwap),
    ("Solana", "SOL"): ("DRpbCBMxVnDK7maPM5tGv6MvB3v1sRMC86PZ8okm21hy", 10**9, SolanaVaultSwap),
}


@pytest.mark.parametrize("broker", ["own broker", "swap service"])
@pytest.mark.parametrize("pair", list(VAULT_SWAPS), ids=" ".join)
def test_a_vault_swap_is_encoded(broker: str, pair: tuple[str, str], place: Place) -> None:
    """Encode a vault swap of each chain by broker and service, with the receiver inside."""
    refund, amount, record = VAULT_SWAPS[pair]
    if broker == "own broker" and pair[0] == "Bitcoin":
        place.node.call("broker_open_private_btc_channel")
    with SwapSDK(place.options(broker)) as sdk:
        quotes = sdk.get_quote_v2(*pair, "Ethereum", "FLIP", amount, is_vault_swap=True)
        terms = FillOrKillParams(refund, 100, slippage_tolerance_percent=1)
        signer = refund if pair[0] == "Solana" else None
        data = sdk.encode_vault_swap_data(quotes.regular, RECEIVER, terms, src_address=signer)
    assert type(data) is record
    assert data.chain == pair[0]
    receiver = RECEIVER.lower()[2:]
    if isinstance(data, BitcoinVaultSwap):
        assert receiver in data.nulldata_payload
        assert data.deposit_address.startswith("bcrt1p")
        payment = {"chain": "Bitcoin"} | {
            "nulldata_payload": data.nulldata_payload,
            "deposit_address": data.deposit_address,
        }
        decoded = place.node.call("cf_decode_vault_swap_parameter", place.affiliate, payment)
        assert decoded["destination_asset"] == {"chain": "Ethereum", "asset": "FLIP"}
    elif isinstance(data, TronVaultSwap):
        assert receiver in data.note
        assert data.to == "TEKuUVzAooaQ6ExUgWcJdY6MHQkSaM2uJo"  # the vault: what is called is the token
        assert data.source_token_address == "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
    elif isinstance(data, SolanaVaultSwap):
        assert receiver in data.data
        assert refund in [account.pubkey for account in data.accounts if account.is_signer]
    else:
        assert isinstance(data, EvmVaultSwap)
        assert receiver in data.calldata
        assert data.value == (amount if pair[1] == "ETH" else 0)
        assert (data.source_token_address is None) == (pair[1] == "ETH")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pair", list(VAULT_SWAPS), ids=" ".join)
def test_a_vault_swap_is_sent(form: Form, pair: tuple[str, str], place: Place) -> None:
    """Send an encoded vault swap of each chain, and find its swap by the transaction."""
    refund, amount, _ = VAULT_SWAPS[pair]
    paid = {"amount": amount, "refund_address": refund} if pair[0] == "Bitcoin" else {}

    async def send(sdk: Any) -> None:
        quotes = await sdk.get_quote_v2(*pair, "Ethereum", "FLIP", amount, is_vault_swap=True)
        terms = FillOrKillParams(refund, 100, slippage_tolerance_percent=1)
        data = await sdk.encode_vault_swap_data(quotes.regular, RECEIVER, terms, src_address=refund)
        sent = await sdk.dev_send_to_vault(data, **paid)
        assert sent.startswith("0x") is (pair[0] not in ("Bitcoin", "Solana"))
        if pair[0] != "Solana":
            status = await sdk.get_status_v2(sent)
            assert (status.src_chain, status.deposit.amount) == (pair[0], amount)

    place.node.call("dev_newBlock")
    form(send, place.options("swap service"))


def test_only_an_encoded_vault_swap_is_sent(place: Place) -> None:
    """Refuse to send a vault swap that was not encoded by the SDK."""
    with SwapSDK(place.options("swap service")) as sdk:
        record: Any = {"chain": "Bitcoin"}
        with pytest.raises(ValidationError, match=r"vault_swap: expected a record, BitcoinVaultSwap or "):
            sdk.dev_send_to_vault(record)


@pytest.mark.parametrize("form", FORMS)
def test_a_vault_swap_that_the_chain_refuses(form: Form, place: Place) -> None:
    """Raise the chain's reason for terms that it refuses."""

    async def ask(sdk: Any) -> None:
        quotes = await sdk.get_quote_v2("Ethereum", "ETH", "Bitcoin", "BTC", ETHER, is_vault_swap=True)
        terms = FillOrKillParams(RECEIVER, 2**31, slippage_tolerance_percent=1)
        with pytest.raises(RpcCallError, match="RetryDuration"):
            await sdk.encode_vault_swap_data(quotes.regular, REFUND, terms)

    form(ask, place.options("own broker"))
