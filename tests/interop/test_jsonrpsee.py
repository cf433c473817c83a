"""The JSON-RPC server compared with jsonrpsee 0.24.10, on which the official one is built.

docs/reference/wire.md has what both answer; `CFNODE_TEST_WRITE=1` writes the page anew. What differs is in
`DIFFERENT`, with its reason.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from cfnode.rpc.table.rows import Method, Subscription
from tests.conftest import PEERS, ROOT
from tests.rpc.clients import StandIn, served
from tests.support.interop.wire import (
    CASES,
    LIMITS,
    METHODS,
    SUBSCRIBE,
    SUBSCRIPTION,
    TOO_LONG,
    Case,
    answers_of,
    program_arguments,
)
from tests.support.interop.wire_page import Compared, page

pytestmark = pytest.mark.world

PAGE: Final = ROOT / "docs" / "reference" / "wire.md"
MANY: Final = 100
"""Calls of a batch that stand for any number: this server always has a bound."""

WRONG_ID: Final = "a client that waits for an answer gets the reason; there, such a call is a notification"
CODE: Final = (
    "RFC 6455, 7.4.1, has the codes 1002 for a malformed frame and 1007 for a text that is not UTF-8"
)
DIFFERENT: Final[dict[str, dict[str, str]]] = {
    "HTTP": {
        "no content type": "a second line says what to do",
        "the content type text/plain": "a second line says what to do",
        "the content type with another charset": "JSON is UTF-8 whatever the header says",
        "a body in chunks beyond the largest size": "the reason, as for a body of known length",
    },
    "WebSocket": {
        "a subscription in a batch": "one answer for one call; there, the subscription is answered twice",
        "a message beyond the largest size in three frames": "the rest of the message is skipped and the "
        "connection goes on, as after one frame",
        "a close frame with a code and a reason": "the reason is sent back with the code",
        "a text that is not UTF-8": "RFC 6455, 8.1, has the connection fail",
        "a frame without a mask": "RFC 6455, 5.1, has the connection fail",
        **dict.fromkeys(
            ("a close frame of one byte", "a close frame with the code 1005", "an unknown opcode",
             "a ping of 126 bytes", "a ping in two frames", "a frame that continues nothing",
             "a message within another one", "a frame with a reserved bit"),
            CODE,
        ),
    },
    "both": {
        "128 blanks before it": "blanks before a message mean nothing; there, only the first 127 are skipped",
        "the id with escapes": "ids are sent back byte for byte; both are the same text of JSON",
        "the id twice": "the last of two equal members counts; there, such a call is a notification",
        "bytes that are not UTF-8 in a parameter": "over HTTP a parameter that no method reads is not "
        "looked at; on a WebSocket RFC 6455, 8.1, has the connection fail",
        **dict.fromkeys(
            ("the id 2^64", "the id -1", "the id 1.5", "the id 1.0", "the id true", "the id an object",
             "the id an array"),
            WRONG_ID,
        ),
    },
}  # fmt: skip
"""Why the answer to a case differs."""


def reason_for(transport: str, case: Case) -> str | None:
    """Return why the answer to a case differs, if it may."""
    return DIFFERENT[transport].get(case.name) or DIFFERENT["both"].get(case.name)


@pytest.fixture(scope="module")
def program() -> Path:
    """Return the jsonrpsee peer's program."""
    path = PEERS / "jsonrpsee" / "release" / "jsonrpsee-peer"
    if not path.exists():
        pytest.skip("the jsonrpsee peer is not here: scripts/peers builds it (needs cargo)")
    return path


@contextmanager
def running(program: Path, batch: int | None) -> Iterator[int]:
    """Yield the program with this limit of batches and its port."""
    command = [str(program), program_arguments(batch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def result_of(value: Any, node: StandIn) -> Any:
    """Return the value."""
    return value


async def news(node: StandIn) -> AsyncGenerator[Any, None]:
    """Return a stream of one message that does not end."""

    async def messages() -> AsyncGenerator[Any, None]:
        yield SUBSCRIPTION["message"]
        await trio.sleep_forever()

    return messages()


def rows() -> list[Method | Subscription]:
    """Return the program's methods, as rows of a table."""
    methods = METHODS | {TOO_LONG: "x" * 2_000}
    stream = Subscription(
        SUBSCRIBE, news, notification=SUBSCRIPTION["notification"], unsubscribe=SUBSCRIPTION["unsubscribe"]
    )
    return [*(Method(name, partial(result_of, value)) for name, value in methods.items()), stream]


@asynccontextmanager
async def pairs(program: Path) -> AsyncIterator[dict[int | None, tuple[int, int]]]:
    """Yield both servers for each limit of batches: the ports of the program and of ours."""
    async with AsyncExitStack() as stack:
        by_batch: dict[int | None, tuple[int, int]] = {}
        for batch in dict.fromkeys(case.batch for cases in CASES.values() for case in cases):
            own = served(rows(), max_batch=MANY if batch is None else batch, **LIMITS)
            theirs = stack.enter_context(running(program, batch))
            by_batch[batch] = theirs, await stack.enter_async_context(own)
        yield by_batch


async def test_each_message_is_answered_as_by_the_official_server_but_for_those_with_a_reason(
    program: Path,
) -> None:
    """Answer each message as jsonrpsee does, except where a reason is written, and print both in the page."""
    compared: list[Compared] = []
    async with pairs(program) as ports:
        for transport, cases in CASES.items():
            for case in cases:
                theirs, ours = [await answers_of(port, case) for port in ports[case.batch]]
                compared.append(Compared(transport, case, theirs, ours, reason_for(transport, case)))
    assert [
        comparison for comparison in compared if not comparison.is_equal and comparison.reason is None
    ] == []
    assert [
        comparison for comparison in compared if comparison.is_equal and comparison.reason is not None
    ] == []
    text = page(compared)
    if os.environ.get("CFNODE_TEST_WRITE"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "CFNODE_TEST_WRITE=1 writes the page anew"
    assert len(compared) > 150
    assert sum(comparison.is_equal for comparison in compared) > 125
