"""Headers of proxies: which client they name, within bounds, and what the rate limit makes of it."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.ip_addresses import peer_address
from cfnode.node.config import RpcConfig
from cfnode.rpc.port import rate_limit
from cfnode.rpc.port.access import AccessDecision, AccessPolicy
from cfnode.rpc.port.forwarded import MAX_FORWARDED_HEADER_BYTES, MAX_HOPS, UNKNOWN_CLIENT, forwarded_client
from cfnode.rpc.port.rate_limit import RateLimits
from cfnode.rpc.substrate.system import METHODS
from cfnode.web.networks import is_within, networks
from tests.rpc.clients import Http, served

PROXIES = networks("", ["10.0.0.0/8", "2001:db8:1::/48"])


def client(**headers: str) -> str | None:
    """Return the client that these headers name."""
    named = {name.replace("_", "-").encode(): value.encode("latin-1") for name, value in headers.items()}
    return forwarded_client(named, lambda hop: is_within(hop, PROXIES))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("for=192.0.2.60", "192.0.2.60"),
        ("For=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        ('for="192.0.2.60:4711"', "192.0.2.60"),
        ('for="[2001:db8::1]:4711";host="a,b;c"', "2001:db8::1"),
        ('for="[2001:db8::1]"', "2001:db8::1"),
        ("for=198.51.100.1, for=192.0.2.60", "192.0.2.60"),
        ("for=192.0.2.60, for=10.1.2.3", "192.0.2.60"),
        ("by=10.1.2.3;for=192.0.2.60 , for=10.1.2.3 ;proto=https", "192.0.2.60"),
        ("for=10.0.0.1, for=10.0.0.2", "10.0.0.1"),
        ("for=_hidden", UNKNOWN_CLIENT),
        ("for=unknown, for=10.0.0.2", UNKNOWN_CLIENT),
        ("for=192.0.2.60, proto=https", UNKNOWN_CLIENT),
        ("proto=https", UNKNOWN_CLIENT),
        ("for=192.0.2.60;", "192.0.2.60"),
        ('for="192.0.2.60', UNKNOWN_CLIENT),
        ("for=192.0.2.60 for=1.2.3.4", UNKNOWN_CLIENT),
        ("", UNKNOWN_CLIENT),
        (", ".join(["for=192.0.2.60"] * (MAX_HOPS + 1)), UNKNOWN_CLIENT),
        ("for=192.0.2.60;a=" + "b" * MAX_FORWARDED_HEADER_BYTES, UNKNOWN_CLIENT),
    ],
)
def test_forwarded_names_the_client(value: str, named: str) -> None:
    """Read the client from Forwarded, behind known proxies, within bounds of size and hops."""
    assert client(forwarded=value) == named


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("192.0.2.60", "192.0.2.60"),
        ("::ffff:192.0.2.60", "192.0.2.60"),
        ("192.0.2.60:80", "192.0.2.60"),
        ("[2001:db8::1]:80", "2001:db8::1"),
        ("198.51.100.1,192.0.2.60", "192.0.2.60"),
        ("198.51.100.1, 192.0.2.60, 2001:db8:1::7, 10.9.9.9", "192.0.2.60"),
        ("192.0.2.60,", UNKNOWN_CLIENT),
        ("192.0.2.60, nonsense", UNKNOWN_CLIENT),
        (",".join(["192.0.2.60"] * MAX_HOPS), "192.0.2.60"),
        (",".join(["192.0.2.60"] * (MAX_HOPS + 1)), UNKNOWN_CLIENT),
    ],
)
def test_x_forwarded_for_names_the_client(value: str, named: str) -> None:
    """Read the client from X-Forwarded-For, behind known proxies, within bounds of hops."""
    assert client(x_forwarded_for=value) == named


def test_headers_that_disagree_name_no_client() -> None:
    """Name no client where headers disagree or one of them is malformed."""
    assert client() is None
    assert client(x_real_ip="192.0.2.60") == "192.0.2.60"
    assert client(x_real_ip="192.0.2.60", x_forwarded_for="1.1.1.1, 192.0.2.60") == "192.0.2.60"
    assert client(x_real_ip="10.0.0.9", x_forwarded_for="192.0.2.60, 10.0.0.9") == "192.0.2.60"
    assert client(forwarded="for=1.1.1.1", x_forwarded_for="192.0.2.60") == UNKNOWN_CLIENT
    assert client(forwarded="junk", x_forwarded_for="192.0.2.60") == UNKNOWN_CLIENT


@given(
    st.dictionaries(st.sampled_from(["forwarded", "x-forwarded-for", "x-real-ip"]), st.binary(max_size=200))
)
def test_any_header_names_an_address_or_none(headers: dict[str, bytes]) -> None:
    """Answer any headers with an address, with unknown, or with None where there are none."""
    client = forwarded_client({name.encode(): value for name, value in headers.items()}, lambda hop: False)
    assert (client is None) is (not headers)
    assert client in (None, UNKNOWN_CLIENT) or peer_address(client) is not None


async def seconds_for(port: int, calls: int, **headers: str) -> float:
    """Return the seconds that these calls take on a connection of their own."""
    started = trio.current_time()
    async with Http(port) as http:
        for _ in range(calls):
            answer = await http.post({"jsonrpc": "2.0", "id": 1, "method": "system_name"}, **headers)
            assert "result" in answer.json()
    return trio.current_time() - started


@pytest.fixture
def jumping_clock() -> trio.testing.MockClock:
    """Let time pass when no task has had anything to do for a moment."""
    return trio.testing.MockClock(autojump_threshold=0.03)


async def test_a_whitelisted_proxy_does_not_make_its_clients_unlimited(
    jumping_clock: trio.testing.MockClock,
) -> None:
    """Limit each client behind a whitelisted proxy by itself."""
    settings = {
        "rate_limit": 6,
        "trust_proxy_headers": True,
        "rate_limit_whitelist": ("127.0.0.1", "192.0.2.1"),
    }
    async with served(METHODS, **settings) as port:
        assert await seconds_for(port, 6, x_forwarded_for="198.51.100.1") < 5
        assert await seconds_for(port, 1, x_forwarded_for="198.51.100.1") > 5, "on another connection, too"
        assert await seconds_for(port, 6, x_forwarded_for="198.51.100.2") < 5, "another client"
        assert await seconds_for(port, 20, x_forwarded_for="192.0.2.1") < 5, "a client on the whitelist"
        assert await seconds_for(port, 20) < 5, "the proxy itself, without a client"
        assert await seconds_for(port, 7, forwarded="for=unknown") > 5


async def test_the_memory_of_clients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember a bounded number of clients, and forget those that were not used lately."""
    monkeypatch.setattr(rate_limit, "MAX_CLIENTS", 3)
    limits = RateLimits(10)
    own = limits.of_connection()

    def limit(address: str) -> object:
        return limits.throttle(AccessDecision(address, is_proxied=True), own)

    first = limit("192.0.2.1")
    for number in range(2, 4):
        limit(f"192.0.2.{number}")
    assert limit("192.0.2.1") == first
    for number in range(4, 6):
        limit(f"192.0.2.{number}")
    assert limit("192.0.2.1") == first, "used lately"
    for number in range(6, 9):
        limit(f"192.0.2.{number}")
    assert limit("192.0.2.1") != first


def test_a_client_cannot_choose_another_limit_by_another_address_of_its_own_network() -> None:
    """Count all addresses of a client's own network as one: it could choose a new limit otherwise."""
    limits = RateLimits(10)
    own = limits.of_connection()
    one, another, neighbor, mapped, plain = (
        limits.throttle(AccessDecision(address, is_proxied=True), own)
        for address in ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1", "::ffff:192.0.2.1", "192.0.2.1")
    )
    assert one == another
    assert one != neighbor
    assert mapped == plain


def test_clients_without_a_name_share_no_limit() -> None:
    """An unknown client counts by its connection; a named one by its address, on whatever connection."""
    limits = RateLimits(10)
    one, another = limits.of_connection(), limits.of_connection()
    assert one is not None and another is not None
    unknown, named = (
        AccessDecision(UNKNOWN_CLIENT, is_proxied=True),
        AccessDecision("192.0.2.1", is_proxied=True),
    )
    assert limits.throttle(unknown, one) == one.wait
    assert limits.throttle(unknown, another) == another.wait
    assert limits.throttle(named, one) == limits.throttle(named, another) != one.wait


def test_a_direct_client_names_no_other_address() -> None:
    """Ignore the address that a direct client claims for itself."""
    headers = {b"host": b"localhost:1", b"x-forwarded-for": b"10.0.0.5"}
    public = AccessPolicy(RpcConfig(trust_proxy_headers=True), 1).judge("203.0.113.9", headers)
    assert (public.address, public.is_proxied) == ("203.0.113.9", False)
    private = AccessPolicy(RpcConfig(trust_proxy_headers=True), 1).judge("172.17.0.1", headers)
    assert (private.address, private.is_proxied) == ("10.0.0.5", True)
    listed = AccessPolicy(RpcConfig(trust_proxy_headers=True, trusted_proxies=("203.0.113.9",)), 1)
    assert listed.judge("172.17.0.1", headers).address == "172.17.0.1"
    assert listed.judge("203.0.113.9", headers).address == "10.0.0.5"
