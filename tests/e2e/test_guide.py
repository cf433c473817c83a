"""The guide's scenarios, word for word: a newcomer with an empty home pastes each block into a shell.

Only two things are not as in the guide: the node's port, and that its states are kept, for what follows. Then
@polkadot/api reads every block of the played chain and has to see the same events as the node itself.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli import client
from tests.conftest import ROOT
from tests.e2e.ready import ready_command
from tests.interop.polkadot import leaves, script_beside, told
from tests.process import environment

GUIDE = ROOT / "docs" / "guide" / "scenarios.md"
SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
REFUSED = re.compile(r"^(cfnode .*?) +# refused", re.MULTILINE)

OWN = ["--port=0", "--no-prometheus", "--state-pruning=archive", "--blocks-pruning=archive"]

TOLD = {
    # section: what its events name, in this order
    "A regular swap": [
        "DepositFinalised", "SwapExecuted", "SwapEgressScheduled", "BitcoinBroadcaster.BroadcastSuccess",
    ],
    "A boosted Bitcoin swap": ["DepositBoosted", "BitcoinIngressEgress.DepositFinalised", "SwapExecuted"],
    "Fill or kill: a price that is not met": [
        "SwapRescheduled", "SwapRescheduled", "SwapAborted", "RefundEgressScheduled",
    ],
    "In pieces (DCA)": [
        "SwapExecuted", "SwapExecuted", "SwapExecuted", "SwapEgressScheduled",
        "SwapExecuted", "SwapAborted", "RefundEgressScheduled", "SwapEgressScheduled",
    ],
    "A message to a contract (CCM)": ["SwapExecuted", "CcmBroadcastRequested", "BroadcastSuccess"],
    "An affiliate's commission": ["SwapExecuted", "WithdrawalRequested"],
    "A transfer that fails, and its fallback": [
        "EthereumBroadcaster.BroadcastSuccess", "EthereumIngressEgress.TransferFallbackRequested",
        "ArbitrumBroadcaster.BroadcastSuccess", "ArbitrumIngressEgress.TransferFallbackRequested",
        "TronBroadcaster.BroadcastSuccess",
    ],
    "Deposits that a broker refuses": ["DepositFailed"],
}  # fmt: skip


@dataclass
class Played:
    """The chain after the guide has been followed, and what each section printed."""

    url: str
    printed: dict[str, str]

    def call(self, method: str, *params: Any) -> Any:
        return client.call(self.url, method, list(params), timeout=60)


def script(port: int) -> str:
    """The guide as one shell script, with a line before each section that says which."""
    lines = ["set -euo pipefail", "trap 'jobs -p > node.pid' EXIT"]
    parts = SECTION.split(GUIDE.read_text())[1:]
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        lines.append(f"echo {shlex.quote(f'## {title}')}")
        lines += [REFUSED.sub(r"if \1; then exit 9; fi #", block) for block in BLOCK.findall(text)]
    return "\n".join(lines).replace("127.0.0.1:9944", f"127.0.0.1:{port}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    home, port = tmp_path_factory.mktemp("newcomer"), free_port()
    url = f"http://127.0.0.1:{port}"
    (home / "guide.sh").write_text(script(port))
    try:
        with ready_command(home, run=[f"--rpc-port={port}", *OWN], url=["--url", url]):
            printed = followed(home)
        parts = SECTION.split(printed)[1:]
        yield Played(url, dict(zip(parts[::2], parts[1::2], strict=True)))
    finally:
        for pid in (home / "node.pid").read_text().split():
            os.kill(int(pid), signal.SIGINT)


def followed(home: Path) -> str:
    """What somebody sees who pastes the guide into a shell."""
    said = home / "said"
    with said.open("w") as stream:
        done = subprocess.run(
            ["bash", "guide.sh"],
            cwd=home,
            env={**environment(home), "PATH": f"{home}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, said.read_text()[-3000:]
    return said.read_text()


@pytest.mark.parametrize("section", TOLD)
def test_a_section_plays_as_it_says(played: Played, section: str) -> None:
    events = iter(re.findall(r"^\d+ (\w+\.\w+)$", played.printed[section], re.MULTILINE))
    for name in TOLD[section]:
        assert any(event.endswith(name) for event in events), (name, played.printed[section])


def test_the_fallback_is_offered_twice_and_then_gone(played: Played) -> None:
    printed = played.printed["A transfer that fails, and its fallback"]
    offers = re.findall(r'"data": "([0-9a-f]+)"', printed)
    assert len(offers) == 3  # ether in two epochs, the token on Arbitrum
    assert offers[0] != offers[1]
    assert offers[0][-192:] == offers[1][-192:]
    assert re.findall(r"^null$", printed, re.MULTILINE) == ["null"]


def test_a_deposit_after_the_channels_end_is_refused(played: Played) -> None:
    assert "ChannelExpired" in played.printed["A channel's end"]


def test_polkadot_api_reads_every_event_as_the_node_does(
    played: Played, node_modules: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["node", str(script_beside(node_modules, tmp_path)), played.url.replace("http", "ws")],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = [told(line) for line in done.stdout.splitlines()]
    assert len(theirs) == int(played.call("chain_getHeader")["number"], 16)
    for number, events in enumerate(theirs, start=1):
        ours = played.call("dev_events", played.call("chain_getBlockHash", number))
        assert [f"{each['pallet']}.{each['name']}" for each in ours] == [name for name, _ in events]
        for mine, (name, fields) in zip(ours, events, strict=True):
            assert leaves(mine["fields"]) == leaves(fields), name
