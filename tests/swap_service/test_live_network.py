"""The swap service over a node and the books answers as a development node's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cfnode.core.assets import ASSETS
from cfnode.ledger.database import Database
from cfnode.ledger.recompute import recomputed
from cfnode.sdk import SwapSDK
from cfnode.sdk.errors import RpcCallError
from cfnode.testing import DevChain, running_node
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS, Day, play
from tests.ledger.postgres import BOTH
from tests.lengths import repeats
from tests.support.swap_service.chains import another_chain
from tests.swap_service.live import HTTP, Service, running_service
from tests.swap_service.partners import books_of, followed

pytestmark = pytest.mark.world

BITCOIN = 10**8
PAIR = {"srcChain": "Bitcoin", "srcAsset": "BTC", "destChain": "Ethereum", "destAsset": "ETH"}
TERMS = {"retryDurationBlocks": 10, "refundAddress": BTC_ADDRESS, "minPriceX128": "0"}
CHANNEL = PAIR | {"destAddress": EVM_ADDRESS, "amount": str(BITCOIN), "fillOrKillParams": TERMS}
BTC = {"chain": "Bitcoin", "asset": "BTC"}


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Yield a day of business, and what goes wrong in one: a deposit too small, one without a swap."""
    folder = tmp_path_factory.mktemp("chain")
    with running_node(folder, "--state-pruning=archive") as node, DevChain(node.url) as chain:
        played = play(node.url, chain)
        small = chain.broker.open_channel("Btc", "Eth", EVM_ADDRESS, refund_address=BTC_ADDRESS, boost_fee=10)
        chain.rpc("dev_setBoost", BTC, 0)
        chain.announce(small["address"], "Btc", BITCOIN // 10)
        chain.new_block(3)
        with pytest.raises(RpcCallError, match="BelowMinimumDeposit"):
            chain.deposit(small["address"], "Btc", 1)
        chain.broker.open_channel("Eth", "Btc", BTC_ADDRESS, refund_address=EVM_ADDRESS)
        chain.new_block(3)
        chain.finalize()
        yield played


@pytest.fixture(scope="module", params=BOTH[: repeats(2, 1)])
def books(
    day: Day, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """Yield the books of the day, of both kinds in turn."""
    with books_of(day.url, request.param, tmp_path_factory.mktemp("books")) as opened:
        yield opened


@pytest.fixture
def service(day: Day, books: Database) -> Iterator[Service]:
    """Yield the service over the books, with the development node as node and as broker."""
    with running_service(books, day.url, day.url) as started:
        yield started


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a node of another chain."""
    with another_chain(tmp_path_factory.mktemp("other")) as url:
        yield url


def references(day: Day) -> list[str]:
    """Return all names under which the swaps of a chain can be asked for."""
    names: dict[str, None] = {}
    head = int(day.chain.rpc("chain_getHeader")["number"], 16)
    for number in range(1, head + 1):
        for event in day.chain.events(day.chain.rpc("chain_getBlockHash", number)):
            fields = event["fields"]
            if event["name"] == "SwapDepositAddressReady":
                names[f"{number}-{ASSETS[fields['source_asset']].chain}-{fields['channel_id']}"] = None
            elif event["name"] == "SwapRequested":
                names[str(fields["swap_request_id"])] = None
    return list(names)


def transactions(service: Service, names: list[str]) -> list[str]:
    """Return the transactions of the deposits."""
    statuses = [service.get(f"/v2/swaps/{name}").json() for name in names]
    return [status["deposit"]["txRef"] for status in statuses if "txRef" in status.get("deposit", {})]


def test_each_status_is_that_of_the_nodes_own_service(day: Day, service: Service) -> None:
    """Give for each channel, swap and transaction the bytes that the node's own service gives."""
    names = references(day)
    names += transactions(service, names)
    assert len(names) > 20
    states = set()
    for name in names:
        for form in ("/v2/swaps/", "/swaps/"):
            own, live = HTTP.get(day.url + form + name), service.get(form + name)
            assert live.status_code == own.status_code, (name, live.text)
            assert live.json() == own.json(), name
            assert live.content == own.content, name
            states.add(live.json().get("state"))
    assert {"COMPLETED", "FAILED", "WAITING"} <= states
    for name in ("999999", "1-Bitcoin-999", "0x" + "ab" * 32, "1-Nowhere-1", "9" * 20, "x" * 300):
        own, live = HTTP.get(f"{day.url}/v2/swaps/{name}"), service.get(f"/v2/swaps/{name}")
        assert (live.status_code, live.content) == (own.status_code, own.content)


def test_quotes_and_limits_are_those_of_the_nodes_own_service(day: Day, service: Service) -> None:
    """Give the node's own bytes for quotes, limits and states of the network, and for refused amounts."""
    for path, query in (
        ("/v2/quote", PAIR | {"amount": BITCOIN, "dcaEnabled": "true", "brokerCommissionBps": 15}),
        ("/quote", PAIR | {"amount": BITCOIN}),
        ("/v2/quote", PAIR | {"amount": 1}),
        ("/v2/quote", PAIR | {"amount": 2**127}),
        ("/v2/quote", PAIR | {"amount": BITCOIN, "srcAsset": "DOGE"}),
        ("/api/networkInfo", {}),
        ("/trpc/networkStatus", {}),
    ):
        own, live = HTTP.get(day.url + path, params=query), service.get(path, **query)
        assert (live.status_code, live.content) == (own.status_code, own.content), (path, query)


def test_the_tables_of_statuses_follow_from_the_events(books: Database, service: Service) -> None:
    """Find each row of the tables of statuses in what a second reading of the events gives."""
    assert recomputed(books) == []


@pytest.mark.world
def test_a_swap_by_the_service_alone_and_its_status_when_the_node_is_another(
    day: Day, books: Database, other: str
) -> None:
    """Complete a swap by the service alone; its status stays readable while the node is of another chain."""
    with running_service(books, day.url, day.url) as service:
        with SwapSDK(network="dev", rpc_url=day.url, backend_url=service.url) as sdk:
            quote = sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", BITCOIN).quotes[0]
        channel = service.post("/api/openSwapDepositChannel", CHANNEL)
        assert channel.status_code == 201, channel.text
        opened = channel.json()
        day.chain.deposit(opened["depositAddress"], "Btc", BITCOIN)
        day.chain.new_block(8)
        day.chain.finalize()
        followed(books, day.url)
        before = service.get(f"/v2/swaps/{opened['id']}")
    status = before.json()
    assert status["state"] == "COMPLETED"
    assert int(status["swapEgress"]["amount"]) > int(quote.egress_amount) * 9 // 10
    assert status["depositChannel"]["expectedDepositAmount"] == str(BITCOIN)
    assert status["depositChannel"]["openedThroughBackend"] is True
    assert status["depositChannel"]["estimatedExpiryTime"] == opened["estimatedExpiryTime"]
    with running_service(books, other) as service:
        after = service.get(f"/v2/swaps/{opened['id']}")
        assert after.content == before.content
        refused = service.get("/v2/quote", **PAIR, amount=BITCOIN)
        assert refused.status_code == 503
        assert "the node follows another chain with the same genesis" in refused.json()["message"]
        health = service.get("/health")
        assert (health.status_code, health.json()["isHealthy"]) == (503, False)
        without = service.post("/api/openSwapDepositChannel", CHANNEL)
        assert without.status_code == 503
