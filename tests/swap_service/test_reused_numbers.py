"""A channel with the number and address of an earlier one has only its own swaps, in each kind of service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from cfnode.ledger.database import Database
from cfnode.ledger.recompute import recomputed
from cfnode.ledger.reports import Period, report
from cfnode.swaps.identity import ChannelId
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.ledger.postgres import BOTH
from tests.swap_service.live import HTTP, Service, running_service
from tests.swap_service.partners import Api, Chain, books_of, broker_chain, code_of, followed, order
from tests.swap_service.reused import ETHER, recycled, swapped, three_channels


@dataclass(frozen=True, slots=True)
class Reused:
    """Three channels of one number: swapped, then refunded, then not paid; and requests of the first two."""

    chain: Chain
    channels: list[ChannelId]
    addresses: list[str]


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reused]:
    """Yield a chain on which one channel number was opened three times."""
    with broker_chain(tmp_path_factory.mktemp("chain")) as chain:
        made = three_channels(chain.chain)
        yield Reused(chain, [channel for channel, _ in made], [request for _, request in made])


@pytest.fixture(scope="module", params=BOTH)
def books(
    reused: Reused, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """Yield the books of that chain, in SQLite and in PostgreSQL."""
    with books_of(reused.chain.url, request.param, tmp_path_factory.mktemp("books")) as opened:
        yield opened


@pytest.fixture(scope="module")
def service(reused: Reused, books: Database) -> Iterator[Service]:
    """Yield the service over those books."""
    with running_service(books, reused.chain.url, reused.chain.url) as started:
        yield started


def status(url: str, reference: Any) -> httpx.Response:
    """Return the response of version 2 to a reference."""
    return HTTP.get(f"{url}/v2/swaps/{reference}")


def test_the_chain_gives_number_and_address_out_again(reused: Reused) -> None:
    """Assert that the chain gave the three channels one number and one address, in three blocks."""
    assert len({(channel.chain, channel.number) for channel in reused.channels}) == 1
    assert len(set(reused.addresses)) == 1
    assert len({channel.block for channel in reused.channels}) == 3


def test_a_channel_that_was_never_paid_is_waiting(reused: Reused, service: Service) -> None:
    """Leave the third channel waiting: deposits of the earlier ones with its number are not its own."""
    for url in (reused.chain.url, service.url):
        new = status(url, reused.channels[2]).json()
        assert (new["state"], "deposit" in new, "swapId" in new) == ("WAITING", False, False)
        assert HTTP.get(f"{url}/swaps/{reused.channels[2]}").json()["state"] == "AWAITING_DEPOSIT"


def test_the_channels_before_it_keep_their_swaps(reused: Reused, service: Service) -> None:
    """Keep swap and refund with the channel that was open then; swap and transaction name it too."""
    for url in (reused.chain.url, service.url):
        first, second = (status(url, channel).json() for channel in reused.channels[:2])
        assert (first["state"], first["deposit"]["amount"]) == ("COMPLETED", str(ETHER))
        assert ("swapEgress" in first, "refundEgress" in first) == (True, False)
        assert (second["state"], second["deposit"]["amount"]) == ("COMPLETED", str(2 * ETHER))
        assert ("swapEgress" in second, "refundEgress" in second) == (False, True)
        for channel, document in zip(reused.channels, (first, second), strict=False):
            assert document["depositChannel"]["id"] == str(channel)
            by_swap = status(url, document["swapId"]).json()
            assert by_swap["depositChannel"]["id"] == str(channel)
            by_transaction = status(url, document["deposit"]["txRef"]).json()
            assert by_transaction["depositChannel"]["id"] == str(channel)


def test_ids_that_never_were_are_unknown(reused: Reused, service: Service) -> None:
    """Answer 404 for an id with another block, chain or number, though the number itself is known."""
    first, number = reused.channels[0], reused.channels[0].number
    for url in (reused.chain.url, service.url):
        for name in (
            ChannelId("Ethereum", number, first.block + 1),  # a block after the opening
            ChannelId("Ethereum", number, 9_999_999_999),
            ChannelId("Arbitrum", number, first.block),
            ChannelId("Ethereum", number + 1, first.block),
        ):
            assert status(url, name).status_code == 404, name


def test_the_books_have_the_opening_of_each_fact(reused: Reused, books: Database) -> None:
    """Write into requests, deposits, fees and reports which opening of the number each belongs to."""
    blocks = [channel.block for channel in reused.channels]
    assert [row["opened"] for row in rows(books, "requests") if row["channel"]][:2] == blocks[:2]
    assert [row["opened"] for row in rows(books, "deposits")][:2] == blocks[:2]
    assert [row["opened"] for row in rows(books, "fees") if row["kind"] == "ingress"][:2] == blocks[:2]
    assert [record["deposits"] for record in report(books, "channels", Period())][:3] == [1, 1, 0]
    swaps = [record for record in report(books, "swaps", Period()) if record["channel_id"] is not None]
    assert [(swap["channel_id"], swap["state"]) for swap in swaps][:2] == [
        (str(reused.channels[0]), "paid"),
        (str(reused.channels[1]), "refunded"),
    ]
    assert recomputed(books) == []


def test_a_partner_reads_and_is_paid_for_its_own_channel_only(
    reused: Reused, books: Database, service: Service
) -> None:
    """Two partners get one number, one after the other; the second one's request is answered at once."""
    one, other = Api.of(service.url, books), Api.of(service.url, books)
    chain = reused.chain.chain
    recycled(chain)
    chain.finalize()
    request = _request()
    first = one.open(request).json()
    early = one.get(f"/v1/swaps/{first['id']}")
    assert (early.status_code, early.json()["state"]) == (200, "WAITING"), early.text
    swapped(chain, first["deposit_address"])
    recycled(chain)
    chain.finalize()
    followed(books, reused.chain.url)
    answer = other.open(request | {"amount": str(3 * ETHER)}, "again")
    assert answer.status_code == 201, answer.text
    second = answer.json()
    assert second["deposit_address"] == first["deposit_address"]
    assert other.open(request | {"amount": str(3 * ETHER)}, "again").json() == second
    swapped(chain, second["deposit_address"], 3 * ETHER)
    chain.finalize()
    followed(books, reused.chain.url)
    for api, own, others in ((one, first, second), (other, second, first)):
        document = api.get(f"/v1/swaps/{own['id']}").json()
        assert (document["state"], document["deposit_channel"]["id"]) == ("COMPLETED", own["id"])
        assert document["deposit"]["amount"] == str(ETHER if api is one else 3 * ETHER)
        assert api.get(f"/v1/swaps/{document['swap_id']}").json() == document
        assert code_of(api.get(f"/v1/swaps/{others['id']}")) == (404, "not_found")
    assert code_of(one.get(f"/v1/swaps/{reused.channels[0]}")) == (404, "not_found")


def _request() -> dict[str, Any]:
    document = order()
    terms = document["refund_params"] | {"refund_address": EVM_ADDRESS}
    pair = {"src_asset": document["dest_asset"], "dest_asset": document["src_asset"]}
    return document | pair | {"dest_address": BTC_ADDRESS, "refund_params": terms, "amount": str(ETHER)}


def test_a_channel_of_the_service_is_found_before_its_block_is_in_the_books(
    reused: Reused, books: Database, service: Service
) -> None:
    """Give the status of a channel that the service just opened as the books give it after its block."""
    terms = {"retryDurationBlocks": 10, "refundAddress": EVM_ADDRESS, "minPriceX128": "0"}
    pair = {"srcChain": "Ethereum", "srcAsset": "ETH", "destChain": "Bitcoin", "destAsset": "BTC"}
    body = pair | {"destAddress": BTC_ADDRESS, "amount": str(ETHER), "fillOrKillParams": terms}
    channel = service.post("/api/openSwapDepositChannel", body).json()
    early = status(service.url, channel["id"])
    assert early.status_code == 200, early.text
    assert HTTP.get(f"{service.url}/swaps/{channel['id']}").json()["state"] == "AWAITING_DEPOSIT"
    reused.chain.chain.finalize()
    followed(books, reused.chain.url)
    later = status(service.url, channel["id"]).json()
    unknown = {"brokers", "lastStatechainUpdateAt"}
    assert {name: early.json()[name] for name in later if name not in unknown} == {
        name: value for name, value in later.items() if name not in unknown
    }
    assert later["depositChannel"]["openedThroughBackend"] is True
