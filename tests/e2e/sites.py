"""Many nodes in processes of their own, over real TCP: the life of a network, on one machine or on several.

One authority process signs for three authorities of unequal weight, two followers serve what they have, and
light-RPC nodes know only those two as boot nodes. All of them return the same for a block.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from cfnode.store.keystore import Keystore
from tests.e2e.conftest import Cfnode
from tests.e2e.wires import Machine
from tests.process import NodeProcess, starting_node
from tests.support.ports import free_port
from tests.support.waiting import wait_until

AUTHORITIES = [
    {"suri": "//Alice", "weight": 5},
    {"suri": "//Bob", "weight": 3},
    {"suri": "//Charlie", "weight": 2},
]
ALICE, CHARLIE = 0, 2
"""More than a third of the weight, and less."""
GENESIS_FLAGS = ("--dev-epoch-blocks=3", "--dev-state-entries=3000")
EPOCHS = 40
PHASES = (
    "Local node identity is",
    "Running JSON-RPC server",
    "Proven: block",
    "with proofs from peers",
    "is complete:",
    "Imported #",
)
"""What a light node says on its way to the head, in this order."""
REFUND = {"retry_duration": 10, "refund_address": "0x" + "02" * 20, "min_price": "0x0"}
CHANNEL = "ETH", {"chain": "Arbitrum", "asset": "USDC"}, "0x" + "01" * 20, 10, None, None, None, REFUND
EVENTS = "0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7"
"""System.Events: what the execution of a block leaves."""
IMPORTED = re.compile(r"Imported #(\d+) ")
PATIENCE = 120.0
"""Seconds, far above what any step takes: only what hangs fails."""


class Site:
    """A place where a node runs, is killed, and runs again: its folder, its port and its flags stay."""

    def __init__(
        self, stack: ExitStack, folder: Path, machine: Machine | None, *flags: str, friends: Sequence[Site]
    ) -> None:
        folder.mkdir()
        self._here = nullcontext if machine is None else machine.here
        self._place = f"/ip4/127.0.0.1/tcp/{free_port()}" if machine is None else machine.place
        known = [f"--bootnodes={friend.address}" for friend in friends]
        self._flags = (*flags, f"--listen-addr={self._place}", "--no-prometheus", *known)
        self._stack, self.folder, self._starts = stack, folder, 0
        self.node: NodeProcess

    def start(self) -> NodeProcess:
        """Run the node; what it logs goes to a file of its own."""
        self.begin().wait_until_listening()
        return self.node

    def begin(self) -> NodeProcess:
        """Run the node, and do not wait for anything that it does."""
        self._starts += 1
        started = starting_node(self.folder, *self._flags, log_name=f"{self._starts}.log")
        with self._here():
            self.node = self._stack.enter_context(started)
        return self.node

    def die(self) -> None:
        """Kill the node in the middle of whatever it does."""
        self.node.stop(signal.SIGKILL)

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call to the node, made from its machine."""
        with self._here():
            return self.node.call(method, *params)

    @property
    def address(self) -> str:
        """The address of the node with its peer id."""
        return f"{self._place}/p2p/{self.call('system_localPeerId')}"

    @property
    def best(self) -> int:
        """The number of the node's best block."""
        return int(self.call("chain_getHeader")["number"], 16)

    @property
    def final(self) -> int:
        """The number of the node's last final block."""
        return int(self.call("chain_getHeader", self.call("chain_getFinalizedHead"))["number"], 16)

    @property
    def sets(self) -> int:
        """Number of changes of the authorities."""
        answer = self.call(
            "state_call", "GrandpaApi_current_set_id", "0x", self.call("chain_getFinalizedHead")
        )
        return int.from_bytes(bytes.fromhex(answer[2:]), "little")

    def is_in_step(self, with_: Site) -> bool:
        """Return whether the node is as far as another one."""
        return not self.call("system_health")["isSyncing"] and self.final + 4 >= with_.final

    def block(self, number: int) -> tuple[Any, Any]:
        """Return a block's header, and a value that its execution left."""
        block = self.call("chain_getBlockHash", number)
        return self.call("chain_getHeader", block), self.call("state_getStorage", EVENTS, block)


def give_broker_key(site: Site, chain: str) -> None:
    """Put the broker's key into the keystore of a site."""
    Keystore(site.folder / "base" / "chains" / chain / "keystore").insert("brok", "//Broker")


def imports_without_gap(log: str) -> list[int]:
    """Return the numbers of the blocks that a node says it has executed, from its first to its last."""
    numbers = sorted({int(number) for number in IMPORTED.findall(log)})
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    return numbers


def open_channel(light: Site, authority: Site) -> None:
    """Request a channel at a light node: it is in a block, final, and known to the authority."""
    assert len(light.call("broker_registerAccount")) == 66
    opened = light.call("broker_requestSwapDepositAddress", *CHANNEL)
    wait_until(lambda: light.final >= opened["issued_block"], "the channel becomes final")
    number = opened["issued_block"]
    assert light.block(number) == authority.block(number)
    addresses = json.dumps(authority.call("cf_all_open_deposit_channels"))
    assert (
        opened["address"][2:] in addresses
        or str(list(bytes.fromhex(opened["address"][2:])))[1:-1] in addresses
    )


def fall_silent(authority: Site) -> None:
    """Check that finality goes on without a little weight, and waits without more until the votes return."""
    authority.call("dev_silence", [CHARLIE])
    final = authority.final
    wait_until(lambda: authority.final > final + 3, "finality goes on")
    authority.call("dev_silence", [ALICE])
    wait_until(lambda: authority.best > authority.final + 12, "blocks go on without finality")
    authority.call("dev_silence", [])
    wait_until(lambda: authority.best <= authority.final + 3, "finality catches up")


def die_in_each_phase(light: Site) -> None:
    """Kill a light node in each phase of its start, and start it again."""
    for phase in PHASES:
        light.begin()
        wait_until(lambda phase=phase: phase in light.node.log, f"the light node comes to: {phase}")
        light.die()


def first_state(site: Site) -> int:
    """Return the block that a light node stood on at first."""
    match = re.search(r"State of block #(\d+) ", site.node.log)
    assert match is not None
    return int(match[1])


class Places:
    """Machines of the nodes of one chain: this one, or one for each node."""

    def __init__(
        self,
        stack: ExitStack,
        folder: Path,
        cfnode: Cfnode,
        machines: Sequence[Machine] = (),
        block_ms: int = 300,
    ) -> None:
        """Choose the time between two blocks so long that all nodes execute each block in time."""
        self._stack, self._folder, self._cfnode = stack, folder, cfnode
        self._machines = iter(machines)
        self._block_ms = block_ms
        self._who = f"--dev-authorities={folder / 'authorities.json'}"
        (folder / "authorities.json").write_text(json.dumps(AUTHORITIES))

    def site(self, name: str, *flags: str, friends: Sequence[Site] = ()) -> Site:
        """Return a place for one node, which knows some others."""
        machine = next(self._machines, None)
        return Site(self._stack, self._folder / name, machine, *flags, friends=friends)

    def authority(self) -> Site:
        """Return the running node that makes the chain, three blocks an epoch."""
        site = self.site(
            "authority", "--dev", f"--dev-block-time={self._block_ms}", self._who, *GENESIS_FLAGS
        )
        give_broker_key(site, "dev")
        site.start()
        return site

    def spec(self) -> Path:
        """Return the chain specification for the other nodes."""
        path = self._folder / "spec.json"
        who = (self._who, *GENESIS_FLAGS)
        done = self._cfnode("export-chain-spec", "--dev", *who, "--light", "-o", str(path))
        assert done.returncode == 0, done.stderr
        return path


def many_epochs(places: Places, trouble: Callable[[Site, list[Site]], None] | None = None) -> None:
    """Live a network's life: nodes come, die and come again, and agree in the end.

    `trouble` is what else happens to the authority and to those who follow it; without it, a light node that
    comes later dies in each phase of its start.
    """
    authority, spec = places.authority(), places.spec()
    chain = f"--chain={spec}"
    first = places.site("first", chain, "--sync=warp", friends=[authority])
    first.start()
    second = places.site("second", chain, "--sync=warp", friends=[authority, first])
    second.start()
    light = places.site("light", chain, "--sync=light-rpc", friends=[first, second])
    give_broker_key(light, json.loads(spec.read_text())["id"])
    light.start()
    wait_until(lambda: light.is_in_step(authority), "the first light node is in step")
    open_channel(light, authority)
    fall_silent(authority)
    if trouble is not None:
        trouble(authority, [first, second, light])
    for site in (authority, first, second):
        site.die()
        final = light.final
        site.start()
        wait_until(lambda final=final: light.final > final + 3, "the chain goes on after a restart")
    later = places.site("later", chain, "--sync=light-rpc", friends=[first, second])
    if trouble is None:
        die_in_each_phase(later)
    wait_until(lambda: authority.sets >= EPOCHS, f"{EPOCHS} epochs have passed")
    later.start()
    agree(authority, first, second, light, later)


def agree(authority: Site, *others: Site) -> None:
    """Check that all are in step, and say the same of every block."""
    light, later = others[-2:]
    for site in others:
        wait_until(lambda site=site: site.is_in_step(authority), f"{site.folder.name} is in step")
    nodes = (authority, *others)
    least = min(site.final for site in nodes)
    for number in range(max(first_state(later), least - 20), least + 1):
        assert len({json.dumps(site.block(number)) for site in nodes}) == 1
    assert imports_without_gap(light.node.log)[-1] >= least
    assert light.sets >= EPOCHS
