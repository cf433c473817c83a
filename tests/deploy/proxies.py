"""nginx and HAProxy with the files of docs/deploy, as processes of a test: addresses, certificate, calls."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.deploy.programs import DEPLOY, program
from tests.support.ports import free_port, listens
from tests.support.waiting import wait_until

SHOP = "127.0.0.9"
"""The source address that proxy and node let through to the broker."""
NAME = "rpc.example.org"
"""The name in the files, by which clients reach the proxy."""
BEHIND = (f"--rpc-allowed-hosts={NAME}", "--rpc-trusted-proxies=127.0.0.1", "--rpc-max-connections=500")
MakeProxy = Callable[[Path, int, dict[str, str]], list[str]]


def write_certificate(folder: Path) -> None:
    """Write fullchain.pem, privkey.pem and both in cfnode.pem: for the name in the files, and 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cfnode test")])
    names = [x509.DNSName(NAME), x509.IPAddress(ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, SHA256())
    )
    chain = made.public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "fullchain.pem").write_bytes(chain)
    (folder / "privkey.pem").write_bytes(secret)
    (folder / "cfnode.pem").write_bytes(chain + secret)


def call(client: httpx.Client, method: str, *params: Any, path: str = "/", **headers: str) -> Any:
    """Return the answer to a call, which must have status 200."""
    answer = post(client, method, *params, path=path, **headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client: httpx.Client, method: str, *params: Any, path: str = "/", **headers: str) -> httpx.Response:
    """Return the response to a call."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return client.post(path, json=body, headers=named, extensions={"sni_hostname": NAME})


def configured(text: str, site: dict[str, str]) -> str:
    """Return a configuration with the addresses of the test; each of them must be in it."""
    for original, ours in site.items():
        assert original in text, original
        text = text.replace(original, ours)
    return text


def nginx(folder: Path, port: int, addresses: dict[str, str]) -> list[str]:
    """Return the command line of nginx with the page's configuration for this port."""
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
    """Return the command line of HAProxy with the page's configuration for this port."""
    site = {"bind :443 ssl": f"bind 127.0.0.1:{port} ssl"}
    text = configured((DEPLOY / "proxy" / "haproxy.cfg").read_text(), site | addresses)
    (folder / "haproxy.cfg").write_text(text)
    return [program("haproxy"), "-W", "-db", "-f", f"{folder}/haproxy.cfg"]


def _is_ready(proxy: subprocess.Popen[bytes], port: int, log: Path) -> bool:
    """Return whether a running proxy accepts connections."""
    assert proxy.poll() is None, log.read_text()
    return listens(port)


@contextmanager
def running_proxy(line: list[str], folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the proxy, once it accepts connections; its own check of the file must be without complaint."""
    check = [*line, "-t"] if "nginx" in line[0] else [*line, "-c"]
    checked = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr.lower(), checked.stderr
    with (folder / "proxy.log").open("w") as log:
        proxy = subprocess.Popen(line, stdout=log, stderr=log)
    try:
        written = folder / "proxy.log"
        wait_until(partial(_is_ready, proxy, port, written), written.read_text)
        yield proxy
    finally:
        proxy.terminate()
        proxy.wait(timeout=60)


@dataclass
class Proxy:
    """A proxy that runs: the address of its clients, its command line and process."""

    url: str
    tls: ssl.SSLContext
    line: list[str]
    process: subprocess.Popen[bytes]

    def client(self, source: str = "127.0.0.1") -> httpx.Client:
        """Return a client with an address of its own."""
        transport = httpx.HTTPTransport(verify=self.tls, local_address=source)
        return httpx.Client(transport=transport, base_url=self.url, timeout=30, headers={"host": NAME})


@contextmanager
def proxy_before(make: MakeProxy, folder: Path, certificate: Path, ports: Sequence[int]) -> Iterator[Proxy]:
    """Yield a proxy before three nodes of this machine: two that are read, and one that has a broker."""
    port = free_port()
    documented = ("127.0.0.1:9944", "10.0.0.12:9944", "10.0.0.13:9944")
    addresses = {
        **{address: f"127.0.0.1:{node}" for address, node in zip(documented, ports, strict=True)},
        "10.0.0.0/24": "127.0.0.8/29",
        "/etc/cfnode/tls": str(certificate),
    }
    line = make(folder, port, addresses)
    tls = ssl.create_default_context(cafile=str(certificate / "fullchain.pem"))
    with running_proxy(line, folder, port) as process:
        yield Proxy(f"https://127.0.0.1:{port}", tls, line, process)
