"""The matrix of readers: each client of ours times each hostile answer.

A client says what is wrong, in its own kind of error and on one printable line; within its time limit; with
at most `MAX_MORE` bytes of memory; without following a redirect; and its process goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.ledger import client as ledger_client
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.client import connected
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.updates import Updates
from cfnode.ledger.webhooks.deliverer import Deliverer, Pace
from cfnode.ledger.webhooks.queue import Claim
from cfnode.ledger.webhooks.signing import new_secret
from cfnode.sdk import SdkError, SwapSDK
from cfnode.sdk.calls.infos import GetChannelOpeningFees
from cfnode.sdk.calls.statuses import GetStatusV2
from cfnode.sdk.recovery import FetchFailedCall, FetchReceipt
from cfnode.sdk.subscriptions import subscription
from cfnode.swap_service.live.link import NodeLink
from cfnode.testing import DevChain, dev_calls
from tests.readers.hostile import ANSWERS, answering
from tests.support.loops import Run, under_asyncio, under_trio

pytestmark = pytest.mark.world

MAX_MORE = 100 * 1024 * 1024
LIMIT_S = 2.0
"""The time limit of each client."""
SLACK_S = 20.0
"""How much longer a busy machine may take; a client without a limit never ends."""
FAILURE_CODES = (1, 5)


def _sdk(call: Callable[[], Any]) -> Callable[[str, Path], str]:
    def client(url: str, folder: Path) -> str:
        options = {"network": "dev", "rpcUrl": url, "backendUrl": url, "timeout": LIMIT_S}
        with SwapSDK(options) as sdk, pytest.raises(SdkError) as caught:
            sdk.call(call())
        return str(caught.value)

    return client


def _command(*arguments: str) -> Callable[[str, Path], str]:
    def client(url: str, folder: Path) -> str:
        given = [each.replace("URL", url) for each in arguments]
        done = CliRunner().invoke(cli, given, catch_exceptions=False)
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


def _ledger(url: str, folder: Path) -> str:
    async def ask() -> str:
        with pytest.raises(LedgerError) as caught:
            async with connected(url) as client:
                await ChainReader(client).genesis()
        return str(caught.value)

    return trio.run(ask)


def _service(url: str, folder: Path) -> str:
    """The service asks by a connection that a background task keeps."""

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
        found: list[SdkError] = []

        async def ask() -> None:
            with pytest.raises(SdkError) as caught:
                async with subscription(url, "chain_subscribeNewHeads", seconds=LIMIT_S) as heads:
                    async for _ in heads:
                        pass
            found.append(caught.value)

        loop(ask)
        return str(found[0])

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


@pytest.fixture(autouse=True)
def _short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_client, "ANSWER_TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr(ledger_client, "NODE_CONNECT_TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr("cfnode.swap_service.live.link.WAIT_FOR_CONNECTION_S", LIMIT_S)
    monkeypatch.setattr(dev_calls, "RPC_TIMEOUT_S", LIMIT_S)


def peak() -> int:
    """The most memory that this process has had since the last `reset_peak`, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def reset_peak() -> int:
    """Begin a measurement; the memory now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_stands_each_hostile_answer(client: str, answer: str, tmp_path: Path) -> None:
    ask = CLIENTS[client]
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
    """Its answer's status is all that counts, and its body is not read."""
    from cfnode.clients.http import AsyncHttpClient

    deliverer = Deliverer(Database(sqlite_url(tmp_path / "books.sqlite")), Pace(limit_s=LIMIT_S))
    with answering(answer) as server:
        claim = Claim("wh_1", 1, f"{server.url}/", new_secret(), b"{}", 1, 0)
        before = reset_peak()
        error = await deliverer._send(AsyncHttpClient("cfnode", is_direct=True), claim)
        assert peak() - before < MAX_MORE
        assert set(server.paths) == {"/"}
    assert error is None or (error.isprintable() and len(error) < 300)
    assert (error is None) is (answer not in ("redirect", "silence", "endless head", "another protocol"))


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_provider_of_an_evm_chain_may_answer_anything(answer: str, tmp_path: Path) -> None:
    with answering(answer) as server:
        ask = _sdk(lambda: FetchReceipt("0x12", server.url))
        before = reset_peak()
        text = ask(server.url, tmp_path)
        assert peak() - before < MAX_MORE
    assert text.isprintable()
