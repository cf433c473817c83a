"""Both clients against a running development node: channels are opened by its broker, refusals come back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from cfnode.cli.client import CallRefused
from cfnode.sdk import AsyncSwapSDK, ChainError, DepositAddress, Quote, SwapSDK
from cfnode.sdk.calls.deposits import RequestDepositAddress, RequestDepositAddressV2
from tests.process import NodeProcess, command, environment, running_node
from tests.sdk.loopback import Request, serving
from tests.sdk.scripted import environment_answer

EVM = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BTC = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A development node whose broker is registered."""
    folder = tmp_path_factory.mktemp("sdk")
    base = f"--base-path={folder}/base"
    insert = command("key", "insert", "--chain=dev", base, "--suri=//Alice", "--key-type=brok")
    subprocess.run([*insert, "--scheme=sr25519"], env=environment(folder), check=True, capture_output=True)
    with running_node(folder, base, "--dev", "--dev-seal=instant") as running:
        running.call("broker_register_account")
        yield running


@pytest.fixture(scope="module")
def options(node: NodeProcess) -> Iterator[dict[str, Any]]:
    """The options of a client of that node.

    A node that does not answer `cf_environment` is helped by a stand-in that knows nothing else.
    """
    named = {"network": "dev", "broker": {"url": node.url, "commissionBps": 10}}
    try:
        node.call("cf_environment")
        yield named | {"rpcUrl": node.url, "backendUrl": node.url}
        return
    except CallRefused:
        pass

    def stand_in(request: Request) -> bytes:
        found = {"cf_environment": environment_answer()}
        for call in request.calls:
            if call["method"] != "cf_environment":
                found[call["method"]] = node.call(call["method"], *call["params"])
        return request.results(found)

    with serving(stand_in) as server:
        yield named | {"rpcUrl": server.url, "backendUrl": node.url}


def quote(**changes: Any) -> dict[str, Any]:
    base = {
        "type": "REGULAR",
        "srcAsset": {"chain": "Bitcoin", "asset": "BTC"},
        "destAsset": {"chain": "Ethereum", "asset": "USDC"},
        "depositAmount": "100000000",
        "egressAmount": "60000000000",
        "estimatedPrice": "60000.5",
    }
    return base | changes


SLIPPAGE = {"refundAddress": BTC, "retryDurationBlocks": 100, "slippageTolerancePercent": "1.5"}
DCA = {"numberOfChunks": 4, "chunkIntervalBlocks": 2}
CCM = {"ccmParams": {"gasBudget": "125000", "messageLengthBytes": 4}}
MESSAGE = {"message": "0xdeadc0de", "gasBudget": 125000}
AFFILIATES: list[dict[str, Any]] = [
    {"account": "cFHyJEHEQ1YkT9xuFnxnPWVkihpYEGjBg4WbF6vCPtSPQoE8n", "commissionBps": 5}
]
REQUESTS = {
    "regular": {"quote": quote()},
    "DCA": {"quote": quote(type="DCA", dcaParams=DCA)},
    "boost": {"quote": quote(maxBoostFeeBps=30, estimatedBoostFeeBps=5)},
    "CCM": {"quote": quote(**CCM), "ccmParams": MESSAGE},
    "affiliates": {"quote": quote(), "affiliateBrokers": AFFILIATES},
    "own commission": {"quote": quote(), "brokerCommissionBps": 25},
}


def request(name: str) -> RequestDepositAddressV2:
    document = {"destAddress": EVM, "fillOrKillParams": SLIPPAGE} | REQUESTS[name]
    return RequestDepositAddressV2.from_json(document)


def check(name: str, channel: DepositAddress, node: NodeProcess) -> None:
    block, chain, index = channel.deposit_channel_id.split("-")
    assert (chain, int(index) > 0, channel.deposit_address[:5]) == ("Bitcoin", True, "bcrt1")
    assert int(block) <= int(node.call("chain_getHeader")["number"], 16)
    assert channel.broker_commission_bps == (25 if name == "own commission" else 10)
    assert channel.max_boost_fee_bps == (30 if name == "boost" else 0)
    day = 24 * 3600 * 1000
    assert (
        abs(channel.estimated_deposit_channel_expiry_time - SwapSDK(network="dev").session.now_ms()) < 3 * day
    )


@pytest.mark.parametrize("name", list(REQUESTS))
def test_a_v2_request_opens_a_channel(name: str, node: NodeProcess, options: dict[str, Any]) -> None:
    with SwapSDK(options) as sdk:
        check(name, sdk.call(request(name)), node)


@pytest.mark.parametrize("name", list(REQUESTS))
async def test_a_v2_request_opens_a_channel_under_trio(
    name: str, node: NodeProcess, options: dict[str, Any]
) -> None:
    import trio

    async with AsyncSwapSDK(options) as sdk:
        channel = await sdk.call(request(name))
    await trio.to_thread.run_sync(check, name, channel, node)


def test_a_v1_request_opens_a_channel(options: dict[str, Any]) -> None:
    document = {
        "srcChain": "Ethereum",
        "srcAsset": "ETH",
        "destChain": "Bitcoin",
        "destAsset": "BTC",
        "destAddress": BTC,
        "amount": "1500000000000000000",
        "dcaParams": {"numberOfChunks": 3, "chunkInterval": 2},
        "fillOrKillParams": {"minPrice": "0.03", "refundAddress": EVM, "retryDurationBlocks": 5},
    }
    with SwapSDK(options) as sdk:
        first = sdk.call(RequestDepositAddress.from_json(document))
        second = sdk.call(RequestDepositAddress.from_json(document))
    assert first.deposit_channel_id != second.deposit_channel_id
    assert first.deposit_address != second.deposit_address
    assert json.dumps(first.to_json())


def test_a_refusal_of_the_chain_is_a_chain_error(options: dict[str, Any]) -> None:
    with SwapSDK(options) as sdk, pytest.raises(ChainError) as caught:
        sdk.request_deposit_address_v2(
            Quote.from_json(quote()), EVM, request("regular").fill_or_kill_params, broker_commission_bps=1001
        )
    assert (caught.value.pallet, caught.value.error) == ("Swapping", "BrokerCommissionBpsTooHigh")
    assert caught.value.rpc_code == -32024


def test_the_price_arrives_as_it_was_meant(options: dict[str, Any], node: NodeProcess) -> None:
    terms = request("regular")
    with SwapSDK(options) as sdk:
        sdk.call(terms)
    events = node.call(
        "state_getStorage", "0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7"
    )
    # 60000.5 less 1.5 % is 59100.4925 USDC for a BTC; in base units, X128, little-endian, as in the event.
    x128 = (59_100_492_500 * 2**128 * 2 + 10**8) // (2 * 10**8)
    assert x128.to_bytes(32, "little").hex() in events
