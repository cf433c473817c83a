"""Requests and results are those that the JavaScript SDK was seen to send and give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.sdk.calls.deposits import RequestDepositAddress, RequestDepositAddressV2
from tests.conftest import shared
from tests.sdk.scripted import NOW_MS, Script, session

METHOD = "broker_request_swap_deposit_address"
LIFETIMES = {"Ethereum": (24 * 3600 // 14, 12_000), "Bitcoin": (24 * 6, 600_000)}
"""Blocks of a channel, a day of 14 s or 10 minutes each, and the milliseconds that a block usually takes."""
CALLS: dict[str, Any] = {
    "requestDepositAddress": RequestDepositAddress,
    "requestDepositAddressV2": RequestDepositAddressV2,
}
V1_FILES = ("deposit-address-v1-sdk-1.7.0", "deposit-address-v1-sdk-1.8.3")
V2_FILES = (
    "deposit-address-v2-sdk-1.7.0",
    "deposit-address-v2-sdk-1.8.3",
    "deposit-address-v2-sdk-1.11.2",
)
FILES = V1_FILES + V2_FILES


def cases() -> Iterator[tuple[str, str]]:
    """Yield file and name of each recorded request."""
    v1 = ("regular", "affiliates", "dca", "boost", "ccm")
    v2 = ("regular", "minprice", "dca", "boost", "ccm", "ccm_additional", "affiliates")
    yield from ((file, name) for file in V1_FILES for name in v1)
    yield from ((file, name) for file in V2_FILES for name in v2)
    yield V2_FILES[-1], "live_price"


def plain(value: Any) -> Any:
    """Return the sample without its notation for big integers."""
    if isinstance(value, dict):
        return (
            int(value["$bigint"]) if "$bigint" in value else {key: plain(item) for key, item in value.items()}
        )
    return [plain(item) for item in value] if isinstance(value, list) else value


def holds(sample: Any, document: Any, where: str) -> None:
    """Check that every member of the sample is there and equal; what is null there may be missing here."""
    if isinstance(sample, dict):
        for key, value in sample.items():
            holds(value, None if document is None else document.get(key), f"{where}.{key}")
    elif isinstance(sample, list):
        assert len(sample) == len(document), where
        for index, value in enumerate(sample):
            holds(value, document[index], f"{where}[{index}]")
    else:
        assert sample == document, where


@pytest.mark.parametrize(("file", "name"), list(cases()))
def test_a_request_of_the_javascript_sdk(file: str, name: str) -> None:
    """Send the recorded parameters, and derive the recorded result from the recorded answer."""
    document = json.loads(shared("sdk-examples", f"{file}.json").read_text())
    case = document["cases"][name]
    script = Script({METHOD: case["wireResponse"]["result"]})

    result = script.run(CALLS[document["method"]].from_json(case["input"]), session())

    (request,) = (request for request in script.requests if request["method"] == METHOD)
    assert len(request["params"]) == 9
    holds(case["wireRequest"]["params"], request["params"], "params")
    holds(plain(case["result"]), result.to_json(), "result")
    blocks, block_ms = LIFETIMES[result.src_chain]
    assert result.estimated_deposit_channel_expiry_time == NOW_MS + blocks * block_ms
    assert result.deposit_channel_broker_commission_bps == result.broker_commission_bps
    assert result.deposit_channel_affiliate_brokers == result.affiliate_brokers


def test_each_version_was_looked_at_whole() -> None:
    """Read each recorded case of each version: a new one must not go unnoticed."""
    for file in FILES:
        document = json.loads(shared("sdk-examples", f"{file}.json").read_text())
        assert set(document["cases"]) == {name for file_name, name in cases() if file_name == file}


@pytest.mark.parametrize("version", ["1.10.1", "1.11.2"])
def test_without_a_broker_the_swap_service_opens_the_channel(version: str) -> None:
    """Send the recorded body to the swap service, and mark the call as one that opens a channel."""
    document = json.loads(shared("sdk-examples", "backend-http-by-version.json").read_text())
    case = document[version]["requestDepositAddressV2"]
    body = case["http"][0]["body"]
    answer = json.loads(shared("sdk-examples", "default-broker-open-channel.json").read_text())["response201"]
    script = Script(pages={"/api/openSwapDepositChannel": (201, answer)})
    request = {
        "quote": body["quote"],
        "destAddress": body["destAddress"],
        "fillOrKillParams": case["result"]["fillOrKillParams"],
    }

    result = script.run(RequestDepositAddressV2.from_json(request), session(broker=None))

    sent = json.loads(script.calls[-1].body or b"")
    assert script.calls[-1].opens_channel
    assert dict(script.calls[-1].headers)["x-chainflip-sdk-version"]
    holds(body, sent, "body")
    expected = case["result"] | {"depositChannelExpiryBlock": 21930372, "channelOpeningFee": 0}
    holds(expected, result.to_json(), "result")


def test_the_expiry_time_follows_the_height_that_the_state_chain_knows() -> None:
    """Derive the expiry from the blocks that are left of the height that the State Chain knows."""
    document = json.loads(shared("sdk-examples", f"{V2_FILES[1]}.json").read_text())
    case = document["cases"]["regular"]
    height = case["wireResponse"]["result"]["source_chain_expiry_block"] - 1000
    state = "0x" + height.to_bytes(8, "little").hex() + "00" * 20
    script = Script({METHOD: case["wireResponse"]["result"], "state_getStorage": state})
    result = script.run(RequestDepositAddressV2.from_json(case["input"]), session())
    assert result.estimated_deposit_channel_expiry_time == NOW_MS + 1000 * 12_000
    # twox128("EthereumChainTracking") ‖ twox128("CurrentChainState")
    assert len(script.requests[-1]["params"][0]) == 2 + 64


def test_an_address_on_assethub_is_written_as_ss58() -> None:
    """Write the deposit address on Assethub in SS58."""
    quote = {
        "type": "REGULAR",
        "srcAsset": {"chain": "Assethub", "asset": "DOT"},
        "destAsset": {"chain": "Ethereum", "asset": "ETH"},
        "depositAmount": "1000",
        "egressAmount": "1",
        "estimatedPrice": "1",
    }
    opened = {
        "address": "0x" + "2a" * 32,
        "issued_block": 1,
        "channel_id": 2,
        "source_chain_expiry_block": "0x64",
        "channel_opening_fee": "0x0",
    }
    request = RequestDepositAddressV2.from_json(
        {
            "quote": quote,
            "destAddress": "0x" + "11" * 20,
            "fillOrKillParams": {
                "minPrice": "0",
                "refundAddress": "1exaAg2VJRQbyUBAeXcktChCAqjVP9TUxF3zo23R2T6EGdE",
                "retryDurationBlocks": 0,
            },
        }
    )
    result = Script({METHOD: opened}).run(request, session())
    assert ss58.decode(result.deposit_address) == (0, b"\x2a" * 32)
    assert result.deposit_channel_expiry_block == 100
    assert result.deposit_channel_id == "1-Assethub-2"
