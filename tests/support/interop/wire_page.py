"""The page that shows what two servers answer to the same messages, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.support.interop.wire import BATCH_LIMIT, LIMITS, Case, Frame

__all__ = ["Compared", "page"]

JSON: Final = " application/json; charset=utf-8"
MAX_SHOWN: Final = 140
"""Characters of a message or an answer."""
HEAD: Final = """# The wire, compared with the official server

What this node and jsonrpsee 0.24.10, on which the official node's JSON-RPC server is built, answer to the
same bytes: {count} messages, of which {equal} have the same answer, byte for byte. Both servers have the
limits {size:,} bytes for a message and for an answer, {batch} calls for a batch and {subscriptions}
subscriptions for a connection. Written by `tests/interop/test_jsonrpsee.py`, which sends the messages to
both.

A cell has what is received: the status of HTTP, the content type unless it is JSON in UTF-8, and the body;
or the messages of a WebSocket, with `close` and `pong` before the payload of such a frame. Ids of
subscriptions are left out.
"""


@dataclass(frozen=True)
class Compared:
    """A case, the answers of both servers, and why they differ."""

    transport: str
    case: Case
    theirs: Sequence[str]
    ours: Sequence[str]
    reason: str | None

    @property
    def is_equal(self) -> bool:
        """Whether both servers answered alike."""
        return self.theirs == self.ours


def page(compared: Sequence[Compared]) -> str:
    """Return the page in Markdown: for each transport first what differs."""
    head = HEAD.format(
        count=len(compared),
        equal=sum(comparison.is_equal for comparison in compared),
        size=LIMITS["max_request_size"],
        batch=BATCH_LIMIT,
        subscriptions=LIMITS["max_subscriptions"],
    )
    parts = [head]
    for transport in dict.fromkeys(comparison.transport for comparison in compared):
        for is_equal, title in ((False, "what differs"), (True, "what is the same")):
            some = [
                comparison
                for comparison in compared
                if (comparison.transport, comparison.is_equal) == (transport, is_equal)
            ]
            parts += [f"## {transport}: {title}\n", *table(some, is_equal=is_equal), ""]
    return "\n".join(parts).rstrip() + "\n"


def table(compared: Iterable[Compared], *, is_equal: bool) -> list[str]:
    titles = ("what is sent", "message", *(("both",) if is_equal else ("jsonrpsee 0.24.10", "cfnode", "why")))
    rows = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for comparison in compared:
        cells = [comparison.case.name, sent(comparison.case), answer(comparison.theirs)]
        cells += [] if is_equal else [answer(comparison.ours), comparison.reason or ""]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def sent(case: Case) -> str:
    if case.request is not None:
        verb, headers, body = case.request
        described = [verb] if verb != "POST" else []
        kind = headers.get("content-type", "no content-type")
        described += [kind] if kind != "application/json" else []
        return code(" ".join([*described, text_of(body)]))
    return ", ".join(frame_of(frame) for frame in case.frames)


def frame_of(frame: Frame) -> str:
    if frame.raw:
        return code(f"bytes {text_of(frame.payload)}")
    kind = {0: "more ", 1: "", 2: "binary ", 3: "opcode 3 ", 8: "close ", 9: "ping ", 10: "pong "}[
        frame.opcode
    ]
    return code(f"{kind}{text_of(frame.payload)}{'' if frame.is_final else ' …'}")


def answer(lines: Sequence[str]) -> str:
    return ", ".join(code(line.replace(JSON, "")) for line in lines) or "nothing"


def text_of(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1").encode("ascii", "backslashreplace").decode()
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def code(text: str) -> str:
    """Return a cell in fixed width; a long text is cut in its middle."""
    text = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    if len(text) > MAX_SHOWN:
        half = MAX_SHOWN // 2
        text = f"{text[:half]} … {text[-half:]}"
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', '¦') or ' '}{fence}"
