"""The broker's node is killed under load; a stand-by takes its place by the guide's steps, word for word."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.failover import CLIENTS, PATIENCE, Chain, Shop
from tests.deploy.proxies import (
    SHOP,
    MakeProxy,
    Proxy,
    call,
    haproxy,
    nginx,
    proxy_before,
    write_certificate,
)
from tests.documentation import block
from tests.e2e.shell import Shell
from tests.e2e.sites import Site
from tests.lengths import only_whole
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

PAGE = "docs/guide/deployment.md"
CALLS = 2 * CLIENTS
"""Answered calls before the primary dies, and after the stand-by has taken its place."""
LIFETIME = 128
"""Blocks in which a transaction is valid."""
Rows = list[dict[str, Any]]
CHANGES: dict[MakeProxy, tuple[str, str]] = {
    nginx: (
        block(PAGE, "sudo sed -i 's/10\\.0\\.0\\.13:9944/10.0.0.14:9944/' /etc/nginx/conf.d/cfnode.conf"),
        block(PAGE, "sudo sed -i 's/10\\.0\\.0\\.14:9944/10.0.0.13:9944/' /etc/nginx/conf.d/cfnode.conf"),
    ),
    haproxy: (
        block(PAGE, "sudo sed -i 's/10\\.0\\.0\\.13:9944/10.0.0.14:9944/' /etc/haproxy/haproxy.cfg"),
        block(PAGE, "sudo sed -i 's/10\\.0\\.0\\.14:9944/10.0.0.13:9944/' /etc/haproxy/haproxy.cfg"),
    ),
}
"""The commands that lead broker calls to the stand-by, and back."""


class Machine:
    """A machine that a step of the page is for: its shell, its service, the addresses of the test."""

    def __init__(self, folder: Path, names: dict[str, str], site: Site | None = None) -> None:
        folder.mkdir()
        self._names, self._site = names, site
        self.folder = folder
        self.shell = Shell(folder, None if site is None else site.node.url)
        self.shell.program("sudo", 'exec "$@"')

    def run(self, commands: str) -> str:
        """Run commands of the page at the site's node, and return their output."""
        for name, ours in self._names.items():
            commands = commands.replace(name, ours)
        service = re.match(r"sudo systemctl (.*) cfnode\n", commands)
        if service is None:
            return self.shell.run(commands)
        assert self._site is not None
        match service[1]:
            case "disable --now" | "stop":
                self._site.node.stop(signal.SIGTERM)
            case "start":
                self._site.start()
        return self.run(after) if (after := commands[service.end() :]) else ""


def machine_of_the_proxy(folder: Path, proxy: Proxy, chain: Chain) -> Machine:
    """Return the machine, whose systemctl does what the units of Debian do at a reload."""
    names = {"/etc/nginx/conf.d/cfnode.conf": f"{folder.parent}/site.conf"}
    names["/etc/haproxy/haproxy.cfg"] = f"{folder.parent}/haproxy.cfg"
    for address, name in (("10.0.0.13:9944", "primary"), ("10.0.0.14:9944", "standby")):
        ours = f"127.0.0.1:{chain.ports[name]}"
        names |= {address: ours, address.replace(".", r"\."): ours.replace(".", r"\.")}
    machine = Machine(folder, names)
    program, *arguments = proxy.line
    name = Path(program).name
    proxy_arguments = [] if name == "haproxy" else arguments
    machine.shell.program(name, f'exec {program} {" ".join(proxy_arguments)} "$@"')
    wanted, number = f"reload {name}", {"nginx": "HUP", "haproxy": "USR2"}[name]
    machine.shell.program("systemctl", f'[ "$*" = "{wanted}" ] && exec kill -{number} {proxy.process.pid}')
    return machine


def change(gateway: Machine, proxy: Proxy, commands: str) -> None:
    """Run the commands, and wait until the processes that had read the old file have ended."""
    old = workers(proxy)
    gateway.run(commands)
    wait_until(lambda: not old & workers(proxy), "the proxy has read its file again")


def workers(proxy: Proxy) -> set[str]:
    """Return the processes that accept the proxy's connections."""
    pid = proxy.process.pid
    return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def node_of_the_shop(proxy: Proxy) -> str:
    """Return the peer id of the node to which broker calls lead."""
    with proxy.client(SHOP) as client:
        return str(call(client, "system_localPeerId", path="/broker")["result"])


def channels_on_chain(machine: Machine, chain: Chain, first: int, best: int) -> tuple[Rows, int]:
    """Return channels and nonce that the page's step prints, once the primary's transactions expired."""
    last = best + LIFETIME
    step = block(PAGE, "cfnode ledger run --account ACCOUNT --first-block FIRST").replace("LAST", str(last))
    books = machine.folder / "ledger.log"

    def author() -> None:
        wait_until(lambda: books.exists() and "The books begin" in books.read_text(), "the books begin")
        chain.grow(last)

    thread = threading.Thread(target=author)
    thread.start()
    printed = machine.run(step.replace("FIRST", str(first)).replace("ACCOUNT", chain.account))
    thread.join(timeout=PATIENCE)
    *_, nonce = printed.splitlines()
    rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return rows, int(nonce)


@only_whole
@pytest.mark.parametrize("make", [nginx, haproxy], ids=["nginx", "haproxy"])
def test_a_standby_takes_over_the_brokers_calls_by_the_steps(make: MakeProxy, tmp_path: Path) -> None:
    """Let a stand-by take over the broker's calls by the guide's steps, with no channel lost or doubled."""
    write_certificate(tmp_path)
    with ExitStack() as stack:
        chain = Chain(stack, tmp_path)
        reads = int(chain.authority.node.url.rpartition(":")[2])
        ports = (reads, reads, chain.ports["primary"])
        proxy = stack.enter_context(proxy_before(make, tmp_path, tmp_path, ports))
        play(make, chain, proxy, tmp_path)


def play(make: MakeProxy, chain: Chain, proxy: Proxy, folder: Path) -> None:
    """Play a failure: load, a kill, the steps to the stand-by, the lost answers, the steps back."""
    there, back = CHANGES[make]
    primary = Machine(folder / "machine of the primary", {}, chain.primary)
    standby = Machine(folder / "machine of the stand-by", {}, chain.standby)
    gateway = machine_of_the_proxy(folder / "machine of the proxy", proxy, chain)
    chain.register(proxy)
    with Shop(proxy) as shop:
        shop.serves(CALLS)
        chain.kill_the_primary_with_calls_in_flight()
        shop.until(lambda: len(shop.unanswered) == CLIENTS, "each client has a call without an answer")
        primary.run(block(PAGE, "sudo systemctl disable --now cfnode"))
        status = standby.run(block(PAGE, "cfnode wait --synced --timeout 600"))
        change(gateway, proxy, there)
        assert node_of_the_shop(proxy) == chain.standby.call("system_localPeerId")
        lost = dict(shop.unanswered)
        shop.again.set()
        shop.serves(CALLS)
    assert shop.faults == []
    assert {text[:3] for text in lost.values()} <= {"502", "503"}, lost
    first = min(channel["issued_block"] for channel in shop.answered.values())
    rows, nonce = channels_on_chain(standby, chain, first, best_block(status))
    executed = Counter(row["destination"] for row in rows)
    assert_each_answer_is_on_chain_once(shop, rows)
    assert [destination for destination in lost if executed[destination]], (
        "calls in flight were executed, and the step finds them"
    )
    assert nonce == 1 + len(rows), "the registration, and the channels: no other transaction was executed"

    primary.run(block(PAGE, "sudo systemctl enable cfnode"))
    standby.run(block(PAGE, "sudo systemctl stop cfnode"))
    change(gateway, proxy, back)
    assert node_of_the_shop(proxy) == chain.primary.call("system_localPeerId")
    repeated = [destination for destination in shop.unanswered if not executed[destination]] or [
        f"0x{0:040x}"
    ]
    with proxy.client(SHOP) as client:
        for destination in repeated:
            shop.open_channel(client, destination)
    assert set(repeated) <= set(shop.answered), shop.unanswered
    assert chain.nonce(chain.primary) == nonce + len(repeated)
    standby.run(block(PAGE, "cfnode wait --synced --timeout 900"))
    assert "Broker key found in the keystore" in chain.standby.node.log


def best_block(status: str) -> int:
    """Return the number of the best block that `cfnode status` prints."""
    match = re.search(r"best +#(\d+)", status)
    assert match is not None, status
    return int(match[1])


def assert_each_answer_is_on_chain_once(shop: Shop, rows: Rows) -> None:
    """Check that each answered call has exactly its channel, each other one at most one."""
    executed = Counter(row["destination"] for row in rows)
    assert executed.keys() <= shop.answered.keys() | shop.unanswered.keys()
    assert max(executed.values()) == 1
    by_destination = {row["destination"]: (row["channel"], row["address"]) for row in rows}
    answered = {
        destination: (channel["channel_id"], channel["address"])
        for destination, channel in shop.answered.items()
    }
    assert answered == {destination: by_destination.get(destination) for destination in answered}
    assert len(set(by_destination.values())) == len(rows)
