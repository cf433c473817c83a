"""Whatever a node sends, the ledger says what is wrong with it: no traceback, no memory without bounds."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio_websocket import ConnectionClosed, WebSocketRequest, serve_websocket

from cfnode.core.addresses import NETWORKS
from cfnode.core.jsonrpc_client import Answered
from cfnode.core.scale.metadata import Metadata
from cfnode.ledger import client as client_module
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.client import NodeClient, connected
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent, decoded, fields_text
from cfnode.ledger.errors import CallError, LedgerError, NodeError, TooLarge
from cfnode.ledger.prices import prices_of
from cfnode.ledger.rows import Known, rows_of
from tests.lengths import examples

Answer = Callable[[list[dict[str, Any]]], str | bytes]
MEMBERS = ("jsonrpc", "id", "result", "error", "code", "message", "number", "parentHash", "specVersion")
EVENTS = (
    ("Swapping", "SwapRequested"),
    ("AssetBalances", "AccountCredited"),
    ("BitcoinIngressEgress", "DepositFinalised"),
    ("TronBroadcaster", "BroadcastSuccess"),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.text(max_size=8)
    | st.just("0x" + "ab" * 32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=12,
)


@asynccontextmanager
async def strange_node(answer: Answer) -> AsyncIterator[str]:
    """Yield a server that answers each message with whatever `answer` makes of it."""

    async def serve(request: WebSocketRequest) -> None:
        connection = await request.accept()
        with trio.CancelScope(), _quiet():
            while True:
                await connection.send_message(answer(json.loads(await connection.get_message())))

    async with trio.open_nursery() as nursery:
        server = await nursery.start(serve_websocket, serve, "127.0.0.1", 0, None)
        yield f"http://127.0.0.1:{server.port}"
        nursery.cancel_scope.cancel()


class _quiet:  # noqa: N801
    """The end of a connection is no error of the server's."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, *_: object) -> bool:
        return kind is not None and issubclass(kind, ConnectionClosed)


def results(*values: Any) -> Answer:
    """Return one result for each call, the last one again and again."""
    left = list(values)

    def answer(calls: list[dict[str, Any]]) -> str:
        answers = [
            {"jsonrpc": "2.0", "id": call["id"], "result": left.pop(0) if len(left) > 1 else left[0]}
            for call in calls
        ]
        return json.dumps(answers)

    return answer


async def error_of(answer: Answer, step: Callable[[ChainReader], Any]) -> str:
    """Return the text of the error to which a step comes."""
    async with strange_node(answer) as url:
        with pytest.raises(NodeError) as caught:
            async with connected(url) as client:
                await step(ChainReader(client))
    return str(caught.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: "not JSON", "that is not JSON"),
        (lambda _: b"\xff\xfe", "that is not JSON"),
        (lambda _: "[" * 10_000, "that is not JSON"),
        (lambda _: "[7]", "not JSON-RPC"),
        (lambda _: "[]", "0 answers to 1 calls"),
        (lambda calls: json.dumps([{"id": calls[0]["id"], "error": "no"}]), "not JSON-RPC"),
        (
            lambda calls: json.dumps([{"id": calls[0]["id"], "error": {"code": 1, "message": "x" * 9_000}}]),
            "xxx",
        ),
        (
            lambda _: json.dumps({"error": {"code": -32600, "message": "batches are off"}}),
            "batches are off",
        ),
        (results(7), "expected a hash"),
        (results("0xzz"), "expected a hash"),
    ],
)
async def test_what_a_node_sends_instead_of_an_answer(answer: Answer, words: str) -> None:
    """Quote what a node sent instead of JSON-RPC in less than 600 characters."""
    import re

    text = await error_of(answer, lambda reader: reader.genesis())
    assert re.search(words, text), text
    assert len(text) < 600


@pytest.mark.parametrize(
    "value", [7, None, [], {}, "0x", "0xzz", {"number": "0x1"}, {"number": 3, "parentHash": 1}]
)
async def test_what_a_node_sends_instead_of_a_block(value: Any) -> None:
    """Refuse what is no header, member by member."""
    text = await error_of(results("0x" + "ab" * 32, value), lambda reader: reader.finalized())
    assert "expected a header" in text


async def test_a_message_has_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a message above the limit."""
    monkeypatch.setattr("cfnode.clients.websocket.MAX_MESSAGE_BYTES", 10_000)
    text = await error_of(results("x" * 20_000), lambda reader: reader.genesis())
    assert "more than 10000 bytes" in text


async def test_an_answer_that_never_comes_has_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on an answer to another question, which leaves its own without any."""
    monkeypatch.setattr(client_module, "ANSWER_TIMEOUT_S", 0.05)
    text = await error_of(lambda _: json.dumps({"id": 7, "result": 1}), lambda reader: reader.genesis())
    assert "no answer from" in text


async def test_too_large_an_answer_is_told_apart() -> None:
    """Raise the error after which fewer blocks are asked for, where an answer is too big."""

    def answer(calls: list[dict[str, Any]]) -> str:
        error = {"code": -32008, "message": "Response is too big"}
        return json.dumps([{"jsonrpc": "2.0", "id": call["id"], "error": error} for call in calls])

    async with strange_node(answer) as url:
        with pytest.raises(TooLarge, match="too big"):
            async with connected(url) as client:
                await ChainReader(client).genesis()


async def test_keys_have_a_maximum_and_an_order() -> None:
    """Refuse keys that repeat, go back, have another prefix or exceed the number allowed."""
    page = [f"0xaa{number:08x}" for number in range(500)]
    for answers, words in (((page, page), "expected keys"), (([*page, "0xaa"],), "expected keys"),
                           ((["0xbb"],), "expected keys")):  # fmt: skip
        text = await error_of(results(*answers), lambda reader: reader.keys(1, "0x", b"\xaa", 10_000))
        assert words in text
    text = await error_of(results(page), lambda reader: reader.keys(1, "0x", b"\xaa", 400))
    assert "more than 400 entries" in text


@pytest.mark.world
@settings(max_examples=examples(150))
@given(answers=st.lists(JSON, min_size=1, max_size=4))
def test_no_answer_raises_anything_but_an_error_of_the_ledger(answers: list[Any]) -> None:
    """Raise the ledger's own error, or none, for any JSON at each step."""

    class Scripted(NodeClient):
        """A client whose answers have been decided."""

        def __init__(self) -> None:
            self.origin = "http://127.0.0.1"
            self._left = [*answers]

        async def batch(self, calls: Any) -> list[Any]:
            made = [self._left.pop(0) if len(self._left) > 1 else self._left[0] for _ in calls]
            slot = [{"id": place, "result": item} if not isinstance(item, dict) else {**item, "id": place}
                    for place, item in enumerate(made)]  # fmt: skip
            return client_module._results(Answered(range(len(calls)), slot), calls, self.origin)

    async def ask() -> None:
        reader = ChainReader(Scripted())
        for step in (
            reader.finalized,
            lambda: reader.blocks(1, 3),
            lambda: reader.keys(1, "0x", b"", 50),
            lambda: reader.metadata_at(1, "0x"),
            lambda: reader.storage(1, "0x", [b"", b"a"]),
        ):
            try:
                await step()
            except LedgerError:
                continue
        block = DecodedBlock(
            1, "0x", "0x", 0, 0, (DecodedEvent(0, "Swapping", "SwapExecuted", {"input_asset": "Eth"}),)
        )
        with suppress(NodeError):
            prices_by_block = await prices_of(reader.client, [block])
            assert all(value.isdigit() for prices in prices_by_block.values() for _, _, value in prices)

    trio.run(ask)


@settings(max_examples=examples(200))
@given(data=st.binary(max_size=60))
def test_no_events_raise_anything_but_a_node_error(metadata: Metadata, data: bytes) -> None:
    """Decode any bytes as events or name the block that cannot be decoded."""
    try:
        events = decoded(metadata, data, 7)
    except NodeError as error:
        assert "the events of block 7 cannot be decoded" in str(error)
        return
    rows_of(DecodedBlock(7, "0x", "0x", 0, 0, events, metadata), Known(NETWORKS["Mainnet"], None))


@pytest.mark.parametrize("fields", [{}, [], None, {"swap_request_id": "x"}, {"account_id": b"1", "asset": 7}])
def test_an_event_of_another_shape_is_kept_as_it_is(fields: Any) -> None:
    """Keep an event without the expected fields as unread, with its fields and the reason."""
    for pallet, name in EVENTS:
        block = DecodedBlock(9, "0x", "0x", 0, 0, (DecodedEvent(3, pallet, name, fields),))
        rows = {
            table: table_rows
            for table, table_rows in rows_of(block, Known(NETWORKS["Mainnet"], None)).items()
            if table_rows
        }
        ((row,),) = rows.values()
        assert (set(rows), row["block"], row["event"], row["pallet"], row["name"]) == (
            {"unread"},
            9,
            3,
            pallet,
            name,
        )
        assert row["fields"] == fields_text(fields)
        assert row["reason"]


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        ("amount_credited", {"value": 7}, "amount of movements cannot be dict"),
        ("new_balance", 2**128, "balance of movements cannot be int"),
        ("asset", "AnAssetWithAVeryLongName", "asset of movements cannot be str 'AnAsset"),
        ("account_id", b"short", "5 bytes are not an account"),
    ],
)
def test_a_value_that_no_table_takes_is_an_unknown_shape(member: str, value: Any, words: str) -> None:
    """Keep an event as unread whose value fits no column, and write those around it."""
    fields = {"account_id": bytes(32), "asset": "Eth", "amount_credited": 1, "new_balance": 1}
    events = [DecodedEvent(index, "AssetBalances", "AccountCredited", dict(fields)) for index in range(3)]
    events[1].fields[member] = value
    rows = rows_of(DecodedBlock(9, "0x", "0x", 0, 0, tuple(events)), Known(NETWORKS["Mainnet"], None))
    assert [row["event"] for row in rows["movements"]] == [row["event"] for row in rows["events"]] == [0, 2]
    (row,) = rows["unread"]
    assert row["event"] == 1
    assert words in row["reason"]


def test_an_event_that_fails_half_way_leaves_nothing_to_later_ones() -> None:
    """Undo what a half-read event had taught, so that later ones do not see it."""
    known = Known(NETWORKS["Mainnet"], frozenset([bytes(32)]))
    fields = {"broker_id": bytes(32), "channel_id": 7, "affiliate_id": b"\1" * 32, "short_id": "seven",
              "withdrawal_address": bytes(20)}  # fmt: skip
    events = (DecodedEvent(0, "Swapping", "PrivateBrokerChannelOpened", fields),
              DecodedEvent(1, "Swapping", "AffiliateRegistration", fields))  # fmt: skip
    rows = rows_of(DecodedBlock(9, "0x", "0x", 0, 0, events), known)
    assert [row["event"] for row in rows["unread"]] == [1]
    assert known.accounts == frozenset([bytes(32)])
    assert known.channel("Bitcoin", 7) is not None
    known.undo()
    fields = {**fields, "channel_id": 2**70}
    rows = rows_of(
        DecodedBlock(
            10, "0x", "0x", 0, 0, (DecodedEvent(0, "Swapping", "PrivateBrokerChannelOpened", fields),)
        ),
        known,
    )
    assert len(rows["unread"]) == 1
    assert known.channel("Bitcoin", 2**70) is None


def test_a_refused_call_is_an_error_of_that_call_alone() -> None:
    """Return the error of one call of a batch next to the result of the other."""
    answers = [{"id": 5, "result": 1}, {"id": 6, "error": {"code": 1, "message": "no", "data": "why"}}]
    one, other = client_module._results(Answered(range(5, 7), answers), [("a", []), ("b", [])], "http://x")
    assert one == 1
    assert isinstance(other, CallError)
    assert str(other) == "b: no (why) [code 1]"
