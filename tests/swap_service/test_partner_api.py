"""The partners' API: their terms, what they may read, and errors of one shape."""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import msgspec
import pytest

from cfnode.ledger.database import Database
from cfnode.ledger.errors import DatabaseError
from cfnode.ledger.partners import access, idempotency, registry
from cfnode.ledger.partners.usage import usage_of
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement, Line
from cfnode.swap_service.live_network.partner_api import schema
from cfnode.swap_service.live_network.partner_api.operations import OPERATIONS
from cfnode.swap_service.live_network.partner_api.problems import CODES
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.support.waiting import wait_until
from tests.swap_service.live import HTTP, Service
from tests.swap_service.partners import (
    BITCOIN,
    BTC,
    CHANNEL,
    ETH,
    Api,
    Chain,
    channels,
    code_of,
    followed,
)

MONTH = "2026-11"


def test_a_partner_goes_from_the_quote_to_the_statement(
    chain: Chain, books: Database, service: Service
) -> None:
    """Lead a partner from quote to statement; the amounts fit, and another partner finds none of it."""
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
    status_answer = api.get(f"/v1/swaps/{channel.id}")
    swap = msgspec.json.decode(status_answer.content, type=schema.Swap)
    assert swap.state == "COMPLETED", status_answer.text
    assert swap.swap_egress is not None
    assert int(swap.swap_egress.amount) > int(quote.egress_amount) * 99 // 100
    assert [broker.commission_bps for broker in swap.brokers] == [15, 7]
    assert {fee.type for fee in swap.fees} == {"INGRESS", "NETWORK", "BROKER", "EGRESS"}
    for reference in (swap.swap_id, swap.deposit and swap.deposit.tx_ref):
        assert api.get(f"/v1/swaps/{reference}").content == status_answer.content
        assert code_of(other.get(f"/v1/swaps/{reference}")) == (404, "not_found")
    statement_equals_the_books(api, books)
    empty = msgspec.json.decode(other.get("/v1/statement", month=MONTH).content, type=schema.Statement)
    assert (empty.partner, empty.lines, empty.totals) == (other.name, [], [])


def statement_equals_the_books(api: Api, books: Database) -> None:
    """Assert that the newest month's statement, in three formats, has the ledger's lines and sums."""
    newest = max(row["time"] for row in rows(books, "blocks"))
    month = datetime.fromtimestamp(newest / 1000, UTC).strftime("%Y-%m")
    own = LedgerStatement(books, CalendarPeriod.parse(month), partner=api.name)
    lines = list(own.lines())
    answer = api.get("/v1/statement", month=month)
    assert answer.headers["content-type"] == "application/json"
    decoded = msgspec.json.decode(answer.content, type=schema.Statement)
    assert len(decoded.lines) == len(lines) > 5
    assert {line.line for line in decoded.lines} == {"swap", "fee", "payout", "commission"}
    assert [msgspec.to_builtins(total) for total in decoded.totals] == [
        total.document() for total in own.totals
    ]
    text = api.get("/v1/statement", month=month, format="csv")
    assert text.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(list(csv.DictReader(io.StringIO(text.text)))) == len(lines)
    text = api.get("/v1/statement", month=month, format="csv-totals")
    assert text.headers["content-type"] == "text/csv; charset=utf-8"
    table = list(csv.DictReader(io.StringIO(text.text)))
    assert [row["amount"] for row in table] == [str(total.amount) for total in own.totals]


def test_each_refusal_has_its_status_and_its_code(chain: Chain, books: Database, service: Service) -> None:
    """Give each refusal its HTTP status and code, and open no channel by any of the refused requests."""
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
    assert 1 <= int(answer.headers["retry-after"]) <= 60
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
    for month in ("", "2026-13", "2026-1", "x", "2998-01"):
        assert code_of(api.get("/v1/statement", month=month)) == (400, "invalid_request")
    assert code_of(api.get("/v1/statement", month=MONTH, format="xml")) == (400, "invalid_request")
    assert code_of(api.get("/v1/statement", month=MONTH, more="1")) == (400, "invalid_request")
    assert channels(chain) == before + 1


MEMBERS = dict.fromkeys(Line.__dataclass_fields__)
LINE = Line(**MEMBERS | {"line": "fee", "kind": "network", "asset": "Usdc", "currency": "USD", "time": 0,
                         "destination": "x" * 100})  # fmt: skip


def test_requests_are_counted_by_the_code_of_their_answer(books: Database, service: Service) -> None:
    """Within seconds, also those that the rate refuses; requests without a partner's key count for none."""
    slow, other = Api.of(service.url, books, rate=2), Api.of(service.url, books)
    for _ in range(3):
        slow.get("/v1/statement", month=MONTH)
    assert code_of(other.get("/v1/swaps/1-Ethereum-999")) == (404, "not_found")
    HTTP.get(service.url + "/v1/statement", headers={"authorization": "Bearer x"})

    def used(api: Api) -> list[tuple[int, dict[str, int]]]:
        with books.reading() as connection:
            uses = usage_of(connection, api.name, 2, int(time.time()) // 86_400)
        return [(use.requests, use.errors) for use in uses]

    wait_until(lambda: used(slow) == [(3, {"rate_limited": 1})])
    wait_until(lambda: used(other) == [(1, {"not_found": 1})])


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_statement_comes_while_it_is_read_and_is_broken_off_if_the_books_fail(
    books: Database, service: Service, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Send the first piece while later lines are still read; cut the response where the database fails."""
    api, is_read = Api.of(service.url, books), threading.Event()

    def lines(statement: LedgerStatement) -> Iterator[Line]:
        yield from [LINE] * 2_000
        assert is_read.wait(30), "nothing came while the statement was read"
        raise DatabaseError("the books are away")

    monkeypatch.setattr(LedgerStatement, "lines", lines)
    address, query = service.url + "/v1/statement", {"month": MONTH, "format": form}
    headers = {"authorization": f"Bearer {api.key}"}
    with HTTP.stream("GET", address, params=query, headers=headers) as answer:
        assert answer.status_code == 200
        pieces = answer.iter_raw()
        assert next(pieces)
        is_read.set()
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            list(pieces)


def test_a_statement_that_fails_before_its_first_piece_is_a_problem(
    books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer 503 in JSON where the database fails before the first piece: a 200 would hide the fault."""

    def lines(statement: LedgerStatement) -> Iterator[Line]:
        yield LINE
        raise DatabaseError("the books are away")

    monkeypatch.setattr(LedgerStatement, "lines", lines)
    for form in ("csv", "csv-totals", "json"):
        answer = Api.of(service.url, books).get("/v1/statement", month=MONTH, format=form)
        assert code_of(answer) == (503, "unavailable")
        assert answer.headers["content-type"] == "application/json"


def test_a_malformed_member_is_named_as_the_partner_sent_it(books: Database, service: Service) -> None:
    """Name a malformed member by the partner's own path to it; list the assets for a wrong asset."""
    api, most = Api.of(service.url, books), str(10**39 - 1)
    refund = CHANNEL["refund_params"]
    message = {"message": "0xzz", "gas_budget": "1"}
    refused = {
        "src_asset": {"src_asset": {"chain": "Bitcoin", "asset": "ETH"}},
        "dest_asset": {"dest_asset": {"chain": "bitcoin", "asset": "BTC"}},
        "amount": {"amount": "0"},
        "refund_params.min_price_x128": {"refund_params": refund | {"min_price_x128": "9" * 78}},
        "ccm_params.message": {"ccm_params": message},
        "ccm_params.gas_budget": {"ccm_params": message | {"message": "0x00", "gas_budget": most}},
        "ccm_params.additional_data": {"ccm_params": message | {"message": "0x", "additional_data": "0x1"}},
    }
    for name, change in refused.items():
        answer = api.open(CHANNEL | change)
        text = answer.json()["error"]["message"]
        assert (code_of(answer), text.split(" ")[2].rstrip(":")) == ((400, "invalid_request"), name)
        assert ("choose chain and asset from Ethereum/ETH, " in text) == name.endswith("asset"), text


def test_a_budget_ends(
    chain: Chain, books: Database, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse a channel whose deposit would exceed the partner's budget, with 402, and open none."""
    api = Api.of(service.url, books, budget=10)
    partner = registry.require(books, api.name)
    assert isinstance(access.reserve(books, partner, 10), access.Reservation)
    place = idempotency.place
    monkeypatch.setattr(idempotency, "place", lambda *arguments: place(*arguments[:-2], 1, arguments[-1]))
    before = channels(chain)
    answer = api.open()
    assert code_of(answer) == (402, "budget_used_up")
    assert channels(chain) == before


def test_bad_bodies_are_refused_and_open_nothing(chain: Chain, books: Database, service: Service) -> None:
    """Refuse malformed bodies, terms and keys, each with the member's name; store none, open none."""
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
        ({"src_asset": {"chain": "Bitcoin", "asset": "DOGE"}}, 400, "src_asset"),
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
    assert "bad" not in [row["key"] for row in rows(books, "partner_requests")]


def test_web_pages_are_answered_as_on_the_rest_of_the_port(books: Database, service: Service) -> None:
    """Refuse pages of other hosts before the key is read; a page of this machine can read the 401 as well."""
    api = Api.of(service.url, books)
    page = {"origin": "https://evil.example"}
    assert HTTP.post(service.url + "/v1/quotes", json={}, headers=api.headers | page).status_code == 403
    local = HTTP.options(service.url + "/v1/channels", headers={"origin": "http://localhost:3000"})
    assert "authorization, idempotency-key" in local.headers["access-control-allow-headers"]
    refused = HTTP.post(service.url + "/v1/quotes", json={}, headers={"origin": "http://localhost:3000"})
    assert refused.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert code_of(refused) == (401, "unauthorized")


def test_no_address_of_the_terms_is_the_partners(books: Database, service: Service) -> None:
    """The refund goes to the source chain, the output to the destination."""
    api = Api.of(service.url, books)
    swapped = CHANNEL | {"dest_address": BTC_ADDRESS}
    assert code_of(api.open(swapped)) == (400, "invalid_request")
    refund = {**CHANNEL["refund_params"], "refund_address": EVM_ADDRESS}
    answer = api.open(CHANNEL | {"refund_params": refund})
    assert code_of(answer) == (422, "swap_refused"), answer.text


def test_the_document_needs_no_key_and_has_each_operation_and_code(service: Service) -> None:
    """Serve the OpenAPI document without a key, with each operation, error code and required member."""
    answer = service.get("/v1/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    document = answer.json()
    declared = {(operation.path, operation.method.lower()) for operation in OPERATIONS}
    assert declared == {
        (path, method) for path, operations in document["paths"].items() for method in operations
    }
    described = str(
        [operation["responses"] for path in document["paths"].values() for operation in path.values()]
    )
    used = {name for operation in OPERATIONS for name in operation.codes}
    assert used | {"method_not_allowed"} == set(CODES)
    assert [name for name in used if f"`{name}`: " not in described] == []
    channel = document["components"]["schemas"]["ChannelRequest"]
    assert set(channel["required"]) == set(CHANNEL)
    (month, form) = document["paths"]["/v1/statement"]["get"]["parameters"]
    assert (month["name"], month["required"], form["required"]) == ("month", True, False)
