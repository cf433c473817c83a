"""The matrix of readers: each client of ours times each hostile answer.

A client says what is wrong, in its own kind of error and on one printable line; within its time limit; with
at most `MAX_MORE` bytes of memory; without following a redirect; and its process goes on. `--all` plays each
command times each answer; without it each command meets some of the answers, and each answer some commands.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.cli import client as cli_client
from cfnode.cli.exits import ExitCode
from cfnode.core import ss58
from cfnode.dashboard.node import NodeWatch
from cfnode.ledger import client as ledger_client
from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.client import connected
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.follower import Follower, Source
from cfnode.ledger.updates import Updates
from cfnode.ledger.webhooks.deliverer import Deliverer, Pace
from cfnode.ledger.webhooks.queue import Claim
from cfnode.ledger.webhooks.signing import new_secret
from cfnode.sdk import AsyncSwapSDK, SdkError, SwapSDK
from cfnode.sdk.calls.infos import GetChannelOpeningFees
from cfnode.sdk.calls.statuses import GetStatusV2
from cfnode.sdk.lp import LiquidityProvider
from cfnode.sdk.recovery import FetchFailedCall, FetchReceipt
from cfnode.sdk.subscriptions import subscription
from cfnode.swap_service.live_network.link import NodeLink
from cfnode.testing import AsyncDevChain, DevChain, dev_calls
from tests.lengths import repeats
from tests.readers.hostile import ANSWERS, BODIES, answering
from tests.support.loops import Run, under_asyncio, under_trio
from tests.support.memory import MAX_MORE, peak, reset_peak

pytestmark = pytest.mark.world

LIMIT_S = 2.0
"""The time limit of each client."""
SLACK_S = 20.0
"""How much longer a busy machine may take; a client without a limit never ends."""
FAILURE_CODES = (ExitCode.FAILURE, ExitCode.NETWORK)
PART = 3
"""Answers that each command meets without `--all`."""
ACCOUNT = ss58.encode(b"\xa5" * 32)
ETHEREUM = "0x" + "a5" * 20
BITCOIN = "bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqdku202"


def _sdk(call: Callable[[], Any]) -> Callable[[str, Path], str]:
    def client(url: str, folder: Path) -> str:
        options = {"network": "dev", "rpcUrl": url, "backendUrl": url, "timeout": LIMIT_S}
        with SwapSDK(options) as sdk, pytest.raises(SdkError) as caught:
            sdk.call(call())
        return str(caught.value)

    return client


def _command(*arguments: str) -> Callable[[str, Path], str]:
    def client(url: str, folder: Path) -> str:
        command_line = [argument.replace("URL", url).replace("FOLDER", str(folder)) for argument in arguments]
        done = CliRunner().invoke(cli, command_line, catch_exceptions=False)
        assert done.exit_code in FAILURE_CODES, done.output
        assert done.stdout == ""
        line, end, rest = done.stderr.rpartition("\n")
        assert (line[:7], end, rest) == ("Error: ", "\n", "")
        return line

    return client


def _testing(url: str, folder: Path) -> str:
    with DevChain(url) as chain, pytest.raises(SdkError) as caught:
        chain.rpc("chain_getBlockHash")
    return str(caught.value)


async def _error_of(ask: Callable[[], Awaitable[Any]], errors: list[SdkError]) -> None:
    with pytest.raises(SdkError) as caught:
        await ask()
    errors.append(caught.value)


def _awaited(loop: Run) -> Callable[[str, Path], str]:
    """Return the SDK's client for coroutines."""

    def client(url: str, folder: Path) -> str:
        errors: list[SdkError] = []
        options = {"network": "dev", "rpcUrl": url, "backendUrl": url, "timeout": LIMIT_S}

        async def ask() -> None:
            async with AsyncSwapSDK(options) as sdk:
                await _error_of(partial(sdk.call, GetChannelOpeningFees()), errors)

        loop(ask)
        return str(errors[0])

    return client


def _awaited_testing(url: str, folder: Path) -> str:
    errors: list[SdkError] = []

    async def ask() -> None:
        async with AsyncDevChain(url) as chain:
            await _error_of(partial(chain.rpc, "chain_getBlockHash"), errors)

    trio.run(ask)
    return str(errors[0])


def _provider(url: str, folder: Path) -> str:
    with LiquidityProvider(url, timeout=LIMIT_S) as provider, pytest.raises(SdkError) as caught:
        provider.get_book("Btc")
    return str(caught.value)


def _follower(url: str, folder: Path) -> str:
    """Return what `cfnode ledger run` says; it goes on."""
    lines: list[str] = []
    log, handler = logging.getLogger("cfnode.ledger"), logging.Handler()

    async def follow() -> None:
        said = trio.Event()

        def note(record: logging.LogRecord) -> None:
            lines.append(record.getMessage())
            said.set()

        handler.emit = note  # type: ignore[method-assign]
        follower = Follower(Source(url), Books(Database(sqlite_url(folder / "followed.sqlite"))))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follower.run)
            with trio.fail_after(LIMIT_S + SLACK_S):
                await said.wait()
            assert len(nursery.child_tasks) == 1, "the task goes on"
            assert not follower.restarts.counts, "an error of the node is no bug"
            nursery.cancel_scope.cancel()

    log.addHandler(handler)
    try:
        trio.run(follow)
    finally:
        log.removeHandler(handler)
    return lines[0]


def _check(url: str, folder: Path) -> str:
    """Return what `cfnode ledger check` says, which compares books, empty here, with the chain."""
    books = sqlite_url(folder / "books.sqlite")
    database = Database(books)
    database.migrate()
    database.close()
    return _command("ledger", "check", "--node", "URL", "--database", books)(url, folder)


def _page(url: str, folder: Path) -> str:
    """Return what the page shows, which asks by the service's connection."""

    async def ask() -> str:
        async def any_chain(reader: ChainReader) -> None:
            return

        link = NodeLink(url, None, any_chain)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.run, Updates())
            watch = NodeWatch(link)
            await watch.ask()
            nursery.cancel_scope.cancel()
        assert watch.state.best is None
        return str(watch.state.fault)

    return trio.run(ask)


def _ledger(url: str, folder: Path) -> str:
    async def ask() -> str:
        with pytest.raises(LedgerError) as caught:
            async with connected(url) as client:
                await ChainReader(client).genesis()
        return str(caught.value)

    return trio.run(ask)


def _service(url: str, folder: Path) -> str:
    """Return what the service answers, which asks by a connection that a background task keeps."""

    async def ask() -> str:
        async def chain(reader: ChainReader) -> None:
            await reader.genesis()

        link = NodeLink(url, None, chain)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.run, Updates())
            with pytest.raises(LedgerError) as caught:
                await link.call("system_health")
            await trio.testing.wait_all_tasks_blocked()
            assert len(nursery.child_tasks) == 1, "the task goes on"
            assert link.fault
            nursery.cancel_scope.cancel()
        return str(caught.value)

    return trio.run(ask)


def _subscription(loop: Run) -> Callable[[str, Path], str]:
    def client(url: str, folder: Path) -> str:
        errors: list[SdkError] = []

        async def ask() -> None:
            with pytest.raises(SdkError) as caught:
                async with subscription(url, "chain_subscribeNewHeads", seconds=LIMIT_S) as heads:
                    async for _ in heads:
                        pass
            errors.append(caught.value)

        loop(ask)
        return str(errors[0])

    return client


CLIENTS: dict[str, Callable[[str, Path], str]] = {
    "cfnode rpc": _command("rpc", "system_health", "--node", "URL", "--timeout", f"{LIMIT_S}"),
    "cfnode status": _command("status", "--node", "URL", "--timeout", f"{LIMIT_S}"),
    "cfnode wait": _command("wait", "--block", "1", "--node", "URL", "--timeout", "0.1"),
    "cfnode dev": _command("dev", "seal", "--node", "URL", "--timeout", f"{LIMIT_S}"),
    "SDK, node": _sdk(GetChannelOpeningFees),
    "SDK, swap service": _sdk(lambda: GetStatusV2("7")),
    "recovery, node": _sdk(lambda: FetchFailedCall("ethereum", 7)),
    "cfnode.testing": _testing,
    "ledger": _ledger,
    "swap service": _service,
    "SDK, subscription": _subscription(under_trio),
    "SDK, subscription under asyncio": _subscription(under_asyncio),
}
"""Each client asks once at a URL, fails, and gives the text of its error."""

_SERVICES = ("--network", "dev", "--node", "URL", "--backend", "URL")
_PROVIDER = ("--lp-account", ACCOUNT, "--node", "URL")
COMMANDS: dict[str, Callable[[str, Path], str]] = {
    "inspect-runtime": _command("inspect-runtime", "--node", "URL"),
    "export-state": _command("export-state", "--dev", "--node", "URL"),
    "dev events": _command("dev", "events", "--node", "URL", "--timeout", f"{LIMIT_S}"),
    "dev evm": _command(
        "dev", "evm", "--node", "URL", "--timeout", f"{LIMIT_S}", "--key", "FOLDER/payer.key"
    ),
    "swap quote": _command("swap", "quote", "btc", "eth", "1", *_SERVICES),
    "swap status": _command("swap", "status", "5-Bitcoin-1", *_SERVICES),
    "swap request": _command(
        "swap",
        "request",
        "btc",
        "eth",
        "1",
        "--to",
        ETHEREUM,
        "--refund",
        BITCOIN,
        "--slippage",
        "1",
        *_SERVICES,
    ),
    "swap watch": _command("swap", "watch", "5-Bitcoin-1", *_SERVICES),
    "lp deposit": _command("lp", "deposit", "eth", "--node", "URL", "--timeout", f"{LIMIT_S}"),
    "lp orders": _command("lp", "orders", *_PROVIDER),
    "lp fills": _command("lp", "fills", *_PROVIDER),
    "lp set-limit": _command(
        "lp", "set-limit", "btc", "sell", "0.1", "--price", "60000", "--id", "1", *_PROVIDER
    ),
    "lp cancel": _command("lp", "cancel", "btc", *_PROVIDER),
    "lp balances": _command("lp", "balances", *_PROVIDER),
    "lp book": _command("lp", "book", "btc", "--node", "URL"),
    "recover": _command("recover", "ethereum", "7", *_SERVICES),
    "recover --for": _command("recover", "--for", ETHEREUM, *_SERVICES),
    "ledger check": _check,
    "ledger run": _follower,
    "page": _page,
    "SDK, liquidity provider": _provider,
    "SDK, awaited under trio": _awaited(under_trio),
    "SDK, awaited under asyncio": _awaited(under_asyncio),
    "cfnode.testing, awaited": _awaited_testing,
}
"""Further programs, which ask by the same clients; each reads the answer by itself."""


def cells() -> list[tuple[str, str]]:
    """Return clients and answers: all of them, or the answers in turn for the commands."""
    whole = CLIENTS | (COMMANDS if repeats(1, 0) else {})
    some = {} if repeats(1, 0) else COMMANDS
    return [(client, answer) for client in whole for answer in ANSWERS] + [
        (client, ANSWERS[(PART * place + step) % len(ANSWERS)])
        for place, client in enumerate(some)
        for step in range(PART)
    ]


@pytest.fixture(autouse=True)
def _short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_client, "ANSWER_TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr(ledger_client, "NODE_CONNECT_TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr("cfnode.swap_service.live_network.link.WAIT_FOR_CONNECTION_S", LIMIT_S)
    monkeypatch.setattr(dev_calls, "RPC_TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr(cli_client.call, "__kwdefaults__", {"timeout": LIMIT_S})
    monkeypatch.setattr("cfnode.sdk.SwapSDK", partial(SwapSDK, timeout=LIMIT_S))
    monkeypatch.setattr("cfnode.sdk.lp.LiquidityProvider", partial(LiquidityProvider, timeout=LIMIT_S))


@pytest.mark.parametrize(("client", "answer"), cells())
def test_each_client_stands_each_hostile_answer(client: str, answer: str, tmp_path: Path) -> None:
    """Fail at each hostile answer in one printable line, in bounded time and memory, without a redirect."""
    ask = (CLIENTS | COMMANDS)[client]
    with suppress(Exception):
        ask("http://127.0.0.1:1", tmp_path)  # imports what the client needs, before the measurement
    with answering(answer) as server:
        before, began = reset_peak(), time.monotonic()
        text = ask(server.url, tmp_path)
        more, took = peak() - before, time.monotonic() - began
        paths = set(server.paths)
    assert text.isprintable(), text
    assert len(text) < 1_000
    assert text.strip(": ") == text.strip(), "the reason is not empty"
    assert more < MAX_MORE, f"{more / 2**20:.0f} MiB more"
    assert took < LIMIT_S + SLACK_S
    assert "/elsewhere" not in paths


@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_delivery_of_a_webhook_stands_each_hostile_answer(answer: str, tmp_path: Path) -> None:
    """Its answer's status is all that counts, and of its body at most a kilobyte is read."""
    from cfnode.clients.http import AsyncHttpClient

    deliverer = Deliverer(Database(sqlite_url(tmp_path / "books.sqlite")), Pace(limit_s=LIMIT_S))
    with answering(answer) as server:
        claim = Claim("wh_1", 1, f"{server.url}/", (new_secret(),), b"{}", 1, 0)
        before = reset_peak()
        attempt = await deliverer._send(AsyncHttpClient("cfnode", is_direct=True), claim)
        error = attempt.error
        assert peak() - before < MAX_MORE
        assert set(server.paths) == {"/"}
    assert error is None or (error.isprintable() and len(error) < 300)
    assert attempt.answer.isprintable() and len(attempt.answer) <= 1_024
    assert (error is None) is (answer not in ("redirect", "silence", "endless head", "another protocol"))


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_provider_of_an_evm_chain_may_answer_anything(answer: str, tmp_path: Path) -> None:
    """Answer whatever a provider of an EVM chain sends with a printable error, within bounds of memory."""
    with answering(answer) as server:
        ask = _sdk(lambda: FetchReceipt("0x12", server.url))
        before = reset_peak()
        text = ask(server.url, tmp_path)
        assert peak() - before < MAX_MORE
    assert text.isprintable()


@pytest.mark.parametrize("answer", [*BODIES, "early end", "silence"])
@pytest.mark.parametrize("command", ["inspect-runtime", "export-state"])
def test_a_chain_specification_may_hold_anything(command: str, answer: str, tmp_path: Path) -> None:
    """Silence is a file that never ends: a device of zeros."""
    path = tmp_path / "odd.json"
    pieces = BODIES.get(answer, BODIES["escapes"])({"id": 1})
    path.write_bytes(b"".join(islice(pieces, 64))[: 300 if answer == "early end" else None])
    chain_path = Path("/dev/zero") if answer == "silence" else path
    before = reset_peak()
    done = CliRunner().invoke(cli, [command, "--chain", str(chain_path)], catch_exceptions=False)
    assert peak() - before < MAX_MORE + path.stat().st_size
    assert done.exit_code in (*FAILURE_CODES, ExitCode.CONFIGURATION), done.output
    line = done.stderr.removesuffix("\n")
    assert line.startswith("Error: ")
    assert line.isprintable()
    assert len(line) < 1_000
