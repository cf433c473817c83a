"""A swap's whole way with both clients, on a development node with its own broker and swap service."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import trio

from cfnode.sdk import (
    AsyncSwapSDK,
    CcmParams,
    DepositAddress,
    FillOrKillParams,
    Quote,
    QuoteCcmParams,
    SwapSDK,
    SwapStatus,
)
from tests.process import NodeProcess, command, environment, running_node

RECEIVER = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"
REFUND = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
BTC = {"chain": "Bitcoin", "asset": "BTC"}
AMOUNT = 10_000_000
TERMS = FillOrKillParams(REFUND, 100, slippage_tolerance_percent=10)
MESSAGE = CcmParams("0xdeadc0de", 100_000)
STATES = ["WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED"]
BLOCKS = 300
KINDS = ("regular", "DCA", "CCM", "V1")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A development node that seals when there is something to seal, with a registered broker."""
    folder = tmp_path_factory.mktemp("swaps")
    base = f"--base-path={folder}/base"
    insert = command("key", "insert", "--chain=dev", base, "--suri=//Alice", "--key-type=brok")
    subprocess.run([*insert, "--scheme=sr25519"], env=environment(folder), check=True, capture_output=True)
    with running_node(folder, base, "--dev", "--dev-seal=instant") as running:
        if httpx.get(f"{running.url}/healthcheck").status_code != 200:
            pytest.skip("this node has no swap service")
        running.call("broker_register_account")
        yield running


@pytest.fixture(params=["own broker", "swap service"])
def options(node: NodeProcess, request: pytest.FixtureRequest) -> dict[str, Any]:
    named = {"network": "dev", "rpcUrl": node.url, "backendUrl": node.url, "enabledFeatures": {"dca": True}}
    return named | ({"broker": {"url": node.url}} if request.param == "own broker" else {})


def deposit(node: NodeProcess, channel: DepositAddress) -> None:
    node.call("dev_deposit", channel.deposit_address, BTC, AMOUNT)


def chosen(quotes: tuple[Quote, ...], kind: str) -> Quote:
    return next(quote for quote in quotes if quote.type == ("DCA" if kind == "DCA" else "REGULAR"))


def check_way(states: list[str], last: SwapStatus, channel: DepositAddress) -> None:
    """The states come in their order, and the receiver gets what the pools gave."""
    assert states[0] == "WAITING" and states[-1] == "COMPLETED"
    order = [STATES.index(state) for state in states]
    assert order == sorted(set(order))
    assert last.deposit is not None and last.deposit.amount > 0
    assert last.swap_egress is not None and last.swap_egress.amount > 0
    assert last.deposit_channel is not None
    assert last.deposit_channel.deposit_address == channel.deposit_address
    assert last.refund_egress is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_swap_with_the_blocking_client(kind: str, node: NodeProcess, options: dict[str, Any]) -> None:
    with SwapSDK(options) as sdk:
        if kind == "V1":
            terms = FillOrKillParams(REFUND, 100, min_price="0.0001")
            channel = sdk.request_deposit_address(
                "Bitcoin", "BTC", "Ethereum", "ETH", RECEIVER, AMOUNT, terms
            )
        else:
            ccm = QuoteCcmParams("100000", 4) if kind == "CCM" else None
            quotes = sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", AMOUNT, ccm_params=ccm).quotes
            message = MESSAGE if ccm else None
            channel = sdk.request_deposit_address_v2(
                chosen(quotes, kind), RECEIVER, TERMS, ccm_params=message
            )
        states = [(status := sdk.get_status_v2(channel.deposit_channel_id)).state]
        deposit(node, channel)
        for _ in range(BLOCKS):
            status = sdk.get_status_v2(channel.deposit_channel_id.upper())
            states += [status.state] if status.state != states[-1] else []
            if status.is_final:
                break
            node.call("dev_newBlock")
        check_way(states, status, channel)
        assert status.swap_id is not None
        assert sdk.get_status_v2(int(status.swap_id)) == status
        assert sdk.get_status(channel.deposit_channel_id).state == "COMPLETE"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_swap_with_the_async_client(kind: str, node: NodeProcess, options: dict[str, Any]) -> None:
    async with AsyncSwapSDK(options) as sdk:
        if kind == "V1":
            terms = FillOrKillParams(REFUND, 100, min_price="0.0001")
            channel = await sdk.request_deposit_address(
                "Bitcoin", "BTC", "Ethereum", "ETH", RECEIVER, AMOUNT, terms
            )
        else:
            ccm = QuoteCcmParams("100000", 4) if kind == "CCM" else None
            quotes = (
                await sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", AMOUNT, ccm_params=ccm)
            ).quotes
            message = MESSAGE if ccm else None
            channel = await sdk.request_deposit_address_v2(
                chosen(quotes, kind), RECEIVER, TERMS, ccm_params=message
            )
        states = [(status := await sdk.get_status_v2(channel.deposit_channel_id)).state]
        await trio.to_thread.run_sync(deposit, node, channel)
        for _ in range(BLOCKS):
            status = await sdk.get_status_v2(channel.deposit_channel_id)
            states += [status.state] if status.state != states[-1] else []
            if status.is_final:
                break
            await trio.to_thread.run_sync(node.call, "dev_newBlock")
        check_way(states, status, channel)
