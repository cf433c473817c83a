"""Single faults of readers: numbers of 5,000 digits, passwords in URLs, escapes on a terminal."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cfnode.cli import cli, logs
from cfnode.cli.exits import CommandFailure
from cfnode.cli.output import console, print_json
from cfnode.cli.settings import secrets
from cfnode.dashboard.explorer import Explorer
from cfnode.dashboard.node import NodeWatch
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import NodeError
from cfnode.swap_service.live_network.source import LiveSource
from tests.readers.hostile import ESCAPES, answering

HUGE = {"number": "0x" + "7" * 5_000, "parentHash": "0x00"}


class Node:
    """A node that answers what it is made with."""

    origin = "http://node.example"
    fault = None

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    async def call(self, method: str, *params: Any) -> Any:
        """Return the answer for a method, whatever its parameters."""
        return self._answers.get(method)


async def test_a_block_number_of_5_000_digits_is_a_fault_of_the_node_on_the_page() -> None:
    """Display a block number of 5,000 digits as a malformed answer, on the page and in the explorer."""
    node = Node(system_health={}, state_getRuntimeVersion={"specVersion": 1}, chain_getHeader=HUGE)
    watch = NodeWatch(node)
    await watch.ask()
    assert "malformed answer" in str(watch.state.fault)
    assert watch.state.best is None
    explorer = Explorer(node)
    odd = Explorer(Node(chain_getBlock={"block": 7}))
    for ask in (lambda: explorer.lines(None), lambda: odd.page("0x1")):
        with pytest.raises(NodeError, match="malformed block"):
            await ask()
    assert await explorer.page("9" * 5_000) is None


async def test_a_block_number_of_5_000_digits_is_a_fault_in_the_health(tmp_path: Path) -> None:
    """Report one fault for a block number of 5,000 digits, and no finalized block."""
    source = LiveSource(Database(sqlite_url(tmp_path / "books.sqlite")), ("http://127.0.0.1:1", None))
    source.link = Node(chain_getHeader=HUGE)  # type: ignore[assignment]
    page, faults = {"booksBlock": 7}, list[str]()
    await source._compare_heads(page, faults)
    assert (len(faults), "finalizedBlock" in page) == (1, False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("rpc", "system_health"),
        ("inspect-runtime",),
        ("status",),
        ("wait", "--timeout", "0"),
        ("dev", "seal"),
        ("export-state", "--dev"),
    ],
)
@pytest.mark.parametrize("where", ["http://user:geheim@HOST", "http://HOST/geheim?token=geheim#geheim"])
def test_a_password_in_the_nodes_url_is_in_no_message(arguments: tuple[str, ...], where: str) -> None:
    """Keep a password in the node's URL out of every message, whether the URL works or not."""
    for host in ("127.0.0.1:1", "127.0.0.1:99999", "["):
        done = CliRunner().invoke(cli, [*arguments, "--node", where.replace("HOST", host)])
        assert done.exit_code in (2, 5), done.output
        assert "geheim" not in done.output + done.stderr
    with answering("wrong types") as server:
        url = where.replace("HOST", server.url.removeprefix("http://"))
        done = CliRunner().invoke(cli, [*arguments, "--node", url])
    assert done.exit_code in (1, 5), done.output
    assert "geheim" not in done.output + done.stderr


@pytest.mark.parametrize(
    ("text", "is_secret"),
    [
        ("https://user:geheim@node.example", True),
        ("https://node.example?api-key=geheim", True),
        ("https://node.example?token=geheim", True),
        ("postgresql://host/books?password=geheim", True),
        ("https://node.example", False),
        ("sqlite:///books.sqlite?mode=ro", False),
        ("https://[?token=geheim", True),
    ],
)
def test_a_password_in_a_url_is_a_secret_wherever_it_stands(text: str, is_secret: bool) -> None:
    """Recognize a password in a URL's user part or query as a secret."""
    assert secrets._has_password(text) is is_secret


def test_what_is_printed_has_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    """Print no escape sequences: a node could forge what the terminal displays."""
    CommandFailure(f"a: {ESCAPES}").show()
    console().print(ESCAPES.replace("\n", ""), "[/no markup]")
    print_json({"text": ESCAPES})
    printed = capsys.readouterr()
    assert json.loads(printed.out[printed.out.index("{") :]) == {"text": ESCAPES}
    for text in printed:
        assert all(letter.isprintable() or letter == "\n" for letter in text), text
    assert "[/no markup]" in printed.out


def test_a_line_of_the_log_has_no_escapes() -> None:
    """Write no escape sequences into a line of the log."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.PlainFormatter(colour=False))
    handler.handle(logging.LogRecord("cfnode.x", logging.ERROR, "", 0, "%s", (ESCAPES,), None))
    assert all(letter.isprintable() or letter == "\n" for letter in stream.getvalue())


def test_the_errors_of_ledger_and_sdk_are_one_line() -> None:
    """Keep errors of ledger and SDK to one printable line, whatever text they quote."""
    from cfnode.sdk.errors import SdkError

    for error in (NodeError(f"a: {ESCAPES}"), SdkError(f"a: {ESCAPES}")):
        assert str(error).isprintable()
        assert str(error).startswith("a: ")
