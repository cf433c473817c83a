"""Whole swaps through the SDK, against a development node that is broker, swap service and chain in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cfnode.sdk import FillOrKillParams, SwapSDK
from tests.process import NodeProcess, running_node

EVM = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BTC = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
BITCOIN = {"chain": "Bitcoin", "asset": "BTC"}
ETHER = {"chain": "Ethereum", "asset": "ETH"}
AMOUNT = 10**8


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A development node without a broker key: nothing but the chain."""
    folder = tmp_path_factory.mktemp("swaps")
    with running_node(folder, f"--base-path={folder}/base", "--dev", "--dev-seal=instant") as running:
        yield running


@pytest.fixture
def sdk(node: NodeProcess) -> Iterator[SwapSDK]:
    options: dict[str, Any] = {"network": "dev", "rpcUrl": node.url, "backendUrl": node.url}
    with SwapSDK(options | {"enabledFeatures": {"dca": True}}) as client:
        yield client


def seal(node: NodeProcess, count: int) -> None:
    for _ in range(count):
        node.call("dev_newBlock")


def fill_or_kill(**price: str) -> FillOrKillParams:
    return FillOrKillParams.from_json({"refundAddress": BTC, "retryDurationBlocks": 10} | price)


def quoted(sdk: SwapSDK, kind: str = "REGULAR") -> Any:
    answer = sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", AMOUNT)
    (found,) = [each for each in answer.quotes if each.type == kind]
    return found


def test_a_quote_a_channel_a_deposit_and_the_money_is_there(sdk: SwapSDK, node: NodeProcess) -> None:
    quote = quoted(sdk)
    channel = sdk.request_deposit_address_v2(quote, EVM, fill_or_kill(slippageTolerancePercent="1.5"))
    assert channel.deposit_channel_id.split("-")[1] == "Bitcoin"
    assert sdk.get_status_v2(channel.deposit_channel_id).state == "WAITING"
    node.call("dev_deposit", channel.deposit_address, BITCOIN, AMOUNT)
    assert sdk.get_status_v2(channel.deposit_channel_id).state == "SWAPPING"
    seal(node, 4)
    status = sdk.get_status_v2(channel.deposit_channel_id)
    assert (status.state, status.is_final) == ("COMPLETED", True)
    assert status.swap_egress is not None
    assert status.swap_egress.amount == quote.egress_amount
    assert sdk.get_status(channel.deposit_channel_id).state == "COMPLETE"


def test_a_price_that_is_not_met_is_refunded(sdk: SwapSDK, node: NodeProcess) -> None:
    channel = sdk.request_deposit_address_v2(quoted(sdk), EVM, fill_or_kill(minPrice="1000"))
    node.call("dev_deposit", channel.deposit_address, BITCOIN, AMOUNT)
    seal(node, 16)
    status = sdk.get_status_v2(channel.deposit_channel_id)
    assert (status.state, status.swap_egress) == ("COMPLETED", None)
    assert status.refund_egress is not None
    assert status.refund_egress.amount < AMOUNT


def test_a_swap_in_chunks_runs_to_its_end(sdk: SwapSDK, node: NodeProcess) -> None:
    quote = quoted(sdk, "DCA")
    chunks = quote.dca_params.number_of_chunks
    channel = sdk.request_deposit_address_v2(quote, EVM, fill_or_kill(slippageTolerancePercent="5"))
    node.call("dev_deposit", channel.deposit_address, BITCOIN, AMOUNT)
    seal(node, 4)
    status = sdk.get_status_v2(channel.deposit_channel_id)
    assert status.swap is not None
    assert (status.state, status.swap.dca.executed_chunks) == ("SWAPPING", 2)  # type: ignore[union-attr]
    seal(node, 2 * chunks)
    status = sdk.get_status_v2(channel.deposit_channel_id)
    assert status.swap is not None
    assert (status.state, status.swap.dca.remaining_chunks) == ("COMPLETED", 0)  # type: ignore[union-attr]


def test_limits_and_chains_are_those_of_the_node(sdk: SwapSDK) -> None:
    limits = sdk.get_swap_limits()
    assert limits.minimum_swap_amounts["Bitcoin"]["BTC"] > 0
    assert "Ethereum" in [chain.chain for chain in sdk.get_chains()]
    assert sdk.get_required_block_confirmations()["Bitcoin"] == 3
