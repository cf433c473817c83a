"""Prometheus with the files of docs/deploy/monitoring: what it scrapes and draws, and when it alerts."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.node.metrics.declared import METRICS_BY_NAME
from cfnode.store.keystore import Keystore
from tests.deploy.programs import DEPLOY, output_of, program
from tests.lengths import only_whole
from tests.process import NodeProcess, command, running_node
from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

MONITORING = DEPLOY / "monitoring"
DASHBOARD = MONITORING / "grafana-dashboard.json"
QUICK = (
    ("prometheus-rules.yml", r"for: (\d+)m", r"for: \1s"),
    ("prometheus-rules.yml", "age_seconds > 120", "age_seconds > 25"),
    ("prometheus.yml", "_interval: 15s", "_interval: 1s"),
)
"""What is faster here than in the files: a minute of patience is a second, and a stall of 25 s is long."""
SUBSTRATE_QUERIES = (
    'substrate_block_height{status="finalized",FOLLOWER} > 0',
    "substrate_finality_grandpa_round{FOLLOWER} > -1",
    'rate(substrate_sub_libp2p_network_bytes_total{direction="in",FOLLOWER}[1m]) > 0',
    'sum by (direction) (substrate_sub_libp2p_connections_opened_total{direction="out",FOLLOWER}) > 0',
    "substrate_sub_libp2p_distinct_peers_connections_opened_total{FOLLOWER} "
    "- substrate_sub_libp2p_distinct_peers_connections_closed_total{FOLLOWER} > 0",
    "substrate_sub_libp2p_peerset_num_discovered{FOLLOWER} > 0",
    "substrate_sub_libp2p_listeners_local_addresses{FOLLOWER} > 0",
    'sum by (protocol) (rate(substrate_sub_libp2p_notifications_sizes_sum{direction="in",FOLLOWER}[1m])) > 0',
    'substrate_sub_libp2p_notifications_streams_opened_total{protocol=~".*/block-announces/1",FOLLOWER} > 0',
    "histogram_quantile(0.9, sum by (le, protocol) "
    "(substrate_sub_libp2p_requests_out_success_total_bucket{FOLLOWER})) > 0",
    'substrate_sub_libp2p_requests_in_success_total_count{instance!="",protocol=~".*/sync/2"} > 0',
    'substrate_import_queue_processed_total{result="success",FOLLOWER} > 0',
    "rate(substrate_block_verification_and_import_time_sum{FOLLOWER}[1m]) "
    "/ rate(substrate_block_verification_and_import_time_count{FOLLOWER}[1m]) > 0",
    "substrate_sub_txpool_block_transactions_pruned{FOLLOWER} > 0",
    "rate(substrate_proposer_block_constructed_sum[1m]) > 0",
    "substrate_proposer_number_of_transactions > 0",
)
BROKER, PROVIDER = "//Shopkeeper", "//Maker"
FLIP = 10**18
LIMIT_S = 120.0
SILENT_AT_FIRST = ("> 0", "extrinsics_total", "is_error", "peer_bans_total", "local_faults")
"""Parts of queries whose series begin with the first fee, error, …"""


@dataclass(frozen=True, slots=True)
class Watched:
    """An author, a follower of it with the keys of two accounts, and the Prometheus that watches both."""

    author: NodeProcess
    follower: NodeProcess
    url: str
    names: dict[str, str]
    """author, follower → their instance label."""

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer of Prometheus' API."""
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=10)
        answer.raise_for_status()
        return answer.json()["data"]

    def firing(self) -> set[tuple[str, str]]:
        """Name and node of each alert that fires now."""
        nodes = {instance: name for name, instance in self.names.items()}
        return {
            (alert["labels"]["alertname"], nodes[alert["labels"]["instance"]])
            for alert in self.ask("alerts")["alerts"]
            if alert["state"] == "firing"
        }


def metrics_address(node: NodeProcess) -> str:
    """Return the address of a node's metrics."""
    match = re.search(r"Prometheus exporter started at (\S+)", node.log)
    assert match is not None, node.log
    return match[1]


def quick_copy(folder: Path, targets: list[str]) -> Path:
    """Copy the files of docs/deploy/monitoring for these targets, with less patience; each change applies."""
    for name in ("prometheus.yml", "prometheus-rules.yml"):
        text = (MONITORING / name).read_text()
        for file, pattern, replacement in QUICK:
            if file == name:
                text, times = re.subn(pattern, replacement, text)
                assert times, pattern
        if name == "prometheus.yml":
            assert text.count('["127.0.0.1:9615"]') == 1
            text = text.replace('["127.0.0.1:9615"]', json.dumps(targets))
        (folder / name).write_text(text)
    return folder / "prometheus.yml"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield an author, a follower with two keys, and a Prometheus that scrapes both."""
    prometheus = program("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    with ExitStack() as stack:
        spec = folder / "spec.json"
        output_of(*command("export-chain-spec", "--dev", "-o", str(spec)))
        chain = json.loads(spec.read_text())["id"]
        keystore = Keystore(folder / "follower" / "base" / "chains" / chain / "keystore")
        keystore.insert("brok", BROKER)
        keystore.insert("lqpr", PROVIDER)
        author = _started(stack, folder / "author", "--dev", "--listen-addr=/ip4/127.0.0.1/tcp/0")
        peer = next(
            address for address in author.call("system_localListenAddresses") if "127.0.0.1" in address
        )
        follower = _started(
            stack,
            folder / "follower",
            f"--chain={spec}",
            "--sync=full",
            "--listen-addr=/ip4/127.0.0.1/tcp/0",
            f"--reserved-nodes={peer}",
            "--reserved-only",
        )
        names = {"author": metrics_address(author), "follower": metrics_address(follower)}
        port = free_port()
        log = stack.enter_context((folder / "prometheus.log").open("w"))
        process = subprocess.Popen(
            [
                prometheus,
                f"--config.file={quick_copy(folder, list(names.values()))}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
        stack.callback(process.wait, timeout=LIMIT_S)
        stack.callback(process.kill)
        site = Watched(author, follower, f"http://127.0.0.1:{port}", names)
        wait_until(lambda: _is_up(site), lambda: (folder / "prometheus.log").read_text())
        yield site


def _started(stack: ExitStack, folder: Path, *flags: str) -> NodeProcess:
    folder.mkdir(parents=True, exist_ok=True)
    return stack.enter_context(running_node(folder, *flags))


def _is_up(site: Watched) -> bool:
    try:
        targets = site.ask("targets")["activeTargets"]
    except httpx.HTTPError:  # not there, or still starting
        return False
    return len(targets) == 2 and all(target["health"] == "up" for target in targets)


def queries() -> list[str]:
    """Yield the expressions of the dashboard's panels."""

    def of(tree: Any) -> Iterator[str]:
        if isinstance(tree, dict):
            yield from (expression for key, expression in tree.items() if key == "expr")
            yield from (expression for branch in tree.values() for expression in of(branch))
        elif isinstance(tree, list):
            yield from (expression for branch in tree for expression in of(branch))

    return list(of(json.loads(DASHBOARD.read_text())))


def best_of(node: NodeProcess) -> int:
    """Return the number of the best block."""
    return int(node.call("chain_getHeader")["number"], 16)


def fund(watched: Watched, flip: int, *suris: str) -> None:
    """Fund the accounts of broker and provider, or others."""
    for suri in suris or (BROKER, PROVIDER):
        watched.author.call("dev_fundAccount", ss58.encode(Keypair.from_suri(suri).public), flip * FLIP)


def test_the_configuration_is_valid() -> None:
    """Accept the configuration by promtool."""
    output_of(program("promtool", "prometheus"), "check", "config", str(MONITORING / "prometheus.yml"))


def test_little_flip_is_alerted_of_and_nothing_else_on_a_healthy_node(watched: Watched) -> None:
    """Alert of low FLIP for either account, and of nothing else on a healthy node."""
    low = {("CfnodeFlipLow", "follower"), ("CfnodeLpFlipLow", "follower")}
    fund(watched, 4)
    wait_until(lambda: watched.firing() == low, watched.firing)
    fund(watched, 100, PROVIDER)
    wait_until(lambda: watched.firing() == low - {("CfnodeLpFlipLow", "follower")}, watched.firing)
    fund(watched, 100, BROKER)
    wait_until(lambda: not watched.firing(), watched.firing)
    others = 'count_over_time(ALERTS{alertstate="firing", alertname!~"Cfnode(Lp)?FlipLow"}[10m])'
    assert watched.ask("query", query="count_over_time(up[10m])")["result"]
    assert watched.ask("query", query=others)["result"] == []


def test_every_metric_of_the_alerts_has_a_series(watched: Watched) -> None:
    """Find a series for every metric of the alerts: one without would never fire."""
    rules = (MONITORING / "prometheus-rules.yml").read_text()
    names = {name for name in re.findall(r"\b(?:cfnode|substrate)_\w+", rules) if name in METRICS_BY_NAME}
    assert len(names) > 7
    for name in names:
        assert watched.ask("query", query=name)["result"], name


def test_every_panel_of_the_dashboard_shows_something(watched: Watched) -> None:
    """Find a value for every panel of the dashboard."""

    def empty() -> list[str]:
        empty_queries = []
        for query in queries():
            if not any(part in query for part in SILENT_AT_FIRST):
                whole = query.replace("$chain", ".*").replace("$instance", ".*")
                if not watched.ask("query", query=whole)["result"]:
                    empty_queries.append(query)
        return empty_queries

    watched.follower.call("system_health")
    assert len(queries()) > 30
    wait_until(lambda: not empty(), empty)


def test_the_panels_of_dashboards_for_substrate_draw(watched: Watched) -> None:
    """As "Substrate Node Metrics" and others ask: each gives a value over zero on a node with a peer."""

    def blank() -> list[str]:
        where = f'instance="{watched.names["follower"]}"'
        asked = [query.replace("FOLLOWER", where) for query in SUBSTRATE_QUERIES]
        return [query for query in asked if not watched.ask("query", query=query)["result"]]

    wait_until(lambda: not blank(), blank)


def test_stalled_finality_is_alerted_of_while_blocks_go_on(watched: Watched) -> None:
    """Alert of stalled finality while blocks go on, until it is released."""
    fund(watched, 100)
    watched.author.call("dev_holdFinality", True)
    try:
        stalled = {("CfnodeFinalityStalled", "author"), ("CfnodeFinalityStalled", "follower")}
        wait_until(lambda: stalled <= watched.firing(), watched.firing)
        height = best_of(watched.follower)
        wait_until(lambda: best_of(watched.follower) > height, lambda: height)
        assert stalled <= watched.firing()
    finally:
        watched.author.call("dev_holdFinality", False)
    wait_until(lambda: not stalled & watched.firing(), watched.firing)


@only_whole  # half a minute; a peer that is killed is alerted of below
def test_a_peer_that_stands_still_is_alerted_of(watched: Watched) -> None:
    """Alert of a peer that stands still, until it goes on."""
    watched.author.process.send_signal(signal.SIGSTOP)
    try:
        still = {("CfnodeNotReady", "follower"), ("CfnodeDown", "author")}
        wait_until(lambda: still <= watched.firing(), watched.firing)
    finally:
        watched.author.process.send_signal(signal.SIGCONT)
    wait_until(lambda: not watched.firing(), watched.firing)


def test_a_dead_peer_and_a_dead_node_are_alerted_of(watched: Watched) -> None:
    """Alert of a dead peer and a dead node."""
    watched.author.stop(signal.SIGKILL)
    alone = {("CfnodeNoPeers", "follower"), ("CfnodeNotReady", "follower"), ("CfnodeDown", "author")}
    wait_until(lambda: alone <= watched.firing(), watched.firing)
