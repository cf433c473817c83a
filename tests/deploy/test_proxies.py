"""nginx and HAProxy, with the files of docs/deploy, before nodes: TLS, WebSockets, a node that is killed."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from trio_websocket import open_websocket_url

from tests.deploy.programs import DEPLOY, program
from tests.process import NodeProcess, running_node

SHOP, OTHER_SHOP = "127.0.0.9", "127.0.0.10"
"""Source addresses that the proxy lets through to the broker; the node itself lists the first one alone."""
CLIENTS = 8
READS = 40
"""Reads of each client before and after the death of a node."""
BEHIND = ("--dev", "--no-prometheus", "--rpc-rate-limit-trust-proxy-headers")
STRICT = (*BEHIND, "--dev-seal=manual")
"""Checks the Host header; the proxy sends this node's name."""
ANY_HOST = (*STRICT, "--rpc-cors=all")
"""The other nodes have other ports here, on one machine, so their name differs."""
BROKER = (
    *BEHIND,
    "--dev-seal=instant",
    "--dev-broker=//Alice",
    "--rpc-cors=all",
    f"--rpc-broker-clients={SHOP}",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with fullchain.pem, privkey.pem and both in cfnode.pem, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cfnode test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    chain = made.public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "fullchain.pem").write_bytes(chain)
    (folder / "privkey.pem").write_bytes(secret)
    (folder / "cfnode.pem").write_bytes(chain + secret)
    return folder


@dataclass
class Site:
    """A proxy, two nodes that are read, and one that has a broker."""

    url: str
    tls: ssl.SSLContext
    reads: list[NodeProcess]
    broker: NodeProcess

    def client(self, source: str = "127.0.0.1") -> httpx.Client:
        transport = httpx.HTTPTransport(verify=self.tls, local_address=source)
        return httpx.Client(transport=transport, base_url=self.url, timeout=30)


def call(client: httpx.Client, method: str, *params: Any, path: str = "/", **headers: str) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = client.post(path, json=body, headers={key.replace("_", "-"): headers[key] for key in headers})
    assert answer.status_code == 200, answer.text
    return answer.json()


def configured(text: str, site: dict[str, str]) -> str:
    """A configuration with the addresses of the test; each of them must be in it."""
    for original, ours in site.items():
        assert original in text, original
        text = text.replace(original, ours)
    return text


def nginx(folder: Path, port: int, addresses: dict[str, str]) -> list[str]:
    site = {"listen 443 ssl": f"listen 127.0.0.1:{port} ssl"}
    text = configured((DEPLOY / "proxy" / "nginx.conf").read_text(), site | addresses)
    (folder / "site.conf").write_text(text)
    temporary = "".join(
        f"    {name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    head = f"daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
    http = f"http {{\n    access_log off;\n{temporary}    include {folder}/site.conf;\n}}\n"
    (folder / "nginx.conf").write_text(head + http)
    return [program("nginx"), "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]


def haproxy(folder: Path, port: int, addresses: dict[str, str]) -> list[str]:
    site = {"bind :443 ssl": f"bind 127.0.0.1:{port} ssl"}
    text = configured((DEPLOY / "proxy" / "haproxy.cfg").read_text(), site | addresses)
    (folder / "haproxy.cfg").write_text(text)
    return [program("haproxy"), "-db", "-f", f"{folder}/haproxy.cfg"]


@contextmanager
def running_proxy(line: list[str], folder: Path, port: int) -> Iterator[None]:
    """The proxy, once it accepts connections; its own check of the file must be without complaint."""
    check = [*line, "-t"] if "nginx" in line[0] else [line[0], "-c", *line[2:]]
    checked = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr.lower(), checked.stderr
    with (folder / "proxy.log").open("w") as log:
        proxy = subprocess.Popen(line, stdout=log, stderr=log)
    try:
        for _ in range(500):
            assert proxy.poll() is None, (folder / "proxy.log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield
    finally:
        proxy.terminate()
        proxy.wait(timeout=60)


@pytest.fixture(scope="module", params=[nginx, haproxy], ids=["nginx", "haproxy"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, certificate: Path
) -> Iterator[Site]:
    """For all tests of the file: the last one kills a node."""
    base = tmp_path_factory.mktemp(request.param.__name__)
    with ExitStack() as stack:
        nodes = []
        for name, flags in (("a", STRICT), ("b", ANY_HOST), ("broker", BROKER)):
            folder = base / name
            folder.mkdir()
            nodes.append(stack.enter_context(running_node(folder, *flags)))
        yield from _with_proxy(request.param, base, certificate, nodes, stack)


def _with_proxy(
    make: Callable[..., list[str]],
    folder: Path,
    certificate: Path,
    nodes: list[NodeProcess],
    stack: ExitStack,
) -> Iterator[Site]:
    ports = [node.url.rpartition(":")[2] for node in nodes]
    port = free_port()
    addresses = {
        "127.0.0.1:9944": f"127.0.0.1:{ports[0]}",
        "10.0.0.12:9944": f"127.0.0.1:{ports[1]}",
        "10.0.0.13:9944": f"127.0.0.1:{ports[2]}",
        "localhost:9944": f"localhost:{ports[0]}",
        "10.0.0.0/24": "127.0.0.8/29",
        "/etc/cfnode/tls": str(certificate),
    }
    line = make(folder, port, addresses)
    stack.enter_context(running_proxy(line, folder, port))
    tls = ssl.create_default_context(cafile=str(certificate / "fullchain.pem"))
    yield Site(f"https://127.0.0.1:{port}", tls, nodes[:2], nodes[2])


def test_reads_are_answered_over_tls_by_both_nodes(site: Site) -> None:
    genesis = site.reads[0].call("chain_getBlockHash", 0)
    identities = {node.call("system_localPeerId") for node in site.reads}
    seen = set()
    with site.client() as client:
        assert call(client, "chain_getBlockHash", 0)["result"] == genesis
    for _ in range(20):
        with site.client() as client:
            seen.add(call(client, "system_localPeerId")["result"])
    assert seen == identities


async def test_a_subscription_passes_over_a_websocket(site: Site) -> None:
    url = site.url.replace("https", "wss")
    async with open_websocket_url(url, ssl_context=site.tls) as wire:
        request = {"jsonrpc": "2.0", "id": 1, "method": "chain_subscribeNewHeads", "params": []}
        await wire.send_message(json.dumps(request))
        assert "result" in json.loads(await wire.get_message())
        for node in site.reads:  # the proxy chose one of them
            node.call("dev_newBlock")
        seen = [json.loads(await wire.get_message()) for _ in range(2)]
    assert [message["params"]["result"]["number"] for message in seen] == ["0x0", "0x1"]


def test_broker_calls_are_for_the_addresses_that_proxy_and_node_list(site: Site) -> None:
    with site.client(SHOP) as client:
        assert call(client, "broker_get_affiliates", path="/broker")["result"] == []
        refused = call(client, "broker_get_affiliates")
        assert refused["error"]["code"] == -32601, "the nodes that are read have no broker"
    with site.client(OTHER_SHOP) as client:
        for spoofed in ({}, {"X_Forwarded_For": SHOP}):
            answer = call(client, "broker_get_affiliates", path="/broker", **spoofed)
            assert "--rpc-broker-clients does not list this address" in json.dumps(answer["error"])
    with site.client() as client:
        assert client.post("/broker", json={}).status_code == 403


def test_no_read_is_lost_when_a_node_is_killed_under_load(site: Site) -> None:
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
