"""Warnings that other machines can spend: in the log, the metrics and the readiness page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfnode.node.config import RpcConfig
from cfnode.rpc.table.rows import Access, Method
from tests.rpc.clients import Http, served
from tests.rpc.conftest import MakeServed

SPEND = Method("test_spend", lambda node: True, access=Access.BROKER)
TRADE = Method("test_trade", lambda node: True, access=Access.LP)
READ = Method("test_read", lambda node: True)
WARNING = "JSON-RPC is open to other machines: any client that reaches the port can open deposit channels"


async def warnings(port: int) -> list[str]:
    """Return the kinds of warnings of the readiness page."""
    async with Http(port) as http:
        answer = await http.request("GET", "/health/readiness", host=f"localhost:{port}")
    assert answer.status == 200
    return [warning["kind"] for warning in answer.json().get("warnings", [])]


@pytest.mark.parametrize(
    ("settings", "is_exposed"),
    [
        ({}, False),
        ({"external": True}, True),
        ({"external": True, "methods": "safe", "cors": ("all",)}, True),
        ({"trust_proxy_headers": True}, True),
        ({"trusted_proxies": ("127.0.0.1",)}, True),
        ({"external": True, "broker_clients": ("10.0.0.5",)}, False),
        ({"external": True, "auth_token_file": "broker"}, False),
        ({"external": True, "auth_token_file": "lp"}, False),
        ({"external": True, "auth_token_file": "read"}, False),
        ({"external": True, "auth_token_file": "admin"}, True),
    ],
)
async def test_it_is_where_other_machines_reach_the_broker_without_restriction(
    settings: dict[str, Any], is_exposed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Warn, in log and readiness page, where other machines reach methods that spend."""
    if (group := settings.get("auth_token_file")) is not None:
        path = tmp_path / "tokens"
        path.touch(mode=0o600)
        path.write_text(f"someone {group} 0123456789abcdef0123456789abcdef")
        settings = settings | {"auth_token_file": path}
    async with served([SPEND], **settings) as port:
        assert await warnings(port) == ["broker_exposed"] * is_exposed
    assert (WARNING in caplog.text) is is_exposed
    async with served([TRADE], **settings) as port:
        assert await warnings(port) == ["lp_exposed"] * is_exposed
    assert ("can withdraw the assets of the liquidity provider" in caplog.text) is is_exposed


async def test_without_methods_that_spend_there_is_nothing_to_warn_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Warn of nothing without methods that spend."""
    async with served([READ], external=True) as port:
        assert await warnings(port) == []
    assert WARNING not in caplog.text


@pytest.mark.parametrize(
    ("broker", "clients", "figure"), [(True, (), 1), (True, ("::1",), 0), (False, (), 0)]
)
async def test_the_metric_of_a_node_says_so(
    make_served: MakeServed, broker: bool, clients: tuple[str, ...], figure: int
) -> None:
    """Count an exposed broker in the node's metrics."""
    made = await make_served(broker=broker, rpc=RpcConfig(external=True, broker_clients=clients))
    line = f'cfnode_rpc_broker_exposed{{chain="dev"}} {figure}.0'
    assert line.encode() in made.node.metrics.render()
