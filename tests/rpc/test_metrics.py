"""Exported metrics against their declarations, and the names in dashboard and alerts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio.testing

from cfnode.node.metrics import BrokerFigures, ProviderFigures, account
from cfnode.node.metrics.declared import METRICS_BY_NAME
from cfnode.rpc.cf.account_figures import broker_figures
from cfnode.rpc.port.rate_limit import RateLimiter
from tests.node.live import FLIP, channel
from tests.rpc.conftest import MakeServed, Served, first_block
from tests.support.rpc.assets import ETH, ETHER
from tests.support.rpc.providers import free, funded, provider_on

MONITORING = Path(__file__).parent.parent.parent / "docs" / "deploy" / "monitoring"
DASHBOARD = MONITORING / "grafana-dashboard.json"
RULES = MONITORING / "prometheus-rules.yml"
RULE_TESTS = MONITORING / "prometheus-rules-test.yml"
HISTOGRAM_PARTS = ("_bucket", "_sum", "_count")
BY_PROMETHEUS = frozenset({"up"})
"""What Prometheus itself records of a node."""
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
NAME = re.compile(r"\b(?:cfnode_|substrate_|process_)\w+|\bup\b")


def samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield name, labels and value of each line."""
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.match(line)
            assert match is not None, line
            yield match[1], dict(re.findall(r'(\w+)="([^"]*)"', match[2] or "")), float(match[3])


def value(text: str, name: str, **labels: str) -> float | None:
    """Return the value of the one sample with these labels."""
    fitting = [
        sample
        for key, own_labels, sample in samples(text)
        if key == name and labels.items() <= own_labels.items()
    ]
    assert len(fitting) <= 1, (name, fitting)
    return fitting[0] if fitting else None


async def scraped(served: Served) -> str:
    """Return the metrics of a node after one call."""
    await served.call("system_health")
    return (await served.node.metrics.scrape()).decode()


def declared_name(sample: str) -> str:
    """Return the declared name of a sample, without a histogram's endings."""
    for part in HISTOGRAM_PARTS:
        base = sample.removesuffix(part)
        if base in METRICS_BY_NAME and METRICS_BY_NAME[base].kind == "histogram":
            return base
    return sample


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a scrape wait for the account on a busy machine, too: these tests are about values."""
    monkeypatch.setattr(account, "FIGURES_TIMEOUT_S", 60.0)


@pytest.fixture
async def text(make_served: MakeServed) -> str:
    """Return all that a node with broker and liquidity provider exports; its blocks are final at once."""
    instant = await first_block(await make_served(seal="instant", provider=True))
    assert instant.node.broker is not None
    await instant.node.broker.register_account()
    async with instant.websocket():
        return await scraped(instant)


async def test_a_node_exports_exactly_the_declared_metrics(text: str) -> None:
    """Export exactly the declared metrics, with their kinds and labels."""
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    assert types == {name: metric.kind for name, metric in METRICS_BY_NAME.items()}
    exported = {declared_name(name) for name, _, _ in samples(text)}
    assert exported == set(METRICS_BY_NAME)
    for name, labels, _ in samples(text):
        declared = METRICS_BY_NAME[declared_name(name)]
        assert set(labels) - {"le"} == set(declared.all_labels), name
        assert labels.get("chain", "dev") == "dev"


async def test_values_are_those_of_the_node(served_node: Served) -> None:
    """Export the node's own values: height, transactions, balance, channels, sizes."""
    await served_node.call("dev_newBlock", {"finalize": True})
    text = await scraped(served_node)
    assert value(text, "substrate_block_height", status="finalized") == 2
    assert value(text, "cfnode_broker_flip_balance") == 1_000
    body = served_node.node.chain.body(served_node.node.chain.best.hash)
    assert body is not None
    assert value(text, "substrate_proposer_number_of_transactions") == len(body) > 0
    assert value(text, "cfnode_broker_open_channels") == 0
    assert value(text, "substrate_proposer_block_constructed_count") == 2
    assert value(text, "cfnode_executor_restarts_total") == 0
    assert value(text, "cfnode_executor_processes") in (1, 2)  # the second one, if a call waited for a block
    assert value(text, "cfnode_ready") == 1
    assert value(text, "substrate_sub_libp2p_is_major_syncing") == 0
    size = value(text, "cfnode_database_bytes")
    assert size is not None
    assert 4096 < size <= (served_node.node.store.database.path / "data.mdb").stat().st_size
    labels = {"protocol": "http", "method": "system_health", "is_error": "false", "is_rate_limited": "false"}
    assert value(text, "substrate_rpc_calls_finished", **labels) == 1


async def test_a_killed_executor_is_a_restart(served_node: Served) -> None:
    """Count a killed executor as a restart."""
    pid = served_node.node.executor.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await served_node.call("dev_newBlock")
    assert value(await scraped(served_node), "cfnode_executor_restarts_total") == 1


async def test_a_call_that_waited_for_the_rate_limit_is_marked(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Mark a call that waited for the rate limit."""
    limiter = RateLimiter(2)
    assert [await limiter.wait() for _ in range(3)] == [False, False, True]
    assert autojump_clock.current_time() > 0


async def test_the_broker_is_read_once_for_a_block(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read the broker's figures once for a block, however often they are scraped."""
    metrics, node = served_node.node.metrics, served_node.node
    assert node.broker is not None
    account, blocks = node.broker.account, list[bytes]()

    async def read(block: bytes) -> BrokerFigures:
        blocks.append(block)
        return await broker_figures(node, account, block)

    metrics.read_broker_with(read)
    texts = [(await metrics.scrape()).decode() for _ in range(3)]
    assert blocks == [node.chain.best.hash]
    assert [value(text, "cfnode_broker_flip_balance") for text in texts] == [1_000] * 3
    await served_node.call("dev_newBlock")
    await metrics.scrape()
    assert blocks[1:] == [node.chain.best.hash]


async def test_an_account_that_cannot_be_read_has_no_old_balance(served_node: Served) -> None:
    """Export no balance for an account that cannot be read: an old one would look current."""
    metrics = served_node.node.metrics
    assert value(await scraped(served_node), "cfnode_broker_flip_balance") == 1_000

    async def fail(block: bytes) -> BrokerFigures:
        raise KeyError("flip_balance")

    metrics.read_broker_with(fail)
    await served_node.call("dev_newBlock")
    text = await scraped(served_node)
    for name in ("flip_balance", "earned_fees", "open_channels"):
        assert f"\ncfnode_broker_{name}{{" not in text
    assert value(text, "cfnode_broker_calls_waiting") == 0


async def test_calls_of_the_broker_are_counted_by_outcome(instant: Served) -> None:
    """Count the broker's calls by outcome, and its channels, fees and balance."""
    broker = instant.node.broker
    assert broker is not None
    with pytest.raises(Exception, match="BadOrigin"):
        await broker.request_swap_deposit_address(channel())
    await broker.register_account()
    await broker.request_swap_deposit_address(channel())
    with pytest.raises(Exception, match="KnownModuleError"):
        await broker.withdraw_fees("Eth", ("Eth", b"\x02" * 20))  # without a dry run: it fails in its block
    text = await scraped(instant)
    outcomes = {
        labels["outcome"]: count
        for name, labels, count in samples(text)
        if name == "cfnode_broker_extrinsics_total"
    }
    assert outcomes == {"included": 2, "failed": 1, "refused": 1, "dropped": 0, "unknown": 0}
    assert value(text, "cfnode_broker_open_channels") == 1
    assert value(text, "cfnode_broker_earned_fees", asset="Bitcoin/BTC") == 0
    flip = value(text, "cfnode_broker_flip_balance")
    assert flip is not None
    assert 0 < flip < 1_000
    info = await instant.call("cf_account_info", await own_account(instant))
    assert flip == pytest.approx(int(info["flip_balance"], 16) / FLIP)


async def test_the_liquidity_provider_has_flip_and_free_balances(make_served: MakeServed) -> None:
    """Export the liquidity provider's FLIP and free balances, apart from the broker's."""
    served = await funded(await provider_on(make_served))
    text = await scraped(served)
    flip = value(text, "cfnode_lp_flip_balance")
    assert flip is not None
    assert 0 < flip < 1_000, "it has paid for calls"
    assert value(text, "cfnode_lp_free_balance", asset="Ethereum/ETH") == await free(served, ETH) / ETHER
    assert value(text, "cfnode_lp_free_balance", asset="Bitcoin/BTC") == 0
    assert value(text, "cfnode_broker_flip_balance") == 1_000, "the other key is of another account"


async def test_without_a_state_the_provider_has_no_balance(make_served: MakeServed) -> None:
    """Export no balance of a provider without a state, but its waiting calls."""
    served = await provider_on(make_served, broker=False)

    async def fail(block: bytes) -> ProviderFigures:
        raise KeyError("flip_balance")

    served.node.metrics.read_provider_with(fail)
    text = await scraped(served)
    assert "\ncfnode_lp_flip_balance{" not in text
    assert "\ncfnode_lp_free_balance{" not in text
    assert value(text, "cfnode_lp_calls_waiting") == 0
    assert "\ncfnode_broker_calls_waiting{" not in text


async def own_account(served: Served) -> str:
    """Return the address of the broker's account."""
    from cfnode.core import ss58

    assert served.node.broker is not None
    return ss58.encode(served.node.broker.account)


async def test_without_a_broker_key_there_are_no_metrics_of_a_broker(make_served: MakeServed) -> None:
    """Export nothing of a broker without its key, and no age of a genesis block."""
    served = await make_served(broker=False)
    text = await scraped(served)
    assert "cfnode_broker_" not in text
    assert value(text, "cfnode_finalized_block_age_seconds") is None  # genesis has no slot


async def test_the_age_of_the_final_block_is_in_chain_time(make_served: MakeServed) -> None:
    """Measure the age of the final block in chain time."""
    served = await make_served(seal="manual", finality_lag=3)
    for _ in range(6):
        await served.call("dev_newBlock")
    behind = served.node.chain.best.number - served.node.chain.finalized.number
    assert behind > 0
    assert value(await scraped(served), "cfnode_finalized_block_age_seconds") == 6.0 * behind


def expressions(tree: Any) -> Iterator[str]:
    """Yield all queries of a dashboard."""
    if isinstance(tree, dict):
        for key, child in tree.items():
            if key in ("expr", "definition"):
                yield child
            else:
                yield from expressions(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from expressions(child)


def rule_expressions(text: str) -> list[str]:
    """Return the expressions of the rules: from `expr:` to the next key."""
    return re.findall(r"^ +expr: (.*?)^ +(?:for|labels):", text, re.MULTILINE | re.DOTALL)


async def test_dashboard_and_alerts_name_only_what_a_node_exports(text: str) -> None:
    """Name in dashboard and alerts only what a node exports."""
    queries = list(expressions(json.loads(DASHBOARD.read_text())))
    rules = rule_expressions(RULES.read_text())
    assert len(queries) > 30
    assert len(rules) == RULES.read_text().count("alert: ") == 10
    exported = {name for name, _, _ in samples(text)} | BY_PROMETHEUS
    for query in (*queries, *rules):
        named = set(NAME.findall(query))
        assert named, query
        assert named <= exported, query


@pytest.mark.parametrize("words", [("check", "rules", RULES.name), ("test", "rules", RULE_TESTS.name)])
def test_the_alerts_fire_when_they_should(words: tuple[str, ...]) -> None:
    """Prometheus' own tool checks the rules, and plays them series of a healthy and of failing nodes."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is missing: it comes with Prometheus")
    done = subprocess.run(
        [promtool, *words], cwd=MONITORING, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_tested() -> None:
    """Have a test of Prometheus' own for each alert."""
    tested = RULE_TESTS.read_text()
    for alert in re.findall(r"alert: (\w+)", RULES.read_text()):
        assert tested.count(alert) >= 2, alert
