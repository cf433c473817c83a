"""Swap SDKs that know nothing but the address of `cfnode service run` swap; the status outlives the node."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from cfnode.ledger.database import Database, sqlite_url
from cfnode.sdk import FillOrKillParams, SwapSDK
from cfnode.testing import DevChain, dev_calls, running_node
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.support.interop.chainflip_sdk import BOTH_FORMS, NEWER_FORM, WAYS
from tests.support.interop.programs import report_of, script_of
from tests.support.swap_service.chains import another_chain
from tests.swap_service.live import HTTP

pytestmark = pytest.mark.world

BITCOIN = 10**8
BTC = {"chain": "Bitcoin", "asset": "BTC"}
START_S = 60


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Path]:
    """Yield a command of cfnode until SIGTERM, which it answers with exit code 0; its log."""
    log = folder / f"{arguments[0]}{len(list(folder.iterdir()))}.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CFNODE_TOKEN")}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cfnode", *arguments], stderr=stream, env=environment
        )
        try:
            yield log
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
    assert process.returncode == 0, log.read_text()


def first_match(log: Path, pattern: str) -> str:
    """Wait for a match in the log, and return its group."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if match := re.search(pattern, log.read_text()):
            return match[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def served(log: Path) -> str:
    """Return the address at which the service listens."""
    return first_match(log, r"Swap service: (http://127\.0\.0\.1:\d+)")


def wait_for_books(service: str) -> None:
    """Wait until the books have the final block."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        page = httpx.get(f"{service}/health").json()
        if page["isHealthy"] and page["booksBlock"] >= page["finalizedBlock"]:
            return
        time.sleep(0.05)
    raise AssertionError(page)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, DevChain, str]]:
    """Yield the service's address, the chain, and the URL of the books, which are followed."""
    folder = tmp_path_factory.mktemp("service")
    books = sqlite_url(folder / "books.sqlite")
    with running_node(folder / "node") as node, DevChain(node.url) as chain:
        chain.do(dev_calls.first_block())
        chain.broker.register()
        chain.finalize()
        shared = (f"--node={node.url}", f"--database={books}")
        with running(folder, "ledger", "run", *shared, "--first-block=1") as log:
            first_match(log, "(The books begin)")
            flags = (*shared, f"--broker={node.url}", "--listen=127.0.0.1:0")
            with running(folder, "service", "run", *flags) as log:
                yield served(log), chain, books


@pytest.mark.parametrize("release", [BOTH_FORMS, NEWER_FORM])
def test_chainflips_sdk_swaps_with_the_services_address_alone(
    place: tuple[str, DevChain, str], release: str, node_modules: Path, tmp_path: Path
) -> None:
    """Swap with Chainflip's SDK, which knows the service's address alone."""
    if not (node_modules / release).exists():
        pytest.skip("Chainflip's SDK is not among the Node.js peers: scripts/peers installs it")
    service, chain, _ = place
    script = script_of("chainflip_sdk.mjs", node_modules, tmp_path)
    report = report_of("node", script, service, release, "", chain.url)
    forms = ("V2", "V1") if release == BOTH_FORMS else ("V2",)
    assert set(report["swaps"]) == {
        f"{form} {swap}, service" for form in forms for swap in ("plain", "message")
    }
    for name, swap in report["swaps"].items():
        assert swap["states"] == [way for way in WAYS[name[:2]] if way != "RECEIVING"], name
    assert report["reads"]["getSwapLimits"]["minimumSwapAmounts"]["Bitcoin"]
    assert report["encoded"]["service"]["chain"] == "Ethereum"
    assert report["refused"]


def test_the_sdk_of_the_project_swaps_and_the_status_outlives_the_node(
    place: tuple[str, DevChain, str], tmp_path: Path
) -> None:
    """Swap with this project's SDK, and serve the status from the books without a node, byte for byte."""
    service, chain, books = place
    with SwapSDK(network="dev", rpc_url=service, backend_url=service) as sdk:
        quote = sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", BITCOIN).quotes[0]
        terms = FillOrKillParams(BTC_ADDRESS, retry_duration_blocks=10, slippage_tolerance_percent=10)
        channel = sdk.request_deposit_address_v2(quote, EVM_ADDRESS, fill_or_kill_params=terms)
        chain.deposit(channel.deposit_address, "Btc", BITCOIN)
        chain.new_block(8)
        chain.finalize()
        wait_for_books(service)
        status = sdk.get_status_v2(channel.deposit_channel_id)
    assert status.state == "COMPLETED"
    paths = [f"/v2/swaps/{channel.deposit_channel_id}", *swaps_of(books)]
    before = [HTTP.get(service + path).content for path in paths]
    with another_chain(tmp_path / "node") as other:
        code, text = failed_start(f"--node={other}", f"--database={books}", "--listen=127.0.0.1:0")
        assert (code, "another chain" in text) == (3, True), text
    gone = "http://127.0.0.1:9"
    flags = (f"--node={gone}", f"--database={books}", "--listen=127.0.0.1:0")
    with running(tmp_path, "service", "run", *flags) as log:
        alone = served(log)
        assert [HTTP.get(alone + path).content for path in paths] == before
        assert httpx.get(f"{alone}/health").status_code == 503
        pair = {"srcChain": "Bitcoin", "srcAsset": "BTC", "destChain": "Ethereum", "destAsset": "ETH"}
        answer = httpx.get(f"{alone}/v2/quote", params=pair | {"amount": BITCOIN}, timeout=30)
        assert (answer.status_code, "no connection to" in answer.json()["message"]) == (503, True)


def swaps_of(books: str) -> list[str]:
    """Return the paths of all users' swaps in the books, those of Chainflip's SDK too."""
    requests = [row["request"] for row in rows(Database(books), "requests") if row["kind"] == "Regular"]
    assert requests
    return [f"{form}/{number}" for number in requests for form in ("/v2/swaps", "/swaps")]


def failed_start(*flags: str) -> tuple[int, str]:
    """Return exit code and last words of a service that does not start."""
    command = [sys.executable, "-P", "-m", "cfnode", "service", "run", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_S, check=False)
    return done.returncode, done.stderr
