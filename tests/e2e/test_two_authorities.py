"""Two authorities in processes of their own, each with one of two keys, connected by a third node only."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from tests.e2e.conftest import Cfnode
from tests.e2e.sites import free_port, until
from tests.process import NodeProcess, running_node

SECRET = "0b" * 32


def final(node: NodeProcess) -> int:
    return int(node.call("chain_getHeader", node.call("chain_getFinalizedHead"))["number"], 16)


def goes_on(*nodes: NodeProcess) -> None:
    """Three more blocks become final everywhere, the same ones."""
    number = max(final(node) for node in nodes) + 3
    until(lambda: all(final(node) >= number for node in nodes), f"block #{number} is final everywhere")
    assert len({node.call("chain_getBlockHash", number) for node in nodes}) == 1


def test_finality_goes_on_over_a_bridge_that_does_not_vote(cfnode: Cfnode, tmp_path: Path) -> None:
    """One of the two makes the blocks: so there are no forks on which the two could disagree for long."""
    spec = tmp_path / "two.json"
    assert cfnode("export-chain-spec", "--dev", "--dev-authorities=2", "-o", str(spec)).returncode == 0
    place = f"/ip4/127.0.0.1/tcp/{free_port()}"
    identity = peer_id(Keypair.from_seed(bytes.fromhex(SECRET), "ed25519").public)
    only = (
        "--reserved-only",
        f"--reserved-nodes={place}/p2p/{identity}",
        "--listen-addr=/ip4/127.0.0.1/tcp/0",
    )

    with ExitStack() as stack:

        def start(name: str, *flags: str) -> NodeProcess:
            (tmp_path / name).mkdir()
            known = (f"--chain={spec}", "--no-prometheus", *flags)
            return stack.enter_context(running_node(tmp_path / name, *known))

        bridge = start("bridge", "--sync=full", f"--node-key={SECRET}", f"--listen-addr={place}")
        alice = start("alice", "--dev", "--dev-authorities=//Alice", "--dev-block-time=250", *only)
        bob = start("bob", "--dev", "--dev-authorities=//Bob", "--dev-seal=manual", *only)
        nodes = (bridge, alice, bob)
        for _ in range(2):
            goes_on(*nodes)
        assert [node.call("system_health")["peers"] for node in nodes] == [2, 1, 1]
        best = alice.call("grandpa_roundState")["best"]
        assert best["round"] > 1
        assert (best["totalWeight"], best["thresholdWeight"]) == (2, 2)
        for node in nodes:
            assert "is banned" not in node.log
            assert "that do not hold" not in node.log
