"""Access to the port: hosts, origins, preflights, unsafe and broker methods, rates, connections."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import ErrorCode
from cfnode.node.config import RpcConfig
from cfnode.rpc.answering.client import RpcClient
from cfnode.rpc.answering.dispatch import Dispatcher
from cfnode.rpc.methods import BROKER_METHODS, LP
from cfnode.rpc.port.access import AccessPolicy, allows_unsafe
from cfnode.rpc.port.rate_limit import RateLimiter, RateLimits
from cfnode.rpc.server import TOO_MANY_CONNECTIONS
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.rows import Access, Method, Table
from cfnode.serving import server, shares
from cfnode.web.networks import BadFlagError, is_within, networks
from cfnode.web.origins import origin_policy
from tests.rpc.clients import Answer, Http, StandIn, WebSocket, served
from tests.support.waiting import LIMIT_S

UNSAFE = Method("test_unsafe", lambda node: True, access=Access.UNSAFE)
SPEND = Method("test_spend", lambda node: True, access=Access.BROKER)
ROWS = (*METHODS, UNSAFE, SPEND)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "[::1]"])
async def test_a_foreign_host_is_refused(host: str) -> None:
    """Refuse a request for a foreign host: a page could have rebound its name to this machine."""
    async with served(ROWS) as port, Http(port) as http:
        answer = await http.post({}, host=host.format(port=port))
        assert (answer.status, answer.body) == (403, b"Provided Host header is not whitelisted.")


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "127.0.0.1:{port}", "[::1]:{port}"])
async def test_the_hosts_of_this_machine_are_served(host: str) -> None:
    """Serve requests for the hosts of this machine."""
    async with served(ROWS) as port, Http(port) as http:
        assert (await http.request("GET", "/health", host=host.format(port=port))).status == 200


async def test_with_cors_all_every_host_and_origin_is_served() -> None:
    """Serve every host and origin with --rpc-cors all."""
    async with served(ROWS, cors=("all",)) as port, Http(port) as http:
        answer = await http.post(
            {"jsonrpc": "2.0", "id": 1, "method": "system_health"},
            host="node.example",
            origin="https://evil.example",
        )
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == "*"
        async with WebSocket(port, origin="https://evil.example", host="x") as ws:
            assert "result" in await ws.call("system_health")


@pytest.mark.parametrize(
    ("cors", "origin", "is_served"),
    [
        (None, "http://localhost:3000", True),
        (None, "http://localhost", True),
        (None, "https://127.0.0.1:8443", True),
        (None, "https://polkadot.js.org", True),
        (None, "https://polkadot.js.org.evil.example", False),
        (None, "http://localhost.evil.example", False),
        (None, "http://localhost:80.evil.example", False),
        (None, "https://evil.example", False),
        (None, "null", False),
        (("https://swap.example",), "https://swap.example", True),
        (("https://swap.example",), "http://localhost:3000", False),
        (("null",), "null", True),
        ((), "http://localhost:3000", False),
    ],
)
async def test_origins(cors: tuple[str, ...] | None, origin: str, is_served: bool) -> None:
    """Serve the origins that the setting lists, and this machine's by default."""
    async with served(ROWS, cors=cors) as port:
        async with Http(port) as http:
            answer = await http.request("GET", "/health", origin=origin)
            assert answer.status == (200 if is_served else 403)
            assert answer.headers.get("access-control-allow-origin") == (origin if is_served else None)
        async with WebSocket(port, origin=origin) as ws:
            assert ws.status == (101 if is_served else 403)


async def test_a_preflight_is_answered_for_listed_origins() -> None:
    """Answer a preflight for listed origins only."""
    async with served(ROWS) as port, Http(port) as http:
        asked = {
            "access_control_request_method": "POST",
            "access_control_request_headers": "content-type",
        }
        answer = await http.request("OPTIONS", "/", origin="http://localhost:5173", **asked)
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == "http://localhost:5173"
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
        assert answer.headers["access-control-allow-headers"] == "content-type, x-chainflip-sdk-version"
        assert answer.headers["vary"].split(", ")[0] == "origin"
        refused = await http.request("OPTIONS", "/", origin="https://evil.example", **asked)
        assert refused.status == 403


@pytest.mark.parametrize("cors", [None, ("all",)])
async def test_options_are_answered_without_an_origin_too(cors: tuple[str, ...] | None) -> None:
    """Answer OPTIONS without an origin, too."""
    async with served(ROWS, cors=cors) as port, Http(port) as http:
        answer = await http.request("OPTIONS", "/", host=f"127.0.0.1:{port}")
        allowed = None if cors is None else "*"
        assert (answer.status, answer.body) == (200, b"")
        assert answer.headers.get("access-control-allow-origin") == allowed
        assert answer.headers["vary"].startswith("origin, access-control-request-method")


async def test_a_preflight_with_cors_all() -> None:
    """Answer a preflight of any origin with --rpc-cors all."""
    async with served(ROWS, cors=("all",)) as port, Http(port) as http:
        answer = await http.request(
            "OPTIONS", "/", origin="https://any.example", access_control_request_method="POST"
        )
        names = [name for name in answer.headers if name.startswith("access-control-allow")]
        assert (answer.status, {answer.headers[name] for name in names}) == (200, {"*"})


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("methods", ["auto", "safe", "unsafe"])
async def test_unsafe_methods_by_listener_and_policy(methods: Any, external: bool) -> None:
    """Allow unsafe methods by policy and listener: by default only to this machine."""
    expected = methods == "unsafe" or (methods == "auto" and not external)
    config = RpcConfig(methods=methods, external=external)
    assert allows_unsafe(config) is expected
    answer = await ask(config, "test_unsafe")
    if expected:
        assert answer["result"] is True
    else:
        assert answer["error"] == {
            "code": -32601,
            "message": "RPC call is unsafe to be called externally",
        }


HOST = {b"host": b"localhost:1"}


async def ask(config: RpcConfig, method: str, address: str = "203.0.113.9") -> Any:
    """Return the answer to a program at that address."""
    verdict = AccessPolicy(config, 1).judge(address, HOST)
    call = jsonrpc.parse(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}), 100)
    client = RpcClient(address=verdict.address, closed=verdict.closed)
    reply = await Dispatcher(StandIn(), Table(ROWS), config).answer(call, client)
    return json.loads(b"".join(reply.parts))


@pytest.mark.parametrize(
    ("allowed", "address", "is_served"),
    [
        ((), "203.0.113.9", True),
        (("127.0.0.1",), "127.0.0.1", True),
        (("127.0.0.1",), "203.0.113.9", False),
        (("10.0.0.0/8", "::1"), "10.9.8.7", True),
        (("10.0.0.0/8", "::1"), "::1", True),
        (("10.0.0.0/8",), "::ffff:10.1.1.1", True),
        (("10.0.0.0/8",), "fe80::1%eth0", False),
    ],
)
async def test_broker_methods_by_the_peers_address(
    allowed: tuple[str, ...], address: str, is_served: bool
) -> None:
    """Allow broker methods by the client's address or network."""
    config = RpcConfig(broker_clients=allowed, methods="unsafe")
    answer = await ask(config, "test_spend", address)
    assert ("result" in answer) is is_served
    if not is_served:
        assert answer["error"]["code"] == ErrorCode.METHOD_NOT_FOUND


LOCAL = "http://localhost:5173"
SHOP = "https://shop.example"


@pytest.mark.parametrize(
    ("cors", "origin", "answers"),
    [
        (None, None, True),
        (None, LOCAL, False),
        (None, "https://polkadot.js.org", False),
        (("all",), None, True),
        (("all",), "https://evil.example", False),
        (("all",), LOCAL, False),
        (("all",), "null", False),
        (("*",), "https://evil.example", False),
        ((SHOP,), SHOP, True),
        ((SHOP,), None, True),
        (("all", SHOP), SHOP, True),
        (("all", SHOP), "https://evil.example", False),
        (("http://localhost:*",), LOCAL, True),
        (("https://*.shop.example",), "https://pay.shop.example", True),
        (("https://SHOP.example:8443/",), "https://shop.example:8443", True),
        (("http://[::1]:*",), "http://[::1]:5173", True),
        (("null",), "null", False),
        (("file://",), "file://", False),
        (("https://*",), "https://evil.example", False),
        (("*://shop.example",), SHOP, False),
        (("https://shop.*",), "https://shop.evil", False),
    ],
)
async def test_a_web_page_may_call_the_broker_only_if_its_origin_is_listed_by_name(
    cors: tuple[str, ...] | None, origin: str | None, answers: bool
) -> None:
    """Let a web page call the broker only if its origin is listed by name, over HTTP and WebSocket."""
    refused = {
        "code": ErrorCode.METHOD_NOT_FOUND,
        "message": "RPC call is unsafe to be called externally",
        "data": "broker and lp methods answer web pages only whose origin --rpc-cors lists by name",
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "test_spend"}
    headers = {} if origin is None else {"origin": origin}
    async with served(ROWS, cors=cors) as port:
        async with Http(port) as http:
            by_http = (await http.post(call, **headers)).json()
        async with WebSocket(port, **headers) as ws:
            by_websocket = await ws.call("test_spend")
            assert "result" in await ws.call("system_health"), "only the broker is closed"
    assert by_http == by_websocket
    assert by_http.get("result") is (True if answers else None)
    assert by_http.get("error") == (None if answers else refused)


def test_every_method_of_a_signing_account_has_its_access() -> None:
    """Mark every method that signs with its account's access."""
    assert {row.access for row in BROKER_METHODS} == {Access.BROKER}
    assert {row.access for row in LP} == {Access.LP}


def test_a_flag_that_is_no_network_is_named() -> None:
    """Name a flag's value that is not a network."""
    with pytest.raises(BadFlagError, match="--rpc-broker-clients: 'everyone' does not appear to be"):
        AccessPolicy(RpcConfig(broker_clients=("everyone",)), 1)


@pytest.mark.parametrize(
    ("trusted", "header", "is_served"),
    [
        (False, "10.0.0.1", False),
        (True, "10.0.0.1", True),
        (True, "10.0.0.1, 203.0.113.9", False),
        (True, "203.0.113.9, 10.0.0.1", True),
        (True, "nonsense", False),
    ],
)
async def test_a_forwarded_address_counts_only_from_a_trusted_proxy(
    trusted: bool, header: str, is_served: bool
) -> None:
    """Count a forwarded address only from a trusted proxy, and only its last hop."""
    settings = {"broker_clients": ("10.0.0.0/8",), "trust_proxy_headers": trusted}
    async with served(ROWS, **settings) as port, Http(port) as http:
        call = {"jsonrpc": "2.0", "id": 1, "method": "test_spend"}
        answer = await http.post(call, x_forwarded_for=header)
        assert ("result" in answer.json()) is is_served


def test_addresses_that_are_none_are_within_nothing() -> None:
    """Place an address that cannot be parsed in no network, and accept the origin null where it is listed."""
    assert not is_within("", networks("--flag", ["0.0.0.0/0"]))
    assert origin_policy(("null",), (), 1).refusal(b"localhost:1", b"null") is None


async def test_a_rate_limit_delays_and_refuses_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """Delay calls over the rate limit and refuse none."""
    throttle, started = RateLimiter(20), trio.current_time()

    async def elapsed(calls: int) -> float:
        for _ in range(calls):
            await throttle.wait()
        return trio.current_time() - started

    assert await elapsed(20) == 0, "the calls of a minute may come at once"
    assert await elapsed(2) == pytest.approx(6), "then one in three seconds"
    await trio.sleep(30)
    assert await elapsed(10) == pytest.approx(36), "half a minute without calls allows ten at once"
    assert await elapsed(1) == pytest.approx(39)


async def test_whitelisted_addresses_have_no_rate_limit() -> None:
    """Set no limit on whitelisted addresses, and ignore an address that a client only claims."""
    config = RpcConfig(rate_limit=1, rate_limit_whitelist=("127.0.0.0/8",))
    policy, limits = AccessPolicy(config, 1), RateLimits(1)
    own = limits.of_connection()
    assert own is not None
    assert limits.throttle(policy.judge("127.0.0.9", HOST), own) is None
    assert limits.throttle(policy.judge("203.0.113.9", HOST), own) == own.wait
    spoofing = HOST | {b"x-forwarded-for": b"127.0.0.1"}
    assert limits.throttle(policy.judge("203.0.113.9", spoofing), own) == own.wait


async def test_a_connection_over_the_limit_gets_429_and_the_others_continue() -> None:
    """Answer 429 to a connection over the limit, and serve the others."""
    async with served(ROWS, max_connections=2) as port, Http(port) as one, Http(port) as two:
        assert (await one.request("GET", "/health")).status == 200
        assert (await two.request("GET", "/health")).status == 200
        async with Http(port) as three:
            refused = await three.post({"jsonrpc": "2.0", "id": 1, "method": "system_health"})
            assert refused.status == 429
            assert refused.headers["connection"] == "close"
        async with WebSocket(port) as four:
            assert four.status == 429
        assert (await one.request("GET", "/health")).status == 200


async def test_each_of_hundreds_of_connections_over_the_limit_gets_429(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Answer each of hundreds of connections over the limit with 429, and keep the first one."""
    monkeypatch.setattr(server, "SPARE_CONNECTIONS", 3)
    monkeypatch.setattr(shares, "MIN_IDLE_S", float("inf"))  # the first connection keeps its place
    message = {"jsonrpc": "2.0", "id": 1, "method": "system_health"}
    answers: list[Answer] = []

    async def ask(port: int) -> None:
        async with Http(port) as http:
            answers.append(await http.post(message))

    async with served(ROWS, max_connections=1) as port, Http(port) as client:
        assert (await client.request("GET", "/health")).status == 200
        async with trio.open_nursery() as nursery:
            for _ in range(300):
                nursery.start_soon(ask, port)
        assert (await client.post(message)).status == 200
    assert {answer.status for answer in answers} == {429}
    assert {answer.body for answer in answers} == {TOO_MANY_CONNECTIONS}


async def test_room_comes_back_when_a_connection_ends() -> None:
    """Serve a new connection when one has ended."""
    async with served(ROWS, max_connections=1) as port:
        async with Http(port) as http:
            assert (await http.request("GET", "/health")).status == 200
        status = 429
        with trio.fail_after(LIMIT_S):
            while status == 429:
                async with Http(port) as http:
                    status = (await http.request("GET", "/health")).status
        assert status == 200
