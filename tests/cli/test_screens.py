"""The screens of a first swap, a refund, a failed payout and a node's status: the page of them is made here.

And at every width, with colours and without, no command cuts an address.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.cli.client import CallRefused
from cfnode.cli.exits import ExitCode
from cfnode.ledger.database import sqlite_url
from tests.conftest import ROOT
from tests.lengths import only_whole
from tests.process import NodeProcess
from tests.sdk.place import RECEIVER, REFUND, node_with_broker
from tests.support.cli.changed_screens import SCREENS, what_changed
from tests.support.cli.commands import commands
from tests.support.cli.terminals import PLACES, plain, svg

PAGE = ROOT / "docs" / "guide" / "screens.md"
PICTURE = ROOT / "docs" / "guide" / "first-swap.svg"
SVG_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
HEAD = """# Screens

What a terminal of 80 columns prints during a first swap, a refund, a failed payout, and of a node that is
watched. A test makes this page, on a chain that begins on January 1st, 2026. Colours follow the meaning
(green, yellow, red for states, cyan for amounts) unless NO_COLOR is set, and repeat what the text says.
The first swap with its colours is [a picture](first-swap.svg), which the test makes, too.
"""
START = "--dev-start-time=2026-01-01T00:00:00Z"
ACCOUNT = "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"
_CLOCK = re.compile(r"\b\d\d:\d\d:\d\d(?=  |, again)")
_BEHIND = re.compile(r"\d+ d( \d+ h)? behind the clock")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a node with broker, provider and all its states."""
    flags = (START, "--dev-lp=//Bob", "--state-pruning=archive")  # the walks read all blocks
    with node_with_broker(tmp_path_factory.mktemp("screens"), *flags) as running:
        yield running


class Terminal:
    """Commands at a place, and what they print, for the page."""

    def __init__(self, node: NodeProcess, place: str) -> None:
        self.node, self.place = node, place
        self.screen: list[str] = []
        self.walked: list[str] = []
        self.printed: list[str] = []

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Return the output, which is put on the screen below its command."""
        variables = PLACES[self.place] | {"CFNODE_URL": self.node.url, "CFNODE_NETWORK": "dev"}
        if "NO_COLOR" not in variables:
            variables = variables | {"NO_COLOR": ""}
        variables["CFNODE_LP_ACCOUNT"] = "cFM6ZcrDUtrcUDFCDJZQ6bX9iA9z8w1zVd3PhBukicFpnK6FD"
        done = CliRunner().invoke(cli, arguments, env=variables, prog_name="cfnode")
        assert done.exit_code == code, (arguments, done.output)
        self.walked.append(" ".join(arguments))
        lines = plain(done.stdout)
        if code == ExitCode.FAILURE:
            lines.append(done.stderr[done.stderr.index("Error: ") :].rstrip())
        self.screen += [f"$ cfnode {' '.join(arguments)}", *lines, ""]
        self.printed += [f"\x1b[1m$ cfnode {' '.join(arguments)}\x1b[0m", *done.stdout.splitlines(), ""]
        return "\n".join(lines)

    def block(self) -> str:
        """Return the screen as a block of the page, without what differs from one run to the next."""
        text = self._the_same_in_each_run(self.screen)
        self.screen = []
        return f"```text\n{text}\n```\n"

    def picture(self) -> str:
        """Return the screen with its colours, as SVG."""
        return svg(self._the_same_in_each_run(self.printed), columns=90)

    def _the_same_in_each_run(self, lines: list[str]) -> str:
        text = "\n".join(lines).replace(self.node.url, "http://127.0.0.1:9944").rstrip()
        return _BEHIND.sub("… behind the clock", _CLOCK.sub("12:00:00", text))


def channel_in(screen: str) -> str:
    """Return the id of the channel that a screen of `swap request` names."""
    match = re.search(r"^channel +(\S+)$", screen, re.MULTILINE)
    assert match is not None, screen
    return match[1]


def swapped(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, *terms: str, code: int = 0) -> str:
    """Make a swap by the commands that its request prints, with a block before each question of the watch.

    The id of its channel is returned.
    """

    def make_block(seconds: float) -> None:
        terminal.node.call("dev_newBlock")

    to = (f"--to={RECEIVER}", f"--refund={REFUND}")
    opened = terminal("swap", "request", "BTC", "ETH", "0.1", *to, *terms)
    lines = opened.splitlines()
    pay, follow = (lines[lines.index(name) + 1].split()[1:] for name in ("Pay into it:", "Follow it:"))
    terminal(*pay)
    with monkeypatch.context() as patched:
        clock = SimpleNamespace(sleep=make_block, time_ns=time.time_ns, monotonic=time.monotonic)
        patched.setattr("cfnode.sdk.client.time", clock)  # not time.sleep itself: other threads sleep too
        terminal(*follow, code=code)
    return channel_in(opened)


def the_same(file: Path, text: str) -> None:
    """Compare a file of the guide with what was printed, or write it."""
    if os.environ.get("CFNODE_TEST_WRITE"):
        file.write_text(text)
    assert file.read_text() == text, "CFNODE_TEST_WRITE=1 writes the file anew"


def watched(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Watch one refresh of `status --watch`, and press Ctrl-C."""

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cfnode.cli.status.command._pause", interrupt)
    terminal("status", "--watch", code=130)


def test_the_screens_are_those_of_the_page(node: NodeProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Print a swap, a refund, a failed payout and a status as the guide's page and picture have them."""
    terminal = Terminal(node, "80 columns")
    blocks = []
    swapped(terminal, monkeypatch, "--slippage=5")
    the_same(PICTURE, terminal.picture())
    blocks.append(terminal.block())
    swapped(terminal, monkeypatch, "--min-price=1000", "--retry-blocks=5")
    blocks.append(terminal.block())
    terminal("dev", "fail-receiver", RECEIVER, "ETH")
    channel = swapped(terminal, monkeypatch, "--slippage=5", code=1)
    for _ in range(20):
        node.call("dev_newBlock")
    terminal("swap", "status", channel)
    node.call("dev_failReceiver", RECEIVER, {"chain": "Ethereum", "asset": "ETH"}, False)
    blocks.append(terminal.block())
    watched(terminal, monkeypatch)
    blocks.append(terminal.block())
    parts = [f"## {screen.title}\n\n{block}" for screen, block in zip(SCREENS, blocks, strict=True)]
    the_same(PAGE, "\n".join([HEAD, *parts, what_changed(blocks)]))


def test_the_picture_is_read_without_a_request() -> None:
    """No font, sheet or image is loaded, and each word of the screen is text."""
    picture = PICTURE.read_text()
    root = ElementTree.fromstring(picture)
    assert {name.rpartition("}")[2] for name in (element.tag for element in root.iter())} <= {
        "svg", "style", "defs", "clipPath", "rect", "text", "g", "circle"
    }  # fmt: skip
    assert (
        re.findall(
            r"https?://|@import|url\((?!#)|href",
            picture.replace(SVG_NAMESPACE, "").replace("http://127.0.0.1:9944", ""),
        )
        == []
    )
    words = "".join(root.itertext()).replace("\xa0", " ")
    assert "COMPLETED: done" in words and "3.080479171293774591 ETH" in words


@pytest.mark.parametrize("place", PLACES)
def test_no_command_cuts_an_address(place: str, node: NodeProcess, tmp_path: Path) -> None:
    """Print addresses, accounts and channels whole and unbroken at each width."""
    terminal = Terminal(node, place)
    to = (f"--to={RECEIVER}", f"--refund={REFUND}", "--slippage=5", "--no-qr")
    opened = terminal("swap", "request", "BTC", "ETH", "0.1", *to)
    (address,) = set(re.findall(r"^to +(\S+)$", opened, re.MULTILINE))
    channel = channel_in(opened)
    terminal("swap", "status", channel)
    terminal("swap", "quote", "BTC", "ETH", "0.1")
    terminal("dev", "deposit", channel, "BTC", "0.1")
    terminal("swap", "status", channel)
    terminal("status")
    terminal("lp", "refund-address", "Ethereum", RECEIVER)
    terminal("lp", "deposit", "ETH")
    terminal("key", "insert", "--keystore-path", str(tmp_path), "--suri=//Alice", "--key-type=brok")
    terminal("key", "list", "--keystore-path", str(tmp_path))
    terminal("key", "inspect", "//Alice")
    printed = "\n".join(terminal.screen)
    for whole in (RECEIVER, REFUND, address, ACCOUNT, channel):
        assert printed.count(whole) >= 2, whole
        parts = {address.lower() for address in re.findall(rf"{whole[:12]}\w*", printed, re.IGNORECASE)}
        assert parts == {whole.lower()}, (whole, parts)
    assert json.dumps(printed, ensure_ascii=False).count("…") == 0


NOT_WALKED = {
    "completion": "a script",
    "config example": "a file",
    "config show": "values of a file",
    "config check": "a count",
    "export-chain-spec": "a document",
    "export-state": "a document",
    "build-spec": "a document",
    "chain-info": "a document",
    "inspect-runtime": "the runtime's version",
    "purge-chain": "a folder",
    "service run": "a log",
    "ledger run": "a log",
    "dev evm": "tests/e2e/test_guide_recovery.py pastes what it prints",
    "dev rotate": "the line of a block, as `dev seal`",
    "dev upgrade": "the line of a block, as `dev seal`",
    "lp register": "the line of a transaction, as `lp refund-address`",
    "lp replay": "amounts and prices",
}
"""Commands that are not walked, with what they print."""
PRIVATE_CHANNEL = (
    {"chain": "Bitcoin", "asset": "BTC"},
    {"chain": "Ethereum", "asset": "ETH"},
    RECEIVER,
    10,
    {"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10},
)


def walk_a_swap(terminal: Terminal) -> None:
    """Walk through a swap, its watch, and one through the vault."""
    node = terminal.node
    opened = terminal(
        "swap", "request", "BTC", "ETH", "0.1", f"--to={RECEIVER}", f"--refund={REFUND}", "--min-price=1"
    )
    channel = channel_in(opened)
    terminal("swap", "quote", "BTC", "ETH", "0.1")
    terminal("dev", "announce", channel, "BTC", "0.1")
    terminal("dev", "deposit", channel, "BTC", "0.1")
    terminal("dev", "seal", "8")
    terminal("swap", "watch", channel)
    terminal("swap", "status", channel)
    with suppress(CallRefused):  # it is open since an earlier walk
        node.call("broker_open_private_btc_channel")
    encoded = json.dumps(node.call("broker_request_swap_parameter_encoding", *PRIVATE_CHANNEL))
    terminal("dev", "send-to-vault", encoded, "--amount=0.1", f"--sender={REFUND}")


def walk_a_failed_payout(terminal: Terminal) -> None:
    """Walk through a payout that its receiver rejects, up to the recovery call."""
    terminal("dev", "fail-receiver", RECEIVER, "ETH")
    to = (f"--to={RECEIVER}", f"--refund={REFUND}")
    channel = channel_in(terminal("swap", "request", "BTC", "ETH", "0.1", *to, "--min-price=1"))
    terminal("dev", "deposit", channel, "BTC", "0.1")
    terminal("dev", "seal", "16")
    assert "FAILED" in terminal("swap", "status", channel)
    call = terminal("recover", "--for", channel)
    assert f"to     {RECEIVER}" in call
    assert re.search(r"until\s+about 2026-01-\d\d \d\d:\d\d UTC, in .*, chain time", call), call
    terminal("dev", "fail-receiver", RECEIVER, "ETH", "--off")


def walk_a_provider(terminal: Terminal) -> None:
    """Walk through deposit, orders and withdrawal of a provider."""
    terminal("lp", "refund-address", "Ethereum", RECEIVER)
    opened = terminal("lp", "deposit", "ETH")
    (address,) = set(re.findall(r"^to +(\S+)$", opened, re.MULTILINE))
    terminal("dev", "deposit", address, "ETH", "5")
    terminal("lp", "balances")
    terminal("lp", "set-limit", "ETH", "sell", "1", "--price=9000", "--id=1")
    terminal("lp", "set-range", "ETH", "--price", "4000", "5000", "--amounts", "1", "0", "--id", "2")
    for name in ("orders", "fills"):
        terminal("lp", name)
    terminal("lp", "book", "ETH")
    terminal("lp", "cancel", "ETH")
    terminal("lp", "withdraw", "ETH", "1", RECEIVER)


def walk_a_chain(terminal: Terminal) -> None:
    """Walk through the controls of a development chain."""
    terminal("status")
    terminal("wait")
    terminal("rpc", "cf_accounts")
    terminal("dev", "fund", ACCOUNT, "1")
    terminal("dev", "boost", "BTC", "1")
    terminal("dev", "price", "BTC", "60000")
    terminal("dev", "depth", "ETH", "1000000")
    terminal("dev", "oracle", "ETH", "3000")
    terminal("dev", "hold", "Ethereum")
    terminal("lp", "withdraw", "ETH", "1", RECEIVER)
    terminal("dev", "seal", "3")
    terminal("dev", "fail-broadcast", "Ethereum")
    terminal("dev", "hold", "Ethereum", "--off")
    terminal("dev", "hold-signatures", "--off")
    terminal("dev", "abort", "Bitcoin")
    terminal("dev", "jump", "1m")
    terminal("dev", "epoch")
    terminal("dev", "events", "3", "--all")
    terminal("dev", "finalize")


def walk_the_books(terminal: Terminal, folder: Path) -> None:
    """Walk through reports, statements, webhooks and partners of the books."""
    books = f"--database={sqlite_url(folder / 'books.sqlite')}"
    terminal("ledger", "run", "--once", "--first-block=1", books)
    terminal("ledger", "check", books)
    for report in ("channels", "swaps", "fees", "payouts"):
        terminal("ledger", "show", report, books)
    terminal("ledger", "statement", "--month=2026-01", books)
    terminal("ledger", "webhook", "add", "http://127.0.0.1:9/changes", books)
    (webhook,) = json.loads(terminal("ledger", "webhook", "list", books, "--json"))
    terminal("ledger", "webhook", "replay", webhook["id"], books)
    delivery = terminal("ledger", "webhook", "test", webhook["id"], books).strip()
    terminal("ledger", "webhook", "deliveries", webhook["id"], books)
    terminal("ledger", "webhook", "delivery", delivery, books)
    for action in ("rotate", "disable", "enable", "remove"):
        terminal("ledger", "webhook", action, webhook["id"], books)
    terminal("ledger", "find", "1", books)
    terminal("ledger", "partner", "add", "shop", books)
    terminal("ledger", "partner", "list", books)
    terminal("ledger", "partner", "change", "shop", "--rate=5", books)
    for action in ("rotate", "usage", "revoke", "remove"):
        terminal("ledger", "partner", action, "shop", books)


def walk_the_keys(terminal: Terminal, folder: Path) -> None:
    """Walk through the commands about keys."""
    terminal("key", "insert", f"--keystore-path={folder}", "--suri=//Alice", "--key-type=brok")
    terminal("key", "list", f"--keystore-path={folder}")
    terminal("key", "inspect", "//Alice")
    terminal("key", "generate")
    terminal("key", "generate-node-key", f"--file={folder / 'node_key'}")
    terminal("key", "inspect-node-key", f"--file={folder / 'node_key'}")


@pytest.mark.world
@pytest.mark.parametrize(
    "place",
    [
        "60 columns",
        pytest.param("80 columns", marks=only_whole),
        pytest.param("80 columns without colour", marks=only_whole),
        pytest.param("60 columns without colour", marks=only_whole),
    ],
)
def test_each_command_prints_whole_what_is_copied(place: str, node: NodeProcess, tmp_path: Path) -> None:
    """Print addresses whole in every command; each command is walked or excepted with a reason."""
    terminal = Terminal(node, place)
    walk_the_keys(terminal, tmp_path / "keys")
    walk_a_swap(terminal)
    walk_a_failed_payout(terminal)
    walk_a_provider(terminal)
    walk_a_chain(terminal)
    walk_the_books(terminal, tmp_path)
    printed = "\n".join(line for line in terminal.screen if not line.startswith("$ "))
    assert "…" not in printed
    for whole in (RECEIVER, REFUND, ACCOUNT):
        parts = {address.lower() for address in re.findall(rf"{whole[:12]}\w*", printed, re.IGNORECASE)}
        assert parts == {whole.lower()}, (whole, parts)
    names = {path for path, _ in commands()}
    walked = {name for name in names for line in terminal.walked if f"{line} ".startswith(f"{name} ")}
    assert walked | NOT_WALKED.keys() == names
