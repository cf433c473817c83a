"""The port of the swap service on live networks: access, bad input, faults of node and database, its end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from cfnode.ledger.database import Database
from cfnode.swap_service.live_network import link
from tests.support.ports import listens
from tests.support.waiting import wait_until
from tests.swap_service.live import Service, running_service

GONE = "http://127.0.0.1:9"
PATH = "/api/openSwapDepositChannel"
TOKENS = {"reader": "read-" + "r" * 32, "shop": "shop-" + "s" * 32}


@pytest.fixture(scope="module")
def nowhere() -> Iterator[Database]:
    """Yield the database of a server that does not run."""
    database = Database("postgresql://books@127.0.0.1:9/books")
    yield database
    database.close()


@pytest.fixture(scope="module")
def service(nowhere: Database) -> Iterator[Service]:
    """Yield a service whose node and database do not run, and which gives up on the node after 0.2 s."""
    with pytest.MonkeyPatch.context() as patch, running_service(nowhere, GONE) as started:
        patch.setattr(link, "WAIT_FOR_CONNECTION_S", 0.2)
        yield started


def test_only_local_hosts_and_pages_are_answered(service: Service) -> None:
    """Refuse a foreign host (rebinding of DNS) and a foreign page; answer a page of this machine."""
    assert service.get("/healthcheck").text == "OK"
    foreign = httpx.get(service.url + "/healthcheck", headers={"host": "evil.example"})
    assert (foreign.status_code, foreign.text) == (403, "Provided Host header is not whitelisted.")
    page = httpx.get(service.url + "/healthcheck", headers={"origin": "https://evil.example"})
    assert page.status_code == 403
    local = httpx.options(service.url + PATH, headers={"origin": "http://localhost:3000"})
    assert local.headers["access-control-allow-origin"] == "http://localhost:3000"


def test_a_body_that_is_no_request_is_refused(service: Service) -> None:
    """Refuse a body of a wrong type, broken, too deep or too large; refuse a quote for huge digits."""
    for body, kind, code in (
        (b"{}", "text/plain", 415),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b" " * 200_000, "application/json", 413),
    ):
        answer = httpx.post(service.url + PATH, content=body, headers={"content-type": kind})
        assert answer.status_code == code, body[:10]
    assert service.get("/v2/elsewhere").status_code == 404
    assert service.get("/v2/quote", amount="9" * 5_000).status_code == 400


def test_of_json_rpc_only_some_reads_are_answered(service: Service) -> None:
    """Refuse methods that sign or write, parameters that a read lacks, and batches of over 20 calls."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "author_rotateKeys"}
    assert service.post("/", call).json()["error"]["code"] == -32601
    limits = call | {"method": "cf_environment"}
    assert service.post("/", limits | {"params": ["0x00"]}).json()["error"]["code"] == -32602
    (answer,) = service.post("/", [limits]).json()
    assert "no connection to http://127.0.0.1:9" in answer["error"]["message"]
    assert service.post("/", [call] * 21).json()["error"]["code"] == -32010
    assert service.post("/", {"method": 1}).json()["error"]["code"] == -32600


def test_faults_of_node_and_database_are_named(service: Service) -> None:
    """Name the node or the database that is away in the answer of status 503, and both under /health."""
    quote = service.get("/v2/quote", amount=1)
    assert (quote.status_code, "no connection to http://127.0.0.1:9" in quote.json()["message"]) == (
        503,
        True,
    )
    status = service.get("/v2/swaps/1")
    assert status.status_code == 503
    assert "postgresql" in status.json()["message"]
    health = service.get("/health")
    assert health.status_code == 503
    assert len(health.json()["faults"]) == 2


def test_tokens_open_what_their_group_may_call(nowhere: Database, tmp_path: Path) -> None:
    """Refuse without a token all but the health check; readers open no channels, a broker does."""
    tokens = tmp_path / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(f"reader read {TOKENS['reader']}\nshop broker {TOKENS['shop']}\n")
    with running_service(nowhere, GONE, token_file=tokens) as service:
        assert service.get("/healthcheck").status_code == 200
        assert service.get("/v2/quote", amount="x" * 5_000).status_code == 401
        headers = {name: {"authorization": f"Bearer {token}"} for name, token in TOKENS.items()}
        assert service.post(PATH, [], **headers["reader"]).status_code == 401
        assert service.post(PATH, [], **headers["shop"]).status_code == 400
        assert service.post(PATH, [], authorization="Bearer unknown").status_code == 401


def test_a_running_request_is_answered_before_the_end(nowhere: Database) -> None:
    """Answer a request whose body is still on its way when the service ends, after the port has closed."""
    lines = ["POST {} HTTP/1.1", "host: localhost:{}", "content-type: application/json", "content-length: 4"]
    head = "\r\n".join([*lines, "expect: 100-continue"]) + "\r\n\r\n"
    with ExitStack() as stack:
        service = stack.enter_context(running_service(nowhere, GONE))
        port = urlsplit(service.url).port or 0
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(20)
            connection.sendall(head.format(PATH, port).encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 100"), "the request is running"
            connection.sendall(b"[]")
            ending = threading.Thread(target=stack.close)
            ending.start()
            wait_until(lambda: not listens(port))
            connection.sendall(b"  ")
            assert connection.recv(4096).startswith(b"HTTP/1.1 400")
        ending.join()
