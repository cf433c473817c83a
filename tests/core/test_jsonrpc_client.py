"""The client's side of JSON-RPC without I/O: which message answers which calls."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.foreign import ForeignError
from cfnode.core.jsonrpc import RpcError
from cfnode.core.jsonrpc_client import Answered, Conversation, Notified, RequestRefused, read_outcomes


def result(identity: Any, value: Any) -> dict[str, Any]:
    """Return an answer with a result."""
    return {"jsonrpc": "2.0", "id": identity, "result": value}


def answered(conversation: Conversation, message: Any) -> Answered:
    """Receive a message that must answer calls."""
    answer = conversation.receive(message)
    assert isinstance(answer, Answered)
    return answer


def test_answers_go_to_their_calls_in_any_order() -> None:
    """Match answers to their calls by id, in any order, and ignore a second answer."""
    conversation = Conversation()
    first, second = conversation.ask([("a", [1]), ("b", {"x": 2})]), conversation.ask([("c", ())])
    assert first.requests == [
        {"jsonrpc": "2.0", "id": 1, "method": "a", "params": [1]},
        {"jsonrpc": "2.0", "id": 2, "method": "b", "params": {"x": 2}},
    ]
    later = answered(conversation, result(3, "c"))
    assert (later.identities, later.outcomes()) == (second.identities, ["c"])
    earlier = answered(conversation, [result(2, "b"), result(1, "a")])
    assert (earlier.identities, earlier.outcomes()) == (first.identities, ["a", "b"])
    assert conversation.receive([result(1, "again"), result(2, "again")]) is None


def test_an_error_without_an_id_answers_the_oldest_calls() -> None:
    """Give an error without an id to the oldest open calls, and to none when these were given up."""
    conversation = Conversation()
    first, second = conversation.ask([("a", ())]), conversation.ask([("b", ())])
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}
    answer = answered(conversation, refusal)
    assert answer.identities == first.identities
    with pytest.raises(RequestRefused, match="no"):
        answer.outcomes()
    conversation.forget(second)
    assert conversation.receive(refusal) is None
    assert conversation.receive(result(2, "late")) is None


def test_a_message_of_a_subscription_answers_no_call() -> None:
    """Deliver a subscription's message as such: it answers no call."""
    conversation = Conversation()
    asked = conversation.ask([("chain_subscribeNewHeads", ())])
    message = {"jsonrpc": "2.0", "method": "m", "params": {"subscription": "s", "result": 7}}
    assert conversation.receive(message) == Notified("s", 7)
    assert answered(conversation, result(1, "s")).identities == asked.identities


@pytest.mark.parametrize("message", [7, "text", None, True, 1.5])
def test_a_message_that_is_neither_object_nor_list_is_refused(message: Any) -> None:
    """Refuse a message that is neither object nor list."""
    with pytest.raises(ForeignError, match="is not JSON-RPC"):
        Conversation().receive(message)


@pytest.mark.parametrize("body", [b"[]", b"{}", b'[{"id":1}]', b'{"id":2,"result":1}', b'{"id":1,"error":7}'])
def test_a_body_without_the_answer_is_refused(body: bytes) -> None:
    """Refuse a body that lacks the answer to a call that was asked."""
    with pytest.raises(ForeignError):
        read_outcomes(body, [1])


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "params", "result", "error"]), inner)
    ),
    max_leaves=8,
)


@given(st.lists(ANY, max_size=5))
def test_any_messages_answer_or_are_an_error(messages: list[Any]) -> None:
    """Answer any messages with whole outcomes or an error of their own kind."""
    conversation = Conversation()
    for _ in range(3):
        conversation.ask([("a", ()), ("b", ())])
    for message in messages:
        with suppress(ForeignError, RpcError):
            if isinstance(answer := conversation.receive(message), Answered):
                assert len(answer.outcomes()) == 2
