"""Blocks of the pages for integrators that start chains or talk to one, word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation import block
from tests.e2e.shell import Shell, started_by
from tests.lengths import only_whole
from tests.process import NodeProcess, running_node
from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

CHAINS = "docs/guide/development-chain.md"
REAL = "docs/guide/real-runtime.md"


def start_of(commands: str) -> tuple[str, str]:
    """Return the commands before the last one, and that one, which starts a node."""
    before, run = re.split(r"^(?=cfnode run)", commands, maxsplit=1, flags=re.MULTILINE)
    return before, run


def final(node: NodeProcess) -> int:
    """Return the number of the final block."""
    return int(node.call("chain_getHeader", node.call("chain_getFinalizedHead"))["number"], 16)


def test_a_copy_of_the_official_chain(berghain_spec: Path, tmp_path: Path) -> None:
    """Inspect and run a copy of the official chain by the page's block."""
    (tmp_path / "berghain.chainspec.raw.json").symlink_to(berghain_spec)
    before, run = start_of(block(CHAINS, "cfnode inspect-runtime"))
    printed = Shell(tmp_path).run(before)
    assert "chainflip-node" in printed
    with started_by(tmp_path, run) as node:
        assert node.call("state_getRuntimeVersion")["specVersion"] == 100
        wait_until(lambda: final(node) > 0, "the copy finalizes a block")


def test_a_swap_in_the_real_runtime(berghain_spec: Path, tmp_path: Path) -> None:
    """Swap in the real runtime by the page's blocks, and find the swap in the books."""
    (tmp_path / "berghain.chainspec.raw.json").symlink_to(berghain_spec)
    Shell(tmp_path).run(block(REAL, "cfnode build-spec"))
    with started_by(tmp_path, block(REAL, "cfnode run --chain")) as node:
        shell = Shell(tmp_path, node.url)
        shell.run(block(REAL, "cfnode wait"))
        channel = json.loads(shell.run(block(REAL, "cfnode rpc")))
        shell.run(block(REAL, "cfnode dev deposit").replace("0x…", channel["address"]))
        wait_until(lambda: "has arrived on Bitcoin" in node.log, "the payout arrives")
        books = block(REAL, "cfnode ledger run")
        assert "books and chain agree" in shell.run(books)
        wait_until(lambda: " paid " in shell.run(books), "the payout is in the books")


@only_whole
def test_a_copy_of_a_running_chains_state(tmp_path: Path) -> None:
    """Run a copy of a running chain's state by the page's block."""
    shell = Shell(tmp_path)
    shell.run("cfnode export-chain-spec --dev --dev-authorities 2 -o original.json")
    base, spec = f"--base-path={tmp_path}/.local/share/cfnode", f"--chain={tmp_path}/original.json"
    with running_node(tmp_path, spec, base, "--dev", "--dev-seal=instant") as node:
        node.call("dev_newBlock", {"finalize": True})
        assert node.stop() == 0
    commands = block(CHAINS, "cfnode export-state").replace("--chain berghain ", "--chain original.json ")
    with started_by(tmp_path, commands) as node:
        assert re.search(r"^block #[1-9]\d* \(", node.log, re.MULTILINE)
        wait_until(lambda: final(node) > 0, "the copy finalizes a block")


@only_whole
def test_authorities_in_two_processes(tmp_path: Path) -> None:
    """Finalize by two authorities in two processes, started by the page's block."""
    commands = block(CHAINS, "cfnode export-chain-spec")
    export, alice, bob = re.split(r"^(?=cfnode run)", commands, flags=re.MULTILINE)
    Shell(tmp_path).run(export)
    ports = {port: str(free_port()) for port in ("30333", "30334", "9945")}
    for documented_port, free in ports.items():
        alice, bob = alice.replace(documented_port, free), bob.replace(documented_port, free)
    second = tmp_path / "second"
    second.mkdir()
    (second / "two.json").symlink_to(tmp_path / "two.json")
    with started_by(tmp_path, alice) as first:
        identity = first.call("system_localPeerId")
        with started_by(second, bob.replace("12D3KooW…", identity)) as other:
            assert other.url.endswith(ports["9945"])
            wait_until(
                lambda: final(first) > 2 and final(other) > 2, "blocks become final, which needs both votes"
            )
            votes = first.call("grandpa_roundState")["best"]
            assert votes["totalWeight"] == 2


def test_a_node_for_the_program_in_javascript(tmp_path: Path) -> None:
    """Start the node of the JavaScript page with a registered broker."""
    with started_by(tmp_path, block("docs/guide/javascript.md", "cfnode run --dev")) as node:
        Shell(tmp_path, node.url).run("cfnode wait --synced --block 1 --timeout 60")
        assert "broker" in Shell(tmp_path, node.url).run("cfnode status")
        assert node.call("broker_get_open_deposit_channels", "Mine") == {"chain_accounts": []}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a node with a broker."""
    flags = ["--dev", "--dev-broker=//Alice", "--dev-block-time=200"]
    with running_node(tmp_path_factory.mktemp("node"), *flags) as process:
        yield process


def test_swaps_on_the_command_line(node: NodeProcess, tmp_path: Path) -> None:
    """Swap on the command line by the SDK page's block, to COMPLETED."""
    shell = Shell(tmp_path, node.url, CFNODE_NETWORK="dev")
    quote, request, watch = block("docs/guide/sdk.md", "cfnode swap quote").splitlines()
    shell.run("cfnode wait --synced --block 1 --timeout 60")
    assert "ETH" in shell.run(quote)
    opened = shell.run(
        request.replace("0x…", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266").replace(
            "bc1…", "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
        )
    )
    deposit, follow = re.findall(r"^(?:Pay into it|Follow it):\n(cfnode .*)$", opened, re.MULTILINE)
    shell.run(deposit)
    (channel,) = re.findall(r"\d+-Bitcoin-\d+", follow)
    watched = shell.run(watch.replace("6739624-Bitcoin-34009", channel))
    assert "COMPLETED" in watched
