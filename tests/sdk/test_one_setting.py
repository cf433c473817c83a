"""One address gives node, swap service and broker of a development chain, wherever it listens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.core.chain_time import NOW_KEY, stored_time
from cfnode.sdk import AsyncSwapSDK, BadStatus, SwapSDK
from cfnode.sdk.options import ClientSession, Options
from tests.rpc.clients import served
from tests.sdk.place import AFFILIATE_BPS, OWN_BPS, RECEIVER, REFUND, Place

DAY_MS = 86_400_000
PAIR = ("BTC", "ETH", "0.1")
REQUEST = (*PAIR, f"--to={RECEIVER}", f"--refund={REFUND}", "--slippage=5")


def swap(place: Place, *arguments: str) -> Result:
    """Run `cfnode swap` with the node in CFNODE_URL."""
    return CliRunner().invoke(cli, ["swap", *arguments, "--network=dev"], env={"CFNODE_URL": place.node.url})


def test_the_variable_is_enough_for_a_swap_with_a_commission(place: Place) -> None:
    """Quote, open and find a channel with commission and affiliate by the variable alone."""
    quoted = swap(place, "quote", *PAIR, "--json")
    assert quoted.exit_code == 0, quoted.output
    share = f"--affiliate={place.affiliate}={AFFILIATE_BPS}"
    opened = swap(place, "request", *REQUEST, f"--commission={OWN_BPS}", share, "--json")
    assert opened.exit_code == 0, opened.output
    channel: dict[str, Any] = json.loads(opened.stdout)
    assert channel["brokerCommissionBps"] == OWN_BPS
    assert [affiliate_broker["commissionBps"] for affiliate_broker in channel["affiliateBrokers"]] == [
        AFFILIATE_BPS
    ]
    waiting = swap(place, "status", channel["depositChannelId"], "--json")
    assert json.loads(waiting.stdout)["state"] == "WAITING", waiting.output


def test_an_affiliate_alone_goes_to_the_nodes_broker(place: Place) -> None:
    """Open a channel of the node's broker for an affiliate, with no commission of its own."""
    opened = swap(place, "request", *REQUEST, f"--affiliate={place.affiliate}={AFFILIATE_BPS}", "--json")
    assert opened.exit_code == 0, opened.output
    assert json.loads(opened.stdout)["brokerCommissionBps"] == 0


def test_a_channel_of_the_nodes_broker_expires_in_chain_time(place: Place) -> None:
    """Reckon the expiry by the chain's time, as the node's service does."""
    head = place.node.call("state_getStorage", NOW_KEY)
    opened = json.loads(swap(place, "request", *REQUEST, f"--commission={OWN_BPS}", "--json").stdout)
    of_broker = opened["estimatedDepositChannelExpiryTime"]
    status = json.loads(swap(place, "status", opened["depositChannelId"], "--json").stdout)
    of_service = status["depositChannel"]["estimatedExpiryTime"]
    assert 0 < of_broker - stored_time(head) < 2 * DAY_MS
    assert abs(of_broker - of_service) < DAY_MS / 24


def test_the_printed_commands_name_the_same_node(place: Place) -> None:
    """Name the node in the commands that pay and follow."""
    lines = swap(place, "request", *REQUEST).stdout.splitlines()
    pay, follow = (lines[lines.index(name) + 1] for name in ("Pay into it:", "Follow it:"))
    assert pay.startswith("cfnode dev deposit bcrt1p")
    assert pay.endswith(f" BTC 0.1 --node {place.node.url}")
    assert follow.startswith(f"cfnode swap watch --network=dev --node={place.node.url} ")


def test_a_deposit_is_made_by_the_channels_id(place: Place) -> None:
    """Pay into a channel by its id in any case, and refuse an id that the node does not know."""
    channel = json.loads(swap(place, "request", *REQUEST, "--json").stdout)
    node = ("--node", place.node.url)
    by_id = ("dev", "deposit", channel["depositChannelId"].lower(), "Btc", "0.1", *node)
    paid = CliRunner().invoke(cli, by_id)
    assert f"deposited 0.1 BTC at {channel['depositAddress']}" in paid.output, paid.output
    status = json.loads(swap(place, "status", channel["depositChannelId"], "--json").stdout)
    assert status["deposit"]["amount"] == "10000000"
    unknown = CliRunner().invoke(cli, ["dev", "announce", "7-Bitcoin-777", "Btc", "0.1", *node])
    assert (unknown.exit_code, "resource not found" in unknown.output) == (1, True), unknown.output


def test_the_sdk_takes_the_node_as_the_swap_service(place: Place) -> None:
    """Ask the node for quotes where only its address is given."""
    with SwapSDK(network="dev", rpc_url=place.node.url) as sdk:
        assert sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", 10_000_000).regular.egress_amount > 0


def test_the_sdk_takes_chains_and_symbols_in_any_case(place: Place) -> None:
    """Accept chains and symbols in any case, and give their own spelling back."""
    with SwapSDK(network="dev", rpc_url=place.node.url) as sdk:
        quotes = sdk.get_quote_v2("bitcoin", "btc", "ETHEREUM", "eth", 10_000_000)
    assert (quotes.src_chain, quotes.src_asset) == ("Bitcoin", "BTC")
    assert (quotes.dest_chain, quotes.dest_asset) == ("Ethereum", "ETH")


def backend_of(**options: Any) -> str:
    """Return the swap service that a session asks."""
    chosen = Options().replaced(options)
    client_session = ClientSession(chosen, now_ms=lambda: 0, monotonic=lambda: 0.0, random_bytes=bytes)
    return client_session.backend_url


def test_the_rule_is_for_development_chains_only() -> None:
    """Take the node for the swap service on development chains only, unless another is named."""
    node, service = "http://127.0.0.1:9955", "http://127.0.0.1:8080"
    assert backend_of(network="dev", rpc_url=node) == node
    assert backend_of(network="dev", rpc_url=node, backend_url=service) == service
    assert backend_of(network="dev") == "http://127.0.0.1:9944"
    assert backend_of(network="mainnet", rpc_url=node) == "https://chainflip-swap.chainflip.io"


async def test_a_node_without_a_swap_service_is_named_as_such() -> None:
    """Say that the node has no swap service, after its status 405."""
    async with served() as port, AsyncSwapSDK(network="dev", rpc_url=f"http://127.0.0.1:{port}") as sdk:
        with pytest.raises(BadStatus, match="this node has no swap service") as caught:
            await sdk.get_status_v2("1-Bitcoin-2")
    assert caught.value.status == 405
