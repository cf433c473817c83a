"""The partners' API: their terms, what they may read, idempotency keys, and errors of one shape."""

from __future__ import annotations

import csv
import io
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import CallError
from cfnode.ledger.partners import access, orders, registry
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.statements import Month, Statement
from cfnode.swap_service.live.broker import RemoteBroker
from cfnode.swap_service.live.outcomes import opened_nothing
from cfnode.swap_service.live.partner_api import opening, schema
from cfnode.swap_service.live.partner_api.operations import OPERATIONS
from cfnode.swap_service.live.partner_api.problems import CODES
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.swap_service.live import HTTP, Service, running_service
from tests.swap_service.partners import (
    BITCOIN,
    BTC,
    CHANNEL,
    ETH,
    Api,
    Chain,
    broker_chain,
    code_of,
    followed,
)

MONTH = "2026-11"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    with broker_chain(tmp_path_factory.mktemp("chain")) as found:
        yield found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def books(
    chain: Chain, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    if request.param == "sqlite":
        database = Database(sqlite_url(tmp_path_factory.mktemp("books") / "books.sqlite"))
        followed(database, chain.url)
        yield database
        database.close()
        return
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        database = Database(server.new_database("service"))
        followed(database, chain.url)
        yield database
        database.close()


@pytest.fixture(scope="module")
def service(chain: Chain, books: Database) -> Iterator[Service]:
    with running_service(books, chain.url, chain.url) as found:
        yield found


def channels(chain: Chain) -> int:
    """The number of SwapDepositAddressReady events of the whole chain."""
    head = int(chain.chain.rpc("chain_getHeader")["number"], 16)
    hashes = [chain.chain.rpc("chain_getBlockHash", each) for each in range(1, head + 1)]
    return sum(
        event["name"] == "SwapDepositAddressReady" for each in hashes for event in chain.chain.events(each)
    )


def test_a_partner_goes_from_the_quote_to_the_statement(
    chain: Chain, books: Database, service: Service
) -> None:
    api = Api.of(service.url, books, affiliate=chain.affiliate, affiliate_bps=7)
    other = Api.of(service.url, books)
    answer = api.post("/v1/quotes", {"src_asset": BTC, "dest_asset": ETH, "amount": str(BITCOIN)})
    assert answer.status_code == 200, answer.text
    (quote,) = msgspec.json.decode(answer.content, type=schema.Quotes).quotes
    with_fee = service.get("/v2/quote", srcChain="Bitcoin", srcAsset="BTC", destChain="Ethereum",
                           destAsset="ETH", amount=BITCOIN, brokerCommissionBps=22)  # fmt: skip
    assert quote.egress_amount == with_fee.json()[0]["egressAmount"]
    refund = {**CHANNEL["refund_params"], "min_price_x128": quote.recommended_min_price_x128}
    answer = api.open(CHANNEL | {"refund_params": refund})
    assert answer.status_code == 201, answer.text
    channel = msgspec.json.decode(answer.content, type=schema.Channel)
    assert (channel.commission_bps, channel.affiliates) == (15, [schema.Broker(chain.affiliate, 7)])
    early = msgspec.json.decode(api.get(f"/v1/swaps/{channel.id}").content, type=schema.Swap)
    assert (early.state, early.deposit_channel.deposit_address) == ("WAITING", channel.deposit_address)
    assert code_of(other.get(f"/v1/swaps/{channel.id}")) == (404, "not_found")
    chain.swap(channel.deposit_address)
    followed(books, chain.url)
    found = api.get(f"/v1/swaps/{channel.id}")
    swap = msgspec.json.decode(found.content, type=schema.Swap)
    assert swap.state == "COMPLETED", found.text
    assert swap.swap_egress is not None
    assert int(swap.swap_egress.amount) > int(quote.egress_amount) * 99 // 100
    assert [each.commission_bps for each in swap.brokers] == [15, 7]
    assert {each.type for each in swap.fees} == {"INGRESS", "NETWORK", "BROKER", "EGRESS"}
    for reference in (swap.swap_id, swap.deposit and swap.deposit.tx_ref):
        assert api.get(f"/v1/swaps/{reference}").content == found.content
        assert code_of(other.get(f"/v1/swaps/{reference}")) == (404, "not_found")
    statement_equals_the_books(api, books)
    empty = msgspec.json.decode(other.get("/v1/statement", month=MONTH).content, type=schema.Statement)
    assert (empty.partner, empty.lines, empty.totals) == (other.name, [], [])


def statement_equals_the_books(api: Api, books: Database) -> None:
    newest = max(each["time"] for each in rows(books, "blocks"))
    month = datetime.fromtimestamp(newest / 1000, UTC).strftime("%Y-%m")
    own = Statement(books, Month.parse(month), partner=api.name)
    lines = list(own.lines())
    answer = api.get("/v1/statement", month=month)
    assert answer.headers["content-type"] == "application/json"
    found = msgspec.json.decode(answer.content, type=schema.Statement)
    assert len(found.lines) == len(lines) > 5
    assert {each.line for each in found.lines} == {"swap", "fee", "payout", "commission"}
    assert [msgspec.to_builtins(each) for each in found.totals] == [each.document() for each in own.totals]
    text = api.get("/v1/statement", month=month, format="csv")
    assert text.headers["content-type"] == "text/csv; charset=utf-8"
    table = list(csv.DictReader(io.StringIO(text.text)))
    assert len(table) == len(lines) + len(own.totals)
    assert [each["amount"] for each in table if each["line"].startswith("total")] == [
        str(each.amount) for each in own.totals
    ]


def test_each_refusal_has_its_status_and_its_code(chain: Chain, books: Database, service: Service) -> None:
    api = Api.of(service.url, books)
    for key in ("", "Bearer x", "Bearer " + "x" * 5_000, f"Basic {api.key}", f"Bearer {api.key}x"):
        answer = HTTP.get(service.url + "/v1/statement", headers={"authorization": key} if key else {})
        assert code_of(answer) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
    narrow = Api.of(service.url, books, assets=frozenset({"Btc", "Usdc"}))
    assert code_of(narrow.open()) == (403, "asset_not_allowed")
    quote = {"src_asset": BTC, "dest_asset": ETH, "amount": "100000000"}
    assert code_of(narrow.post("/v1/quotes", quote)) == (403, "asset_not_allowed")
    slow = Api.of(service.url, books, rate=1)
    assert slow.get("/v1/statement", month=MONTH).status_code == 200
    answer = slow.get("/v1/statement", month=MONTH)
    assert code_of(answer) == (429, "rate_limited")
    assert 50 < int(answer.headers["retry-after"]) <= 60
    poor = Api.of(service.url, books, budget=0)
    before = channels(chain)
    assert poor.open().status_code == 201  # the development chain opens channels for nothing
    revoked = Api.of(service.url, books)
    registry.revoke(books, revoked.name)
    assert code_of(revoked.open()) == (401, "unauthorized")
    assert code_of(api.get("/v1/elsewhere")) == (404, "not_found")
    answer = api.get("/v1/channels")
    assert (code_of(answer), answer.headers["allow"]) == ((405, "method_not_allowed"), "POST")
    for reference in ("999", "1-Bitcoin-999", "1-Nowhere-1", "x", "%00", "0x" + "ab" * 32, "9" * 300):
        assert code_of(api.get(f"/v1/swaps/{reference}")) == (404, "not_found"), reference
    for month in ("", "2026-13", "2026-1", "x"):
        assert code_of(api.get("/v1/statement", month=month)) == (400, "invalid_request")
    assert code_of(api.get("/v1/statement", month=MONTH, format="xml")) == (400, "invalid_request")
    assert code_of(api.get("/v1/statement", month=MONTH, more="1")) == (400, "invalid_request")
    assert channels(chain) == before + 1


def test_a_budget_ends(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api.of(service.url, books, budget=10)
    partner = registry.require(books, api.name)
    assert isinstance(access.reserve(books, partner, 10), access.Reservation)
    place = orders.place
    monkeypatch.setattr(orders, "place", lambda *given: place(*given[:-1], 1))
    before = channels(chain)
    answer = api.open()
    assert code_of(answer) == (402, "budget_used_up")
    assert channels(chain) == before


def test_bad_bodies_are_refused_and_open_nothing(chain: Chain, books: Database, service: Service) -> None:
    api, before = Api.of(service.url, books), channels(chain)
    head = api.headers | {"idempotency-key": "bad"}
    for body, kind, code in (
        (b"{}", "text/plain", (415, "not_json")),
        (b"{", "application/json", (400, "invalid_request")),
        (b"[]", "application/json", (400, "invalid_request")),
        (b"\xff", "application/json", (400, "invalid_request")),
        (b"[" * 100_000, "application/json", (400, "invalid_request")),
        (b" " * 200_000, "application/json", (413, "too_large")),
    ):
        answer = httpx.post(service.url + "/v1/channels", content=body, headers=head | {"content-type": kind})
        assert code_of(answer) == code, body[:10]
    for change, status, words in (
        ({"amount": 1}, 400, "$.amount"),
        ({"amount": "0"}, 400, "amount"),
        ({"amount": "1"}, 422, "below minimum"),
        ({"amount": "-1"}, 400, "$.amount"),
        ({"more": 1}, 400, "more"),
        ({"dest_address": "0x00"}, 400, "address"),
        ({"src_asset": {"chain": "Bitcoin", "asset": "DOGE"}}, 400, "srcAsset"),
        ({"refund_params": {}}, 400, "refund_address"),
        ({"max_boost_fee_bps": -1}, 400, "max_boost_fee_bps"),
        ({"ccm_params": {"message": "zz", "gas_budget": "1"}}, 400, "message"),
    ):
        answer = api.open(CHANNEL | change)
        assert code_of(answer) == (status, "invalid_request" if status == 400 else "swap_refused"), change
        assert words in answer.json()["error"]["message"], (change, answer.text)
    for key in ("", "a b", "x" * 201, "a/b"):
        answer = HTTP.post(
            service.url + "/v1/channels", json=CHANNEL, headers=api.headers | {"idempotency-key": key}
        )
        assert code_of(answer) == (400, "idempotency_key_required"), key
    assert code_of(api.post("/v1/channels", CHANNEL)) == (400, "idempotency_key_required")
    assert channels(chain) == before
    assert rows(books, "partner_requests") == [] or "bad" not in str(rows(books, "partner_requests"))


def test_web_pages_are_answered_as_on_the_rest_of_the_port(books: Database, service: Service) -> None:
    api = Api.of(service.url, books)
    page = {"origin": "https://evil.example"}
    assert HTTP.post(service.url + "/v1/quotes", json={}, headers=api.headers | page).status_code == 403
    local = HTTP.options(service.url + "/v1/channels", headers={"origin": "http://localhost:3000"})
    assert "authorization, idempotency-key" in local.headers["access-control-allow-headers"]
    refused = HTTP.post(service.url + "/v1/quotes", json={}, headers={"origin": "http://localhost:3000"})
    assert refused.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert code_of(refused) == (401, "unauthorized")


def test_a_repeated_request_opens_no_second_channel(chain: Chain, books: Database, service: Service) -> None:
    api, other = Api.of(service.url, books), Api.of(service.url, books)
    before = channels(chain)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: api.open(key="same"), range(8)))
    assert {each.status_code for each in answers} == {201}
    assert len({each.content for each in answers}) == 1
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
    api = Api.of(service.url, books)
    with running_service(books, chain.url) as without:
        answer = Api(without.url, api.key).open(key="again")
    assert code_of(answer) == (503, "unavailable")
    assert "without --broker" in answer.json()["error"]["message"]
    assert api.open(key="again").status_code == 201


def held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Events: the next channel has been asked for, and it may be opened."""
    is_asked, may_go = threading.Event(), threading.Event()
    opening_ = RemoteBroker._opening

    async def slow(self: RemoteBroker, *params: Any) -> Any:
        is_asked.set()
        import trio

        await trio.to_thread.run_sync(may_go.wait)
        return await opening_(self, *params)

    monkeypatch.setattr(RemoteBroker, "_opening", slow)
    return is_asked, may_go


def test_a_repeated_request_waits_for_the_first_one_on_another_process(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_after_the_death_of_a_process_a_request_is_taken_over_or_unknown(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "DEAD_S", 0.5)
    monkeypatch.setattr(opening, "LOOK_S", 0.1)
    api, before = Api.of(service.url, books), channels(chain)
    partner = registry.require(books, api.name)
    for key, is_sent in (("accepted", False), ("sent", True)):
        dead = orders.place(books, partner, key, digest_of(CHANNEL), "d" * 32, 0)
        assert isinstance(dead, orders.Order)
        if is_sent:
            assert orders.start_sending(books, dead) is None
    taken = api.open(key="accepted")
    assert taken.status_code == 201
    unknown = api.open(key="sent")
    assert code_of(unknown) == (502, "outcome_unknown")
    assert [api.open(key=each).content for each in ("accepted", "sent")] == [taken.content, unknown.content]
    assert channels(chain) == before + 1


def digest_of(document: dict[str, Any]) -> str:
    return opening.digest_of(msgspec.convert(document, schema.ChannelRequest))


def test_a_key_that_is_revoked_while_its_request_waits_opens_nothing(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, before = Api.of(service.url, books), channels(chain)
    place = orders.place

    def placed(*given: Any) -> Any:
        found = place(*given)
        registry.revoke(books, api.name)
        return found

    monkeypatch.setattr(orders, "place", placed)
    assert code_of(api.open(key="revoked")) == (401, "unauthorized")
    assert channels(chain) == before
    assert [each for each in rows(books, "partner_requests") if each["partner"] == api.name] == []


def test_the_broker_dies_with_a_request(
    books: Database, chain: Chain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was sent, and no answer comes: the outcome is unknown, and it is not sent again."""
    from cfnode.ledger.errors import NodeError
    from cfnode.swap_service.live.link import NodeLink

    call, sent = NodeLink.call, []

    async def broken(self: NodeLink, method: str, *params: Any, **more: Any) -> Any:
        if method == "broker_request_swap_deposit_address":
            sent.append(params)
            raise NodeError("http://127.0.0.1:9 closed the connection")
        return await call(self, method, *params, **more)

    monkeypatch.setattr(NodeLink, "call", broken)
    with running_service(books, chain.url, chain.url) as service:
        api = Api.of(service.url, books)
        first, second = api.open(key="lost"), api.open(key="lost")
    assert code_of(first) == code_of(second) == (502, "outcome_unknown")
    assert len(sent) == 1
    partner = next(each for each in rows(books, "partner_channels") if each["partner"] == api.name)
    assert partner["state"] == "reserved"


def test_an_expired_key_may_be_used_again(books: Database) -> None:
    name = registry.add(books, partner := Partner("expiring", 0))
    assert name
    first = orders.place(books, partner, "old", "a" * 64, "o" * 32, 0, now=1_000.0)
    assert isinstance(first, orders.Order)
    assert orders.start_sending(books, first) is None
    orders.finish(books, first, "Bitcoin", 2**40, 0, "{}")
    assert orders.look(books, "expiring", "old", "a" * 64) == orders.Opened("{}")
    later = 1_000.0 + orders.KEEP_MS / 1000
    assert orders.place(books, partner, "old", "a" * 64, "o" * 32, 0, now=later) == orders.Opened("{}")
    again = orders.place(books, partner, "old", "b" * 64, "o" * 32, 0, now=later + 1)
    assert isinstance(again, orders.Order)
    orders.give_up(books, again)


def test_no_address_of_the_terms_is_the_partners(books: Database, service: Service) -> None:
    """The refund goes to the source chain, the output to the destination."""
    api = Api.of(service.url, books)
    swapped = CHANNEL | {"dest_address": BTC_ADDRESS}
    assert code_of(api.open(swapped)) == (400, "invalid_request")
    refund = {**CHANNEL["refund_params"], "refund_address": EVM_ADDRESS}
    answer = api.open(CHANNEL | {"refund_params": refund})
    assert code_of(answer) == (422, "swap_refused"), answer.text


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
    assert opened_nothing(CallError("broker_request_swap_deposit_address", code, text)) is nothing


def test_the_document_needs_no_key_and_has_each_operation_and_code(service: Service) -> None:
    answer = service.get("/v1/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    document = answer.json()
    declared = {(each.path, each.method.lower()) for each in OPERATIONS}
    assert declared == {(path, method) for path, each in document["paths"].items() for method in each}
    described = str([each["responses"] for path in document["paths"].values() for each in path.values()])
    used = {name for each in OPERATIONS for name in each.codes}
    assert used | {"method_not_allowed"} == set(CODES)
    assert [name for name in used if f"`{name}`: " not in described] == []
    channel = document["components"]["schemas"]["ChannelRequest"]
    assert set(channel["required"]) == set(CHANNEL)
    (month, form) = document["paths"]["/v1/statement"]["get"]["parameters"]
    assert (month["name"], month["required"], form["required"]) == ("month", True, False)


def test_a_channel_that_is_being_opened_is_answered_before_the_end(
    chain: Chain, books: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
