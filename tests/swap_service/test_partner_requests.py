"""A partner's request is sent once: repeated, on another process, after kills, without its answer."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy import update

from cfnode.ledger.database import Database
from cfnode.ledger.errors import CallError, LedgerError
from cfnode.ledger.partners import idempotency, registry
from cfnode.ledger.partners import lost as lost_module
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.service_tables import partner_requests
from cfnode.ledger.swap_events import ServiceChannel
from cfnode.swap_service.live_network.broker import RemoteBroker
from cfnode.swap_service.live_network.link import NodeLink
from cfnode.swap_service.live_network.outcomes import opened_nothing
from cfnode.swap_service.live_network.partner_api import opening, schema
from cfnode.swaps.identity import ChannelId
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.swap_service.live import Service, running_service
from tests.swap_service.partners import (
    BITCOIN,
    CHANNEL,
    Api,
    Chain,
    channels,
    code_of,
    followed,
    order,
)


def held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Return two events: the next channel has been asked for, and it may be opened."""
    is_asked, may_go = threading.Event(), threading.Event()
    opening_ = RemoteBroker._opening

    async def slow(self: RemoteBroker, *params: Any) -> Any:
        is_asked.set()
        import trio

        await trio.to_thread.run_sync(may_go.wait)
        return await opening_(self, *params)

    monkeypatch.setattr(RemoteBroker, "_opening", slow)
    return is_asked, may_go


def digest_of(document: dict[str, Any]) -> str:
    """Return the digest of a channel request given as a JSON document."""
    return opening.digest_of(msgspec.convert(document, schema.ChannelRequest))


def test_a_repeated_request_opens_no_second_channel(chain: Chain, books: Database, service: Service) -> None:
    """Answer equal requests under one key once, on a second service too; refuse other terms under it."""
    api, other = Api.of(service.url, books), Api.of(service.url, books)
    before = channels(chain)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: api.open(key="same"), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    with running_service(books, chain.url, chain.url) as second:
        again = Api(second.url, api.key).open(key="same")
    assert again.content == answers[0].content
    assert channels(chain) == before + 1
    assert code_of(api.open(CHANNEL | {"amount": "200000000"}, key="same")) == (422, "idempotency_key_reused")
    spaced = httpx.post(
        service.url + "/v1/channels",
        content=msgspec.json.format(msgspec.json.encode(CHANNEL)),
        headers=api.headers | {"idempotency-key": "same", "content-type": "application/json"},
    )
    assert spaced.content == answers[0].content
    assert other.open(key="same").status_code == 201
    assert channels(chain) == before + 2


def test_a_failed_request_may_be_repeated_with_its_key(
    chain: Chain, books: Database, service: Service
) -> None:
    """Accept the key of a request again that failed before anything was sent."""
    api = Api.of(service.url, books)
    with running_service(books, chain.url) as without:
        answer = Api(without.url, api.key).open(key="again")
    assert code_of(answer) == (503, "unavailable")
    assert "without --broker" in answer.json()["error"]["message"]
    assert api.open(key="again").status_code == 201


def test_a_repeated_request_waits_for_the_first_one_on_another_process(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hold a repetition on another process until the first request has its answer, and give both the same."""
    api, before = Api.of(service.url, books), channels(chain)
    is_asked, may_go = held(monkeypatch)
    with running_service(books, chain.url, chain.url) as second, ThreadPoolExecutor(3) as pool:
        first = pool.submit(api.open, CHANNEL, "slow")
        assert is_asked.wait(60)
        repeated = pool.submit(Api(second.url, api.key).open, CHANNEL, "slow")
        reused = Api(second.url, api.key).open(CHANNEL | {"amount": "200000000"}, "slow")
        assert code_of(reused) == (422, "idempotency_key_reused")
        may_go.set()
        assert first.result(60).content == repeated.result(60).content
        assert first.result().status_code == 201
    assert channels(chain) == before + 1


def test_after_the_death_of_a_process_its_request_is_unknown(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that an earlier version had accepted, and not sent, begins anew."""
    monkeypatch.setattr(opening, "HEARTBEAT_TIMEOUT_S", 0.5)
    monkeypatch.setattr(opening, "OTHER_REQUEST_POLL_S", 0.1)
    api, before = Api.of(service.url, books), channels(chain)
    partner, document = registry.require(books, api.name), order()
    for key in ("accepted", "sent"):
        dead = idempotency.place(books, partner, key, digest_of(document), "d" * 32, 0, 0)
        assert isinstance(dead, idempotency.Order)
    with books.writing() as connection:
        mine = (partner_requests.c.partner == api.name, partner_requests.c.key == "accepted")
        connection.execute(update(partner_requests).where(*mine).values(state="accepted", block=None))
    taken = api.open(document, "accepted")
    assert taken.status_code == 201
    unknown = api.open(document, "sent")
    assert code_of(unknown) == (502, "outcome_unknown")
    again = [api.open(document, key).content for key in ("accepted", "sent")]
    assert again == [taken.content, unknown.content]
    assert channels(chain) == before + 1
    kept = [row for row in rows(books, "partner_channels") if row["partner"] == api.name]
    assert sorted(request["state"] for request in kept) == ["opened", "released", "reserved"]


def test_a_key_that_is_revoked_while_its_request_waits_opens_nothing(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse a request whose partner's key is revoked just before it is recorded; keep no row of it."""
    api, before = Api.of(service.url, books), channels(chain)
    place = idempotency.place

    def placed(*arguments: Any) -> Any:
        registry.revoke(books, api.name)
        return place(*arguments)

    monkeypatch.setattr(idempotency, "place", placed)
    assert code_of(api.open(key="revoked")) == (401, "unauthorized")
    assert channels(chain) == before
    assert [row for row in rows(books, "partner_requests") if row["partner"] == api.name] == []


def test_the_broker_dies_with_a_request(
    books: Database, chain: Chain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was sent, and no answer comes: the outcome is unknown, and it is not sent again."""
    from cfnode.ledger.errors import NodeError

    call, sent = NodeLink.call, []

    async def broken(self: NodeLink, method: str, *params: Any, **more: Any) -> Any:
        if method == "broker_request_swap_deposit_address":
            sent.append(params)
            raise NodeError("http://127.0.0.1:9 closed the connection")
        return await call(self, method, *params, **more)

    monkeypatch.setattr(NodeLink, "call", broken)
    with running_service(books, chain.url, chain.url) as service:
        api = Api.of(service.url, books)
        document = order()
        first, second = api.open(document, "lost"), api.open(document, "lost")
    assert code_of(first) == code_of(second) == (502, "outcome_unknown")
    assert len(sent) == 1
    partner = next(row for row in rows(books, "partner_channels") if row["partner"] == api.name)
    assert partner["state"] == "reserved"


def test_a_channel_costs_five_exchanges_in_a_row_and_two_commits_to_disk(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker's head is asked for while the other node answers."""
    api = Api.of(service.url, books)
    assert api.open(order()).status_code == 201  # the metadata is there now
    batch, writing = NodeLink.batch, Database.writing
    asked: list[list[str]] = []
    waits: list[bool] = []

    async def counted(self: NodeLink, calls: Any, **more: Any) -> Any:
        asked.append([method for method, _ in calls])
        return await batch(self, calls, **more)

    def noted(self: Database, *, durable: bool = True) -> Any:
        waits.append(durable)
        return writing(self, durable=durable)

    monkeypatch.setattr(NodeLink, "batch", counted)
    monkeypatch.setattr(Database, "writing", noted)
    assert api.open(order()).status_code == 201
    asked.remove(["chain_getHeader"])
    assert asked == [
        ["chain_getBlockHash", "state_getRuntimeVersion", "chain_getBlockHash"],
        ["state_call"] * 3,
        ["broker_request_swap_deposit_address"],
        ["chain_getBlockHash"],
        ["state_getStorage"],
    ]
    assert sum(waits) == 2


def test_an_expired_key_may_be_used_again(books: Database) -> None:
    """Keep the answer for the key's lifetime; after it, the key may stand for other terms."""
    name = registry.add(books, partner := Partner("expiring", 0))
    assert name
    first = idempotency.place(books, partner, "old", "a" * 64, "o" * 32, 0, 0, now=1_000.0)
    assert isinstance(first, idempotency.Order)
    idempotency.finish(
        books, first, idempotency.Kept(ServiceChannel(ChannelId("Bitcoin", 2**40, 1), 1), 0, "{}")
    )
    assert idempotency.look(books, "expiring", "old", "a" * 64) == idempotency.Opened("{}")
    later = 1_000.0 + idempotency.KEY_LIFETIME_MS / 1000
    assert idempotency.place(
        books, partner, "old", "a" * 64, "o" * 32, 0, 0, now=later
    ) == idempotency.Opened("{}")
    again = idempotency.place(books, partner, "old", "b" * 64, "o" * 32, 0, 0, now=later + 1)
    assert isinstance(again, idempotency.Order)
    idempotency.give_up(books, again)


@pytest.mark.parametrize(
    ("code", "text", "nothing"),
    [
        (-32024, 'KnownModuleError { pallet: "Swapping", name: "InvalidRefundAddress" }', True),
        (-32024, "Invalid(Payment): the account cannot pay", True),
        (-32024, '"transaction was dropped from the pool because of the limit"', False),
        (-32024, "transaction 0xab sent, not yet included (no blocks): it may still be executed", False),
        (-32024, "Unexpected end of stream: transaction 0xab was sent, and may still be executed", False),
        (-32025, "The extrinsic was submitted successfully but an error occurred", False),
        (-32602, "Invalid params", True),
        (-32000, "the node is still syncing with the chain", True),
        (-32009, "Server is busy, try again later", True),
        (1010, "Invalid Transaction", True),
        (-32603, "Internal error", False),
        (7, "whatever", False),
    ],
)
def test_what_is_not_certain_counts_as_unknown(code: int, text: str, nothing: bool) -> None:
    """Count an error as "nothing opened" only where the broker certainly sent no transaction."""
    assert opened_nothing(CallError("broker_request_swap_deposit_address", code, text)) is nothing


def test_a_channel_that_is_being_opened_is_answered_before_the_end(
    chain: Chain, books: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finish a channel that the broker is opening before the service stops, though its port has closed."""
    is_asked, may_go = held(monkeypatch)
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        service = stack.enter_context(running_service(books, chain.url, chain.url))
        first = pool.submit(Api.of(service.url, books).open)
        assert is_asked.wait(60)
        ending = pool.submit(stack.close)
        port = int(service.url.rpartition(":")[2])
        while is_open(port):
            assert not ending.done()
        may_go.set()
        assert first.result(60).status_code == 201
        ending.result(60)


def is_open(port: int) -> bool:
    """Return whether the port accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def lost(books: Database, api: Api, document: dict[str, Any], key: str, head: int) -> idempotency.Order:
    """Return a request that was sent, and whose answer was lost with its process."""
    partner = registry.require(books, api.name)
    order = idempotency.place(books, partner, key, digest_of(document), "d" * 32, 5, head)
    assert isinstance(order, idempotency.Order)
    idempotency.lose(books, order)
    return order


def test_a_lost_channel_is_found_in_the_books(chain: Chain, books: Database, service: Service) -> None:
    """Answer a lost request with the channel of its terms from the books, once, and send nothing anew."""
    api, document = Api.of(service.url, books, affiliate=chain.affiliate, affiliate_bps=3), order()
    head = int(chain.chain.rpc("chain_getHeader")["number"], 16)
    places = [lost(books, api, document, f"lost-{number}", head) for number in range(2)]
    price = hex(int(document["refund_params"]["min_price_x128"]))
    refund = {"retry_duration": 10, "min_price": price, "refund_address": BTC_ADDRESS}
    terms = {"commission_bps": 15, "refund_parameters": refund, "refund_address": BTC_ADDRESS}
    affiliates = [{"account": chain.affiliate, "bps": 3}]
    sent = chain.chain.broker.open_channel("Btc", "Eth", EVM_ADDRESS, **terms, affiliate_fees=affiliates)
    chain.chain.broker.open_channel("Btc", "Eth", EVM_ADDRESS, **terms)  # without the affiliate: another one
    chain.chain.finalize()
    assert code_of(api.open(document, "lost-0")) == (502, "outcome_unknown"), "it is not in the books yet"
    followed(books, chain.url)
    before = channels(chain)
    answer = api.open(document, "lost-0")
    assert answer.status_code == 201, answer.text
    channel = msgspec.json.decode(answer.content, type=schema.Channel)
    assert (channel.deposit_address, channel.issued_block) == (sent["address"], sent["issued_block"])
    assert api.open(document, "lost-0").content == answer.content
    assert code_of(api.open(document, "lost-1")) == (502, "outcome_unknown"), "one channel is for one request"
    status = msgspec.json.decode(api.get(f"/v1/swaps/{channel.id}").content, type=schema.Swap)
    assert (status.state, status.deposit_channel.expected_amount) == ("WAITING", str(BITCOIN))
    assert channels(chain) == before
    taken = ChannelId.parse(channel.id)
    assert taken is not None
    with pytest.raises(LedgerError, match="belongs to another request"):  # its process was alive after all
        idempotency.finish(books, places[1], idempotency.Kept(ServiceChannel(taken, 1), 0, "{}"))


def test_what_was_never_executed_may_be_sent_again(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction is valid for some blocks; when the books have more of them, it was never executed."""
    monkeypatch.setattr(lost_module, "REQUEST_LIFETIME_BLOCKS", 3)
    api, document = Api.of(service.url, books, budget=10**18), order()
    head = int(chain.chain.rpc("chain_getHeader")["number"], 16)
    lost(books, api, document, "gone", head)
    chain.chain.new_block(2)
    chain.chain.finalize()
    followed(books, chain.url)
    before = channels(chain)
    assert code_of(api.open(document, "gone")) == (502, "outcome_unknown")
    chain.chain.new_block()
    chain.chain.finalize()
    followed(books, chain.url)
    assert api.open(document, "gone").status_code == 201
    assert channels(chain) == before + 1
    kept = [row for row in rows(books, "partner_channels") if row["partner"] == api.name]
    assert sorted(request["state"] for request in kept) == ["opened", "released"]


def test_an_equal_request_that_is_being_sent_may_own_the_channel(books: Database, service: Service) -> None:
    """Leave a lost request unknown while an equal request is being sent: the channel may be that one's."""
    api, document = Api.of(service.url, books), order()
    lost(books, api, document, "first", 0)
    partner = registry.require(books, api.name)
    other = idempotency.place(books, partner, "second", digest_of(document), "e" * 32, 0, 0)
    assert isinstance(other, idempotency.Order)
    wanted = ("Btc", "Eth", lambda fields: True)
    name = (api.name, "first", digest_of(document))
    assert idempotency.resolve(books, *name, wanted, lambda event: pytest.fail()) == idempotency.Unknown()
