"""A chain, a follower and a light node on machines of their own, with wires that delay, lose and break."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cfnode.core.chainspec import to_json
from cfnode.runtime.dev.genesis import dev_chain_spec
from tests.e2e.wires import Machine, NotPermitted, Switch, machines
from tests.process import NodeProcess, running_node, until

DELAY, LOSS = 0.025, 0.02
"""A round trip of 50 ms, and every fiftieth frame lost."""


class OnMachine:
    """A node on a machine of its own."""

    def __init__(self, node: NodeProcess, machine: Machine) -> None:
        self._node, self._machine = node, machine

    def call(self, method: str, *params: Any) -> Any:
        with self._machine.here():
            return self._node.call(method, *params)

    @property
    def final(self) -> int:
        return int(self.call("chain_getHeader", self.call("chain_getFinalizedHead"))["number"], 16)

    def root(self, number: int) -> str | None:
        """The state root of its block with that number; None where it has none yet."""
        found = self.call("chain_getBlockHash", number)
        return None if found is None else str(self.call("chain_getHeader", found)["stateRoot"])


@contextmanager
def node_on(machine: Machine, folder: Path, *flags: str) -> Iterator[OnMachine]:
    folder.mkdir()
    listen = f"--listen-addr=/ip4/{machine.address}/tcp/30333"
    with machine.here():
        node = running_node(folder, "--no-prometheus", listen, *flags)
        running = node.__enter__()
    try:
        yield OnMachine(running, machine)
    finally:
        node.__exit__(None, None, None)


@pytest.fixture
def wired() -> Iterator[tuple[Switch, list[Machine]]]:
    try:
        with machines(3) as made:
            switch = Switch(made, delay=DELAY, loss=LOSS)
            with switch.running():
                yield switch, made
    except NotPermitted as error:
        pytest.skip(str(error))


def test_all_agree_after_delay_loss_and_a_partition_that_heals(
    wired: tuple[Switch, list[Machine]], tmp_path: Path
) -> None:
    switch, (first, second, third) = wired
    spec = tmp_path / "spec.json"
    spec.write_text(to_json(dev_chain_spec()))
    with node_on(first, tmp_path / "authority", "--dev", "--dev-block-time=500") as authority:
        boot = f"/ip4/{first.address}/tcp/30333/p2p/{authority.call('system_localPeerId')}"
        stranger = (f"--chain={spec}", f"--bootnodes={boot}")
        with (
            node_on(second, tmp_path / "full", *stranger, "--sync=full") as full,
            node_on(third, tmp_path / "light", *stranger, "--sync=light-rpc") as light,
        ):
            until(lambda: full.final >= 8 and light.final >= 8)
            assert switch.lost > 0, "the wires lose frames"
            assert light.call("system_health")["peers"] >= 1

            switch.cut_off(first)
            here = authority.final
            until(lambda: authority.final >= here + 10)
            assert max(full.final, light.final) <= here + 2, "nothing comes through a cut wire"

            switch.cut_off()
            until(lambda: min(full.final, light.final) >= here + 12)
            for number in range(here + 1, here + 13):  # most were made while the wire was cut
                root = authority.root(number)
                assert root is not None
                assert full.root(number) == light.root(number) == root
