"""Which swap a request's body describes, and which bodies are refused: no node is asked."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.runtime_names import RuntimeNames
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.requests import read_terms

ETH_ADDRESS = "0x" + "bb" * 20
BTC_ADDRESS = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
NAMES = RuntimeNames(assets=("Eth", "Btc", "Usdc"), chains=("Ethereum", "Bitcoin"))
REFUND = {"retryDurationBlocks": 10, "refundAddress": BTC_ADDRESS, "minPriceX128": "7"}
BODY: dict[str, Any] = {
    "srcChain": "Bitcoin",
    "srcAsset": "BTC",
    "destChain": "Ethereum",
    "destAsset": "ETH",
    "destAddress": ETH_ADDRESS,
    "amount": "100",
    "fillOrKillParams": REFUND,
}


def refusal(**changes: Any) -> RequestRefusal:
    """Return the refusal (400) of the body with some members changed; None leaves a member out."""
    body = {name: value for name, value in (BODY | changes).items() if value is not None}
    with pytest.raises(RequestRefusal) as caught:
        read_terms(body, NAMES)
    assert caught.value.status == 400
    return caught.value


def test_the_least_request() -> None:
    """Read a body with the required members alone: no message, no boost, no chunks, no oracle price."""
    terms, amount = read_terms(BODY, NAMES)
    assert (terms.source, terms.target, terms.chain, amount) == ("Btc", "Eth", "Bitcoin", 100)
    assert terms.destination == ("Eth", b"\xbb" * 20)
    assert terms.refund == {
        "retry_duration": 10,
        "refund_address": ("Btc", BTC_ADDRESS.encode()),
        "min_price": 7,
        "refund_ccm_metadata": None,
        "max_oracle_price_slippage": None,
    }
    assert (terms.message, terms.boost_fee, terms.chunks) == (None, 0, None)


def test_a_request_with_everything() -> None:
    """Read message, boost, chunks and the refund's message; hexadecimal may begin with 0x or not."""
    message = {"message": "0x0102", "gasBudget": "0x10", "cfParameters": "03"}
    refund = REFUND | {"maxOraclePriceSlippage": 50, "refundCcmMetadata": {"message": "04", "gasBudget": 5}}
    more = {
        "ccmParams": message,
        "maxBoostFeeBps": 30,
        "dcaParams": {"numberOfChunks": 4, "chunkIntervalBlocks": 2},
    }
    terms, _ = read_terms(BODY | more | {"fillOrKillParams": refund}, NAMES)
    assert terms.message == {"message": b"\1\2", "gas_budget": 16, "ccm_additional_data": b"\3"}
    assert (terms.boost_fee, terms.chunks) == (30, {"number_of_chunks": 4, "chunk_interval": 2})
    assert terms.refund["max_oracle_price_slippage"] == 50
    assert terms.refund["refund_ccm_metadata"]["message"] == b"\4"


def test_assets_may_be_objects() -> None:
    """Accept an asset as an object of chain and asset, as version 2 writes it, or as two members."""
    pair = {
        "srcAsset": {"chain": "Bitcoin", "asset": "BTC"},
        "destAsset": {"chain": "Ethereum", "asset": "ETH"},
    }
    body = {name: value for name, value in BODY.items() if not name.endswith("Chain")} | pair
    assert read_terms(body, NAMES) == read_terms(BODY, NAMES)


@pytest.mark.parametrize(
    "amount", ["0", "-1", "1.0", "1e3", "", " 1", "٣", 0, 1.5, True, None, str(2**128), "9" * 79]
)
def test_an_amount_is_a_positive_number_of_smallest_units(amount: Any) -> None:
    """Refuse an amount that is zero, signed, no integer, not of ASCII digits, or longer than 128 bits."""
    assert refusal(amount=amount).message == "invalid request: amount"


@pytest.mark.parametrize("amount", ["1", 1, str(2**128 - 1)])
def test_an_amount_may_have_up_to_128_bits(amount: Any) -> None:
    """Accept an amount as a number or a text, from 1 to the 128 bits that a balance of the chain has."""
    assert read_terms(BODY | {"amount": amount}, NAMES)[1] == int(amount)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"srcAsset": "FLIP", "srcChain": "Ethereum"}, "invalid request: srcAsset"),  # not of this runtime
        ({"srcAsset": "ETH"}, "invalid request: srcAsset"),  # not of this chain
        ({"destAsset": 5}, "invalid request: destAsset"),
        ({"destAddress": ""}, "invalid request: destAddress"),
        ({"fillOrKillParams": None}, "invalid request: fill or kill params are required"),
        ({"fillOrKillParams": []}, "invalid request: fillOrKillParams"),
        ({"fillOrKillParams": REFUND | {"retryDurationBlocks": 2**32}},
         "invalid request: retryDurationBlocks"),
        ({"fillOrKillParams": REFUND | {"minPriceX128": str(2**256)}}, "invalid request: minPriceX128"),
        ({"fillOrKillParams": REFUND | {"maxOraclePriceSlippage": 2**16}},
         "invalid request: maxOraclePriceSlippage"),
        ({"maxBoostFeeBps": 2**16}, "invalid request: maxBoostFeeBps"),
        ({"dcaParams": {"numberOfChunks": 2**32, "chunkIntervalBlocks": 2}},
         "invalid request: numberOfChunks"),
        ({"dcaParams": "4"}, "invalid request: dcaParams"),
        ({"ccmParams": {"gasBudget": 1}}, "invalid request: ccmParams.message"),
        ({"ccmParams": {"message": "0x0", "gasBudget": 1}}, "invalid request: ccmParams.message"),
        ({"ccmParams": {"message": "00", "gasBudget": 2**128}}, "invalid request: ccmParams.gasBudget"),
        ({"ccmParams": {"message": "00", "gasBudget": "-1"}}, "invalid request: ccmParams.gasBudget"),
        ({"ccmParams": {"message": "00", "gasBudget": True}}, "invalid request: ccmParams.gasBudget"),
    ],
)  # fmt: skip
def test_a_malformed_member_is_named(changes: dict[str, Any], message: str) -> None:
    """Name the member that is missing, unknown or outside the range of its field in the runtime."""
    assert refusal(**changes).message == message


def test_an_address_of_another_chain_is_refused() -> None:
    """Refuse a destination address of another chain than the destination's, which would lose the output."""
    assert refusal(destAddress=BTC_ADDRESS).message.startswith("invalid request: ")


def test_a_message_has_at_most_15_000_bytes_and_its_data_3_000() -> None:
    """Refuse a message above 15,000 bytes and additional data above 3,000, as the runtime would."""
    fits = {"message": "00" * 15_000, "gasBudget": 1, "ccmAdditionalData": "00" * 3_000}
    terms, _ = read_terms(BODY | {"ccmParams": fits}, NAMES)
    assert terms.message is not None
    assert (len(terms.message["message"]), len(terms.message["ccm_additional_data"])) == (15_000, 3_000)
    too_long = fits | {"message": "00" * 15_001}
    assert "more than 15000 bytes" in refusal(ccmParams=too_long).message
    assert "more than 3000 bytes" in refusal(ccmParams=fits | {"ccmAdditionalData": "00" * 3_001}).message


@pytest.mark.parametrize(
    "share",
    [
        {"brokerCommissionBps": 1},
        {"commissionBps": "5"},
        {"affiliates": [{"account": "cF", "bps": 1}]},
        {"affiliateBrokers": [{}]},
    ],
)
def test_who_wants_a_commission_needs_a_broker(share: dict[str, Any]) -> None:
    """Refuse a commission without a broker to receive it; a commission of zero changes nothing."""
    assert "initializing the SDK with a brokerUrl" in refusal(**share).message
    none = {name: 0 if isinstance(value, int | str) else [] for name, value in share.items()}
    assert read_terms(BODY | none, NAMES) == read_terms(BODY, NAMES)
