"""The swap service's unit, compose service and proxy serve partners, with what they allow."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from cfnode.ledger.database import Database, sqlite_url
from tests.conftest import ROOT
from tests.deploy.programs import DEPLOY, LIMIT_S, program
from tests.deploy.proxies import configured, running_proxy, write_certificate
from tests.process import environment
from tests.support.deploy.containers import COMPOSE
from tests.support.deploy.units import (
    INSTALLED,
    ONLY_AS_ROOT,
    SERVICE,
    STATE,
    allowed_calls,
    traced_calls,
    values,
    variables,
)
from tests.support.ports import free_port
from tests.swap_service.live import HTTP
from tests.swap_service.load import ServiceProcess, serving
from tests.swap_service.partners import CHANNEL, Api, Chain, broker_chain, followed

pytestmark = pytest.mark.world

COMPOSED: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]["service"]
NAME = "api.example.org"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    """Yield a chain with a broker."""
    with broker_chain(tmp_path_factory.mktemp("chain")) as started:
        yield started


def given(chain: Chain, folder: Path) -> dict[str, str]:
    """Return the environment of the unit, for a test's folder and node, and with books."""
    settings = variables(values(SERVICE, "Environment"))
    settings |= variables((SERVICE.parent / "service.env").read_text().splitlines())
    moved = {name: value.replace(STATE, str(folder / "state")) for name, value in settings.items()}
    followed(Database(moved["CFNODE_SERVICE_RUN_DATABASE"]), chain.url)
    more = {"CFNODE_URL": chain.url, "CFNODE_SERVICE_RUN_LISTEN": "127.0.0.1:0"}
    return environment(folder) | moved | more | {"CFNODE_SERVICE_RUN_BROKER": chain.url}


def start_line() -> list[str]:
    """Return the command line of the service's unit, for this environment's program."""
    (line,) = values(SERVICE, "ExecStart")
    return line.replace(INSTALLED, f"{sys.executable} -m cfnode").split()


@contextmanager
def served(line: list[str], settings: dict[str, str], log: Path) -> Iterator[tuple[str, int]]:
    """Yield the address that a command line serves, and its process; it ends by SIGTERM."""
    with log.open("w") as stream:
        process = subprocess.Popen(line, env=settings, stderr=stream, cwd=ROOT)
    try:
        deadline = time.monotonic() + LIMIT_S
        while not (match := re.search(r"Swap service: (http://\S+)", log.read_text())):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield match[1], process.pid
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def opens_a_channel(url: str, database: str) -> None:
    """Open a channel as a partner."""
    answer = Api.of(url, Database(database)).open(CHANNEL)
    assert answer.status_code == 201, answer.text


def test_the_command_line_of_the_unit_serves_partners(chain: Chain, tmp_path: Path) -> None:
    """Serve partners with the unit's command line and environment."""
    settings = given(chain, tmp_path)
    database = settings["CFNODE_SERVICE_RUN_DATABASE"]
    assert database == f"sqlite:///{tmp_path}/state/ledger.sqlite"
    with served(start_line(), settings, tmp_path / "log") as (url, _):
        opens_a_channel(url, database)


def test_each_line_of_the_settings_is_a_flag(chain: Chain, tmp_path: Path) -> None:
    """Those that are commented out, too."""
    lines = (SERVICE.parent / "service.env").read_text().splitlines()
    written = [line.lstrip("#") for line in lines if re.match(r"#?CFNODE_\w+=", line)]
    offered = [line.replace(STATE, str(tmp_path / "state")) for line in written]
    assert len(offered) == 9
    fixed = (
        "CFNODE_SERVICE_RUN_DATABASE",
        "CFNODE_URL",
        "CFNODE_SERVICE_RUN_BROKER=",
        "CFNODE_SERVICE_RUN_LISTEN",
    )
    settings = given(chain, tmp_path) | variables([name for name in offered if not name.startswith(fixed)])
    with served(start_line(), settings, tmp_path / "log") as (url, _):
        answer = HTTP.get(f"{url}/healthcheck", headers={"host": NAME})
        assert (answer.status_code, answer.text) == (200, "OK")
        assert HTTP.get(f"{url}/web/login", headers={"host": NAME}).status_code == 200


def test_the_service_needs_nothing_that_the_unit_forbids(chain: Chain, tmp_path: Path) -> None:
    """Make no system call that the unit forbids."""
    allowed, strace, trace = allowed_calls(SERVICE), program("strace"), tmp_path / "trace"
    settings = given(chain, tmp_path)
    line = [strace, "-f", "-c", "-o", str(trace), "-U", "name", *start_line()]
    with served(line, settings, tmp_path / "log") as (url, tracer):
        opens_a_channel(url, settings["CFNODE_SERVICE_RUN_DATABASE"])
        (child,) = Path(f"/proc/{tracer}/task/{tracer}/children").read_text().split()
        subprocess.run(["kill", "-TERM", child], check=True)
        while Path(f"/proc/{tracer}/task/{tracer}/children").exists() and trace.stat().st_size == 0:
            time.sleep(0.05)
    used = traced_calls(trace)
    assert {"openat", "connect", "flock"} <= used
    assert used - allowed <= ONLY_AS_ROOT


def test_the_compose_service_is_closed_and_its_command_line_runs(chain: Chain, tmp_path: Path) -> None:
    """Close the compose service, and serve partners with its command line."""
    assert COMPOSED["profiles"] == ["service"]
    assert COMPOSED["cap_drop"] == ["ALL"]
    assert COMPOSED["read_only"] is True
    assert COMPOSED["network_mode"] == "service:node-with-broker"
    assert not {"ports", "user", "privileged"} & set(COMPOSED)
    assert COMPOSED["volumes"] == [f"./chainflip/ledger:{STATE}"]
    settings = {
        name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in COMPOSED["environment"].items()
    }
    settings = given(chain, tmp_path) | {
        name: value.replace(STATE, str(tmp_path / "state")) for name, value in settings.items()
    }
    text = COMPOSED["command"].replace("http://127.0.0.1:9944", chain.url).replace(":8080", ":0")
    line = [sys.executable, "-m", "cfnode", *shlex.split(text)]
    with served(line, settings, tmp_path / "log") as (url, _):
        opens_a_channel(url, settings["CFNODE_SERVICE_RUN_DATABASE"])


def proxied(folder: Path, services: list[ServiceProcess], port: int) -> list[str]:
    """Return nginx with the file of docs/deploy, before two services."""
    write_certificate(folder)
    ports = [service.url.rpartition(":")[2] for service in services]
    site = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:8080": f"127.0.0.1:{ports[0]}",
        "server 10.0.0.22:8080": f"server 127.0.0.1:{ports[1]}",
        "/etc/cfnode/tls": str(folder),
    }
    (folder / "site.conf").write_text(configured((DEPLOY / "proxy" / "partners.conf").read_text(), site))
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in names)
    head = f"daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
    http = f"http {{\n    access_log off;\n{temporary}    include {folder}/site.conf;\n}}\n"
    (folder / "nginx.conf").write_text(head + http)
    return [program("nginx"), "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]


def test_behind_the_proxy_one_service_may_die(chain: Chain, tmp_path: Path) -> None:
    """Serve every request behind the proxy when one of two services dies, repeated ones with equal bytes."""
    books = sqlite_url(tmp_path / "books.sqlite")
    followed(database := Database(books), chain.url)
    port = free_port()
    with (
        serving(tmp_path, chain, books, "--allowed-hosts", NAME) as first,
        serving(tmp_path, chain, books, "--allowed-hosts", NAME) as second,
        running_proxy(proxied(tmp_path, [first, second], port), tmp_path, port),
        httpx.Client(verify=False, base_url=f"https://127.0.0.1:{port}", headers={"host": NAME}) as client,
    ):
        api = Api.of("", database)
        for number in range(8):
            if number == 4:
                first.kill()
            head = api.headers | {"idempotency-key": f"proxied-{number}"}
            answers = [client.post("/v1/channels", json=CHANNEL, headers=head, timeout=60) for _ in range(2)]
            assert [answer.status_code for answer in answers] == [201, 201], answers[0].text
            assert answers[0].content == answers[1].content
        assert client.get("/health").status_code == 404, "only /v1/ is open"
    database.close()
