"""nginx and HAProxy, with the files of docs/deploy, before nodes: TLS, WebSockets, a node that is killed."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from trio_websocket import open_websocket_url

from tests.conftest import ROOT
from tests.deploy.programs import DEPLOY
from tests.deploy.proxies import (
    BEHIND,
    NAME,
    SHOP,
    Proxy,
    call,
    haproxy,
    nginx,
    post,
    proxy_before,
    write_certificate,
)
from tests.process import NodeProcess, running_node

pytestmark = pytest.mark.world

OTHER_SHOP = "127.0.0.10"
"""A source address that the proxy lets through to the broker; the node itself does not list it."""
CLIENTS = 8
READS = 40
"""Reads of each client before and after the death of a node."""
ELSEWHERE = {"--rpc-external"}
"""The flag of nodes on another machine than the proxy; here there is one machine."""
SPOOFED = ({"X_Forwarded_For": SHOP}, {"Forwarded": f"for={SHOP}"}, {"X_Real_IP": SHOP})
DEV = ("--dev", "--no-prometheus")
READS_FLAGS = (*DEV, *BEHIND, "--dev-seal=manual")
BROKER = (*DEV, *BEHIND, "--dev-seal=instant", "--dev-broker=//Alice", f"--rpc-broker-clients={SHOP}")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the certificate."""
    folder = tmp_path_factory.mktemp("tls")
    write_certificate(folder)
    return folder


@dataclass
class Site:
    """A proxy, two nodes that are read, and one that has a broker."""

    proxy: Proxy
    reads: list[NodeProcess]
    broker: NodeProcess

    def client(self, source: str = "127.0.0.1") -> httpx.Client:
        """Return a client that calls from this address."""
        return self.proxy.client(source)


@pytest.fixture(scope="module", params=[nginx, haproxy], ids=["nginx", "haproxy"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, certificate: Path
) -> Iterator[Site]:
    """Yield the site for all tests of the file: the last one kills a node."""
    base = tmp_path_factory.mktemp(request.param.__name__)
    with ExitStack() as stack:
        nodes = []
        for name, flags in (("a", READS_FLAGS), ("b", READS_FLAGS), ("broker", BROKER)):
            folder = base / name
            folder.mkdir()
            nodes.append(stack.enter_context(running_node(folder, *flags)))
        ports = [int(node.url.rpartition(":")[2]) for node in nodes]
        proxy = stack.enter_context(proxy_before(request.param, base, certificate, ports))
        yield Site(proxy, nodes[:2], nodes[2])


def test_reads_are_answered_over_tls_by_both_nodes(site: Site) -> None:
    """Answer reads over TLS by both nodes in turn."""
    genesis = site.reads[0].call("chain_getBlockHash", 0)
    identities = {node.call("system_localPeerId") for node in site.reads}
    peer_ids = set()
    with site.client() as client:
        assert call(client, "chain_getBlockHash", 0)["result"] == genesis
    for _ in range(20):
        with site.client() as client:
            peer_ids.add(call(client, "system_localPeerId")["result"])
    assert peer_ids == identities


class ThisMachine(trio.abc.HostnameResolver):
    """Every name is that of this machine."""

    async def getaddrinfo(self, host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        """Return its loopback address."""
        await trio.lowlevel.checkpoint()
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        """Raise: no test needs it."""
        raise NotImplementedError


async def test_a_subscription_passes_over_a_websocket(site: Site) -> None:
    """Pass a subscription over a WebSocket to one node."""
    trio.socket.set_custom_hostname_resolver(ThisMachine())
    url = site.proxy.url.replace("https://127.0.0.1", f"wss://{NAME}")
    async with open_websocket_url(url, ssl_context=site.proxy.tls) as wire:
        request = {"jsonrpc": "2.0", "id": 1, "method": "chain_subscribeNewHeads", "params": []}
        await wire.send_message(json.dumps(request))
        assert "result" in json.loads(await wire.get_message())
        for node in site.reads:  # the proxy chose one of them
            node.call("dev_newBlock")
        messages = [json.loads(await wire.get_message()) for _ in range(2)]
    assert [message["params"]["result"]["number"] for message in messages] == ["0x0", "0x1"]


def test_broker_calls_are_for_the_addresses_that_proxy_and_node_list(site: Site) -> None:
    """Allow broker calls to addresses that proxy and node list, whatever headers a client forges."""
    with site.client(SHOP) as client:
        for named in ({}, {"Forwarded": "for=192.0.2.1"}, {"X_Real_IP": "192.0.2.1"}):
            assert call(client, "broker_get_affiliates", path="/broker", **named)["result"] == []
        refused = call(client, "broker_get_affiliates")
        assert refused["error"]["code"] == -32601, "the nodes that are read have no broker"
    with site.client(OTHER_SHOP) as client:
        for spoofed in ({}, *SPOOFED):
            answer = call(client, "broker_get_affiliates", path="/broker", **spoofed)
            assert "--rpc-broker-clients does not list this address" in json.dumps(answer["error"])
    with site.client() as client:
        assert post(client, "broker_get_affiliates", path="/broker").status_code == 403


def test_another_name_and_a_foreign_page_are_refused_behind_the_proxy_too(site: Site) -> None:
    """Refuse another host name and a foreign origin behind the proxy, too."""
    with site.client() as client:
        for refused in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            assert post(client, "system_name", **refused).status_code == 403, refused


def test_the_nodes_run_with_the_flags_of_the_files_and_of_the_guide() -> None:
    """Run the nodes with the flags that the proxy's files and the guide name."""
    ours = {flag.partition("=")[0] for flag in BROKER if flag.startswith("--rpc")}
    section = (ROOT / "docs" / "guide" / "deployment.md").read_text().partition("## A proxy with TLS")[2]
    assert set(re.findall(r"^\| `(--[a-z-]+)", section, re.MULTILINE)) == ours | ELSEWHERE
    for file in ("nginx.conf", "haproxy.cfg"):
        head = (DEPLOY / "proxy" / file).read_text().partition("\nglobal" if "ha" in file else "\n\n")[0]
        named = re.findall(r"(--[a-z-]+)(?: ([a-z0-9.]+))?", head.replace("\n# ", " "))
        assert {f"{flag}={value}" for flag, value in named if value} == set(BEHIND[:2])
        assert {flag for flag, value in named if not value} == ELSEWHERE


def test_no_read_is_lost_when_a_node_is_killed_under_load(site: Site) -> None:
    """Lose no read when a node is killed under load."""
    genesis = site.reads[0].call("chain_getBlockHash", 0)
    halfway, killed = threading.Barrier(CLIENTS + 1, timeout=120), threading.Event()
    answers: list[Any] = []

    def read(number: int) -> None:
        with site.client() as client:
            done = 0
            while done < READS or not killed.is_set():
                if done == READS // 4:
                    halfway.wait()
                answers.append(call(client, "chain_getBlockHash", 0))
                done += 1
            answers.extend(call(client, "chain_getBlockHash", 0) for _ in range(READS))

    def attempt(number: int) -> None:
        try:
            read(number)
        except Exception as error:
            answers.append(repr(error))
            halfway.abort()

    clients = [threading.Thread(target=attempt, args=(number,)) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        halfway.wait()
        site.reads[1].process.kill()
        site.reads[1].process.wait(timeout=60)
    finally:
        killed.set()
        for client in clients:
            client.join(timeout=300)
    assert [answer for answer in answers if answer != {"jsonrpc": "2.0", "id": 1, "result": genesis}] == []
    assert len(answers) >= 2 * READS * CLIENTS
