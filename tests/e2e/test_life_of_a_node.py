"""Start, stop and start again; windows of states; forks; a stall of finality: seen from outside."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from cfnode.cli.client import CallRefused
from tests.e2e.conftest import Cfnode
from tests.lengths import only_whole
from tests.process import NodeProcess, running_node
from tests.support.processes import has_ended
from tests.support.waiting import LIMIT_S, wait_until

NUMBER = "0x26aa394eea5630e07c48ae0c9558cef702a5c1b19ab7a04f536c519aca4983ac"  # System.Number
BLOCKS = 5_000
ANONYMOUS_MIB = 20


def blocks(node: NodeProcess, count: int, *, finalize: bool = False) -> list[str]:
    """Make blocks, a hundred a request; their hashes."""
    hashes: list[str] = []
    for done in range(0, count, 100):
        batch = [
            {"jsonrpc": "2.0", "id": index, "method": "dev_newBlock", "params": {"finalize": finalize}}
            for index in range(min(100, count - done))
        ]
        headers = {"content-type": "application/json"}
        answer = httpx.post(node.url, content=msgspec.json.encode(batch), headers=headers, timeout=120)
        hashes += [row["result"] for row in answer.json()]
    return hashes


def number_of(node: NodeProcess, block: str | None = None) -> int:
    """Return the number in the state at a block (genesis stores none)."""
    raw = node.call("state_getStorage", NUMBER, *([block] if block else [])) or "0x"
    return int.from_bytes(bytes.fromhex(raw[2:]), "little")


def anonymous_mib(pid: int) -> int:
    """Return memory of a process that is not pages of a file, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) // 1024


def executor_of(node: NodeProcess) -> int:
    """Return the process of the node's executor."""
    children = Path(f"/proc/{node.process.pid}/task/{node.process.pid}/children").read_text().split()
    return int(children[0])


def error_of(node: NodeProcess, method: str, *params: Any) -> dict[str, Any]:
    """Return the error of a call."""
    with pytest.raises(CallRefused) as refused:
        node.call(method, *params)
    return refused.value.error


@pytest.mark.world
def test_states_leave_after_128_blocks_and_headers_stay(tmp_path: Path) -> None:
    """Discard states after 128 blocks with the official errors, and keep headers."""
    with running_node(tmp_path, "--dev", "--dev-seal=manual") as node:
        hashes = blocks(node, 140, finalize=True)
        assert number_of(node, hashes[139 - 128]) == 12
        old = hashes[5]
        assert error_of(node, "state_getStorage", NUMBER, old) == {
            "code": 4003,
            "message": f"Client error: UnknownBlock: State already discarded for {old}",
        }
        assert error_of(node, "cf_current_epoch", old) == {
            "code": -32022,
            "message": f"Unknown block: State already discarded for {old}",
        }
        assert node.call("chain_getHeader", old)["number"] == "0x6"
        assert node.call("chain_getBlockHash", 6) == old
        never = "0x" + "11" * 32
        assert error_of(node, "state_getStorage", NUMBER, never) == {
            "code": 4003,
            "message": f"Client error: UnknownBlock: Header was not found in the database: {never}",
        }


def test_light_rpc_begins_anew_and_keeps_keys_while_dev_goes_on(tmp_path: Path, cfnode: Cfnode) -> None:
    """Begin anew in light-rpc mode with the keys kept; without it the chain goes on."""
    base = f"--base-path={tmp_path}/base"
    cfnode("key", "insert", "--chain=dev", base, "--suri=//Alice")
    flags = (base, "--dev", "--dev-seal=manual")
    with running_node(tmp_path, *flags) as node:
        identity = node.call("system_localPeerId")
        blocks(node, 5)
        assert node.stop(signal.SIGTERM) == 0
    with running_node(tmp_path, *flags) as node:
        assert number_of(node) == 5
        assert node.call("system_localPeerId") == identity
        assert node.stop() == 0
    with running_node(tmp_path, *flags, "--sync=light-rpc") as node:
        assert number_of(node) == 0
        assert "Database deleted and recreated" in node.log
        assert "broker_register_account" in node.call("rpc_methods")["methods"]
        assert node.call("system_localPeerId") == identity


@pytest.mark.world
def test_a_second_node_on_the_path_explains_itself(manual_node: NodeProcess, cfnode: Cfnode) -> None:
    """Explain to a second node which process uses its base path."""
    base = manual_node.log_path.parent / "base"
    done = cfnode("run", "--dev", f"--base-path={base}", "--rpc-port=0", "--no-prometheus")
    assert done.returncode == 4
    assert f"in use by another cfnode (process {manual_node.process.pid})" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.world
def test_a_port_in_use_is_an_error_with_exit_code_5(manual_node: NodeProcess, cfnode: Cfnode) -> None:
    """End with exit code 5 and the port's number where the port is in use."""
    port = manual_node.url.rpartition(":")[2]
    done = cfnode("run", "--dev", "--tmp", f"--rpc-port={port}", "--no-prometheus")
    assert done.returncode == 5
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fork_of_five_overtakes(manual_node: NodeProcess) -> None:
    """Switch to a longer fork, and discard the other one with finality."""
    node = manual_node
    node.call("dev_holdFinality")
    trunk = blocks(node, 3)[-1]
    first = blocks(node, 4)
    tip = trunk
    second = []
    for _ in range(5):
        tip = node.call("dev_newBlock", parent=tip)
        second.append(tip)
    assert node.call("chain_getBlockHash") == tip
    assert [number_of(node, block) for block in (first[-1], second[-1])] == [
        int(node.call("chain_getHeader", first[-1])["number"], 16),
        int(node.call("chain_getHeader", second[-1])["number"], 16),
    ]
    node.call("dev_finalize", second[0])
    assert node.call("chain_getFinalizedHead") == second[0]
    assert "State already discarded" in error_of(node, "state_getStorage", NUMBER, first[-1])["message"]


@only_whole
def test_thousands_of_blocks_without_finality_cost_little_memory_and_a_low_fork_can_win(
    tmp_path: Path,
) -> None:
    """Hold thousands of unfinalized blocks in little memory, and finalize a low fork all the same."""
    with running_node(tmp_path, "--dev", "--dev-seal=manual", "--log=error,rpc=info") as node:
        node.call("dev_holdFinality")
        early = blocks(node, 500)
        before = anonymous_mib(node.process.pid) + anonymous_mib(executor_of(node))
        blocks(node, BLOCKS - 500)
        after = anonymous_mib(node.process.pid) + anonymous_mib(executor_of(node))
        assert after - before < ANONYMOUS_MIB
        assert number_of(node) == BLOCKS
        assert number_of(node, early[9]) == 10
        fork = node.call("dev_newBlock", parent=early[9])
        node.call("dev_finalize", fork)
        assert node.call("chain_getBlockHash") == fork
        assert number_of(node) == 11
        assert "State already discarded" in error_of(node, "state_getStorage", NUMBER, early[10])["message"]


@pytest.mark.world
def test_a_killed_node_leaves_no_executor_and_a_store_that_opens(tmp_path: Path) -> None:
    """Leave no executor of a killed node, and a store that opens at its last block."""
    flags = (f"--base-path={tmp_path}/base", "--dev", "--dev-seal=manual")
    with running_node(tmp_path, *flags) as node:
        blocks(node, 20, finalize=True)
        child = executor_of(node)
        node.process.kill()
        node.process.wait(timeout=LIMIT_S)
        wait_until(lambda: has_ended(child), "the executor outlived its node")
    with running_node(tmp_path, *flags) as node:
        assert number_of(node) == 20


def test_bad_chain_specifications_end_with_exit_code_3(cfnode: Cfnode, tmp_path: Path) -> None:
    """End with exit code 3 and the place of the mistake for a bad specification."""
    spec = tmp_path / "spec.json"
    spec.write_text('{"name": "x", "id": "x", "genesis": {"raw": {"top": {"0xzz": "0x"}}}}')
    done = cfnode("run", f"--chain={spec}", "--tmp", "--rpc-port=0", "--no-prometheus")
    assert done.returncode == 3
    assert "genesis.raw.top" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_dev_the_node_logs_why_it_has_no_peers(tmp_path: Path) -> None:
    """Log why there are no peers, and answer from genesis."""
    with running_node(tmp_path, "--chain=berghain", "--reserved-only") as node:
        assert node.call("system_health") == {"peers": 0, "isSyncing": True, "shouldHavePeers": True}
        genesis = "0x8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"
        assert node.call("chain_getBlockHash", 0) == genesis
        assert "No peers: " in node.log


def test_the_official_specification_gives_the_official_genesis(tmp_path: Path, berghain_spec: Path) -> None:
    """Compute the official genesis from the official specification."""
    with running_node(tmp_path, f"--chain={berghain_spec}", "--sync=light-rpc", "--reserved-only") as node:
        header = node.call("chain_getHeader", node.call("chain_getBlockHash", 0))
        assert header["stateRoot"] == "0xceb969ab679b7db5c793e8d0aa42c6284c0c05e183a728440946660810ee3b8d"
        assert node.call("system_chain") == "Chainflip-Berghain"
