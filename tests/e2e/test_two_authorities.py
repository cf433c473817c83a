"""Two authorities in processes of their own, each with one of two keys, connected by a third node only."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from tests.e2e.conftest import Cfnode
from tests.lengths import only_whole
from tests.process import NodeProcess, running_node
from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

SECRET = "0b" * 32


def final(node: NodeProcess) -> int:
    """Return the number of the final block."""
    return int(node.call("chain_getHeader", node.call("chain_getFinalizedHead"))["number"], 16)


def goes_on(*nodes: NodeProcess) -> None:
    """Check that three more blocks become final everywhere, the same ones."""
    number = max(final(node) for node in nodes) + 3
    wait_until(lambda: all(final(node) >= number for node in nodes), f"block #{number} is final everywhere")
    assert len({node.call("chain_getBlockHash", number) for node in nodes}) == 1


class Network:
    """A bridge that does not vote, and two authorities that reach each other through it only.

    Alice makes the blocks: so there are no forks on which the two could disagree for long.
    """

    def __init__(self, cfnode: Cfnode, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack, self._starts = folder, stack, 0
        self._spec = folder / "two.json"
        made = cfnode("export-chain-spec", "--dev", "--dev-authorities=2", "-o", str(self._spec))
        assert made.returncode == 0
        place = f"/ip4/127.0.0.1/tcp/{free_port()}"
        identity = peer_id(Keypair.from_seed(bytes.fromhex(SECRET), "ed25519").public)
        only = (
            "--reserved-only",
            f"--reserved-nodes={place}/p2p/{identity}",
            "--listen-addr=/ip4/127.0.0.1/tcp/0",
        )
        self._flags = {
            "bridge": ("--sync=full", f"--node-key={SECRET}", f"--listen-addr={place}"),
            "alice": ("--dev", "--dev-authorities=//Alice", "--dev-block-time=250", *only),
            "bob": ("--dev", "--dev-authorities=//Bob", "--dev-seal=manual", *only),
        }
        self._nodes = {name: self._start(name) for name in self._flags}

    @property
    def nodes(self) -> tuple[NodeProcess, ...]:
        """The bridge, Alice and Bob as they run now."""
        return tuple(self._nodes.values())

    def _start(self, name: str) -> NodeProcess:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        self._starts += 1
        flags = (f"--chain={self._spec}", "--no-prometheus", *self._flags[name])
        log_name = f"{self._starts}.log"
        return self._stack.enter_context(running_node(folder, *flags, log_name=log_name))

    def kill(self, name: str) -> None:
        """End a node without a chance to write anything."""
        self._nodes[name].stop(signal.SIGKILL)

    def restart(self, name: str) -> None:
        """Start it again on what it has on disk."""
        self._nodes[name] = self._start(name)


def test_finality_goes_on_over_a_bridge_that_does_not_vote(cfnode: Cfnode, tmp_path: Path) -> None:
    """Finalize over a bridge that does not vote, without a ban or an unverified vote."""
    with ExitStack() as stack:
        nodes = Network(cfnode, tmp_path, stack).nodes
        for _ in range(2):
            goes_on(*nodes)
        assert [node.call("system_health")["peers"] for node in nodes] == [2, 1, 1]
        best = nodes[1].call("grandpa_roundState")["best"]
        assert best["round"] > 1
        assert (best["totalWeight"], best["thresholdWeight"]) == (2, 2)
        for node in nodes:
            assert "is banned" not in node.log
            assert "that do not hold" not in node.log


@only_whole
def test_finality_goes_on_after_each_authority_was_killed(cfnode: Cfnode, tmp_path: Path) -> None:
    """Finalize after each authority was killed, three times in turn."""
    with ExitStack() as stack:
        network = Network(cfnode, tmp_path, stack)
        goes_on(*network.nodes)
        for _ in range(3):
            for name in ("bob", "alice"):
                network.kill(name)
                before = final(network.nodes[0])
                network.restart(name)
                goes_on(*network.nodes)
                assert final(network.nodes[0]) > before
        for node in network.nodes:
            assert "is banned" not in node.log
            assert "that do not hold" not in node.log
