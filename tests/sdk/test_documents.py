"""The guide's examples run, their types are checked, and editors see arguments and results."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from cfnode.sdk import DepositAddress, Options, Quote
from cfnode.sdk.methods import AwaitedMethods, BlockingMethods
from cfnode.sdk.networks import NETWORKS
from tests.conftest import ROOT, shared
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.sdk.scripted import environment_answer
from tests.support.sdk.deposits import METHOD, OPENED
from tests.support.sdk.documents import EXAMPLES


@pytest.fixture
def development_node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Yield the services of the examples on this machine: a node, its broker and its swap service."""
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
        if answer := backend(request.line.split()[1]):
            return answer
        answers: dict[str, Any] = {"cf_environment": environment, METHOD: OPENED, "dev_deposit": "0x12"}
        supported = [{"chain": "Ethereum", "asset": "ETH"}]
        return request.results(answers | {"state_getStorage": None, "cf_supported_assets": supported})

    with serving(handle) as server:
        here = replace(NETWORKS["dev"], rpc_url=server.url, backend_url=server.url)
        monkeypatch.setitem(NETWORKS, "dev", here)
        yield server


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_of_the_guide(
    number: int, development_node: Loopback, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Run an example against local services; it sends the token exactly where it names one."""
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("a-token-0123456789\n")
    source = EXAMPLES[number].replace("http://127.0.0.1:9944", development_node.url)
    source = source.replace("/etc/shop/token", str(token))
    exec(compile(source, f"sdk.md, example {number + 1}", "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    expected = (
        "satoshi to 0x6284c66e",
        "15",
        "0",
        "VALIDATION id: unknown chain 'Nowhere'; choose",
        "0",
    )
    assert expected[number] in printed
    has_token = any(b"Bearer a-token-0123456789" in request.head for request in development_node.requests)
    assert has_token is ("token_file" in EXAMPLES[number])


def test_the_guide_has_its_examples() -> None:
    """Count five examples in the guide."""
    assert len(EXAMPLES) == 5


@pytest.fixture
def programs(tmp_path: Path) -> list[Path]:
    """Return a program that uses each call of both clients, and those of the guide."""
    paths = [tmp_path / f"example_{number}.py" for number in range(len(EXAMPLES))]
    for path, source in zip(paths, EXAMPLES, strict=True):
        path.write_text(source)
    return [ROOT / "tests" / "sdk" / "sample_program.py", *paths]


def check_types(*command: str | Path) -> None:
    """Run a type checker, which must find no fault."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.world
def test_the_programs_are_typed_for_mypy(programs: list[Path]) -> None:
    """Have mypy accept the programs in strict mode."""
    check_types(sys.executable, "-m", "mypy", "--strict", *programs)


def test_the_programs_are_typed_for_pyright(programs: list[Path], pyright: Path) -> None:
    """Have pyright accept the programs."""
    check_types("node", pyright, "--pythonpath", sys.executable, *programs)


def test_the_program_names_every_method_of_the_clients() -> None:
    """Call each method of both clients in the program that type checkers read."""
    blocking, awaited = (
        {name for name in vars(methods) if not name.startswith("_")}
        for methods in (BlockingMethods, AwaitedMethods)
    )
    assert blocking == awaited
    program = (ROOT / "tests" / "sdk" / "sample_program.py").read_text()
    assert {name for name in blocking if f"sdk.{name}(" not in program} == set()


@pytest.mark.world
def test_an_editor_knows_arguments_and_results() -> None:
    """Have an editor list the parameters of calls and the members of their results."""
    from jedi import Project, Script
    from jedi.api.environment import InterpreterEnvironment

    environment, project = InterpreterEnvironment(), Project(ROOT)

    def editor(text: str) -> Script:
        source = f"from cfnode.sdk import AsyncSwapSDK, SwapSDK\n{text}"
        return Script(source, environment=environment, project=project)

    for client in ("SwapSDK", "AsyncSwapSDK"):
        (asked,) = editor(f"{client}.request_deposit_address_v2(").get_signatures()
        assert [param.to_string() for param in asked.params] == [
            "self",
            "quote: Quote",
            "dest_address: str",
            "fill_or_kill_params: FillOrKillParams | None=None",
            "src_address: str | None=None",
            "broker_commission_bps: int | None=None",
            "affiliate_brokers: Sequence[AffiliateBroker]=()",
            "ccm_params: CcmParams | None=None",
        ]
        (created,) = editor(f"{client}(").get_signatures()
        assert {item.name for item in fields(Options)} < {param.name for param in created.params}
    for text, members in {
        "SwapSDK().request_deposit_address_v2(": {field.name for field in fields(DepositAddress)},
        "SwapSDK().get_quote_v2(": {"regular", "dca", "quotes"},
        "SwapSDK().get_quote_v2().regular": {field.name for field in fields(Quote)},
        "SwapSDK().get_status_v2(": {"is_final", "failed_payout", "swap_egress"},
        "SwapSDK().get_assets()[0]": {"minimum_swap_amount", "decimals"},
    }.items():
        completed = editor(text + (")." if text.endswith("(") else ".")).complete()
        assert members <= {completion.name for completion in completed}, text
