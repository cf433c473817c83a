"""The guide's examples run, and a program that uses each call is typed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cfnode.sdk.networks import NETWORKS
from tests.conftest import ROOT, shared
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.sdk.scripted import environment_answer
from tests.sdk.test_deposit_checks import METHOD, OPENED

GUIDE = ROOT / "docs" / "guide" / "sdk.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.fixture
def development_node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """What the examples find on this machine: a node, its broker and its swap service."""
    states = iter(["WAITING", "SWAPPING", "COMPLETED"])
    environment = environment_answer()
    quotes = json.loads(shared("sdk-examples", "quote-v2-response.json").read_text())
    channel = json.loads(shared("sdk-examples", "default-broker-open-channel.json").read_text())

    def backend(path: str) -> bytes | None:
        if path.startswith("/v2/quote"):
            return page(200, json.dumps(quotes["responseBody"]).encode())
        if path.startswith("/v2/swaps/"):
            return page(200, json.dumps({"state": next(states)}).encode())
        if path == "/api/openSwapDepositChannel":
            return page(201, json.dumps(channel["response201"]).encode())
        return None

    def handle(request: Request) -> bytes:
        if found := backend(request.line.split()[1]):
            return found
        answers: dict[str, Any] = {"cf_environment": environment, METHOD: OPENED}
        supported = [{"chain": "Ethereum", "asset": "ETH"}]
        return request.results(answers | {"state_getStorage": None, "cf_supported_assets": supported})

    with serving(handle) as server:
        here = replace(NETWORKS["dev"], rpc_url=server.url, backend_url=server.url)
        monkeypatch.setitem(NETWORKS, "dev", here)
        yield server


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_of_the_guide(
    number: int, development_node: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    source = EXAMPLES[number].replace("http://127.0.0.1:9944", development_node.url)
    exec(compile(source, f"{GUIDE.name}, example {number + 1}", "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    expected = ("satoshi to 0x6284c66e", "15", "VALIDATION Invalid chain: Nowhere", "0")
    assert expected[number] in printed


def test_the_guide_has_its_examples() -> None:
    assert len(EXAMPLES) == 4


def test_a_program_that_uses_each_call_is_typed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "tests/sdk/sample_program.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_names_every_method_of_the_clients() -> None:
    from cfnode.sdk import AsyncSwapSDK, SwapSDK
    from cfnode.sdk.client import _Awaited, _Blocking

    blocking = {name for name, value in vars(SwapSDK).items() if isinstance(value, _Blocking)}
    awaited = {name for name, value in vars(AsyncSwapSDK).items() if isinstance(value, _Awaited)}
    assert blocking == awaited
    program = (ROOT / "tests" / "sdk" / "sample_program.py").read_text()
    assert {name for name in blocking if f"sdk.{name}(" not in program} == set()
