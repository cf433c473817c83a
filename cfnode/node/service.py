"""Assembly of a running node: its parts, and the order in which they start and stop.

1. The base path is locked, the keystore read, and the keys of broker and provider are chosen.
2. The database is opened (in light-RPC mode deleted and created again).
3. The executor, the chain, the pool, the network and the sync are created.
4. One nursery runs the pool, the informant, the metrics, the services above the node (JSON-RPC) and, where
   this node makes the chain itself, its producer; the network starts last.

Cancelling `run` stops everything in the reverse order.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import trio

from cfnode import __version__
from cfnode.core.chainspec import ChainSpec, false_name
from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from cfnode.network.transport import DialError
from cfnode.node.asking.progress import no_peers_reason
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.slots import present_slot
from cfnode.node.config import Config
from cfnode.node.genesis import open_store
from cfnode.node.informant import Informant
from cfnode.node.liveness import Liveness
from cfnode.node.metrics import Identity, NodeMetrics
from cfnode.node.metrics.port import serve_metrics
from cfnode.node.networking import chain_sync, open_network
from cfnode.node.node import Node, Producer
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.pool.transaction import Limit
from cfnode.node.restarts import supervise
from cfnode.node.signing.broker import BrokerClient
from cfnode.node.signing.key import (
    BROKER_KEY,
    NOT_GIVEN,
    PROVIDER_KEY,
    GivenKey,
    SigningKey,
    find_signing_key,
)
from cfnode.node.signing.provider import LiquidityProviderClient
from cfnode.node.signing.submission import SignedClient
from cfnode.node.sync.warping.checkpoint import BadCheckpoint
from cfnode.runtime.executor import WASM, Executor
from cfnode.store import Store, node_key
from cfnode.store.base_path import ChainPaths, locked
from cfnode.store.keystore import Keystore

log = logging.getLogger("cfnode.service")
network_log = logging.getLogger("cfnode.sub-libp2p")

Service = Callable[..., Awaitable[None]]
"""A function, called as `await service(node, config, task_status=…)`: it runs until cancelled, and reports
when it is ready."""

MakeProducer = Callable[[Node], Producer]


async def run(
    config: Config,
    spec: ChainSpec,
    *,
    runtimes: str = WASM,
    make_producer: MakeProducer | None = None,
    broker: GivenKey = NOT_GIVEN,
    provider: GivenKey = NOT_GIVEN,
    services: Iterable[Service] = (),
    task_status: trio.TaskStatus[Node] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run a node of a chain until cancelled; started, with the Node, once everything is up.

    `runtimes`: name of the RuntimeFactory. `make_producer`: returns the producer of a chain that this node
    makes. `broker` and `provider`: keys that replace the keystore's.
    """
    paths = ChainPaths(config.base_path, spec.id)
    produces = make_producer is not None
    _log_start(config, spec, produces)
    async with AsyncExitStack() as stack:
        stack.enter_context(locked(config.base_path))
        keystore = Keystore(config.keystore_path or paths.keystore)
        for exposed in keystore.warnings():
            log.warning("%s", exposed)
        broker_key = find_signing_key(BROKER_KEY, keystore, config, broker)
        provider_key = find_signing_key(PROVIDER_KEY, keystore, config, provider)
        identity = await trio.to_thread.run_sync(_identity, config, paths)
        log.info("🏷  Local node identity is: %s", peer_id(identity.public))
        store = await trio.to_thread.run_sync(open_store, config, spec, paths)
        stack.callback(store.close)
        executor = await stack.enter_async_context(
            Executor.start(store, runtimes=runtimes, call_processes=_call_processes(config))
        )
        node = await _assemble(config, spec, paths, store, executor, keystore, identity, produces)
        if not produces and (warning := false_name(spec, node.chain.genesis_hash)) is not None:
            log.warning("%s", warning)
        node = _with_provider(_with_broker(node, broker_key, produces), provider_key, produces)
        if make_producer is not None:
            node = replace(node, producer=make_producer(node))
        node.metrics.watch_readiness(lambda: not node.impediments)
        await _run_services(node, services, task_status)


def _call_processes(config: Config) -> int:
    return max(1, min(config.runtime_instances, os.cpu_count() or 1))


async def _run_services(node: Node, services: Iterable[Service], task_status: trio.TaskStatus[Node]) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.pool.run)
        nursery.start_soon(supervise, "informant", _informant(node).run)
        nursery.start_soon(supervise, "check for new blocks", node.liveness.run)
        prometheus = node.config.prometheus
        if prometheus is not None:
            hosts = node.config.rpc.allowed_hosts
            await nursery.start(serve_metrics, node.metrics.scrape, prometheus.host, prometheus.port, hosts)
        if node.producer is not None:
            await nursery.start(node.producer.follow)
        for service in services:
            await nursery.start(service, node, node.config)
        if node.producer is not None:
            nursery.start_soon(node.producer.produce)
        await _join_network(nursery, node)
        task_status.started(node)


async def _assemble(
    config: Config, spec: ChainSpec, paths: ChainPaths, store: Store, executor: Executor,
    keystore: Keystore, identity: Keypair, produces: bool,
) -> Node:  # fmt: skip
    """Return a node with the parts that every node has."""
    chain = await NodeChain.open(store, executor, present_slot)
    limit = Limit(config.pool_limit, config.pool_bytes)
    pool = TransactionPool(chain, ready_limit=limit, authoring=produces)
    network = open_network(config, spec, identity, chain.genesis_hash, paths)
    sync = chain_sync(config, spec, paths, network, chain, store, pool, author=produces)
    described = Identity(config.name, __version__, spec.id, produces, spec.chain_type)
    liveness = Liveness(
        chain,
        lambda: network.peer_count,
        excused=lambda: produces or sync.progress.is_syncing,
        no_peers_reason=lambda: no_peers_reason(network),
    )
    metrics = NodeMetrics(described, chain, pool, network, sync, liveness)
    metrics.watch_machine(executor, store)
    return Node(
        config=config,
        spec=spec,
        version=__version__,
        store=store,
        executor=executor,
        chain=chain,
        pool=pool,
        keystore=keystore,
        metrics=metrics,
        identity=identity,
        network=network,
        sync=sync,
        liveness=liveness,
    )


def _informant(node: Node) -> Informant:
    network = node.network
    return Informant(
        node.chain,
        lambda: node.peers,
        node.sync.progress.line,
        lambda: (network.bytes_received, network.bytes_sent),
        node.liveness.line,
    )


def _with_broker(node: Node, key: SigningKey, produces: bool) -> Node:
    """Return the node with the broker operations of the key, or with the reason why there are none."""
    if key.pair is None:
        return replace(node, broker_missing=key.missing)
    client = _signed_client(node, key.pair, produces)
    node.metrics.watch_broker(client.tally)
    return replace(node, broker=BrokerClient(node.chain, client))


def _with_provider(node: Node, key: SigningKey, produces: bool) -> Node:
    """Return the node with the operations of a liquidity provider, or with the reason why there are none."""
    if key.pair is None:
        return replace(node, provider_missing=key.missing)
    client = _signed_client(node, key.pair, produces)
    node.metrics.watch_provider(client.tally)
    return replace(node, provider=LiquidityProviderClient(node.chain, client))


def _signed_client(node: Node, pair: Keypair, produces: bool) -> SignedClient:
    liveness = None if produces else node.liveness  # on our own chain blocks may come on demand
    return SignedClient(node.chain, node.pool, pair, syncing=lambda: node.syncing, liveness=liveness)


def _identity(config: Config, paths: ChainPaths) -> Keypair:
    """Return the node key: from the flag, the given file, or the chain's own file.

    The chain's own file is created if it is missing.
    """
    if config.network.node_key is not None:
        return Keypair.from_seed(config.network.node_key, "ed25519")
    path = config.network.node_key_file or paths.network / node_key.NODE_KEY_FILE
    return node_key.load_or_create(path)


def _log_start(config: Config, spec: ChainSpec, produces: bool) -> None:
    log.info("📋 Chain specification: %s", spec.name)
    log.info("🏷  Node name: %s", config.name)
    log.info("👤 Role: %s", "AUTHORITY" if produces else "FULL")


async def _join_network(nursery: trio.Nursery, node: Node) -> None:
    """Connect to peers; if the port is taken, warn and only dial.

    A second node on a machine is no error.
    """
    try:
        await nursery.start(node.network.run)
    except DialError as error:
        network_log.warning("%s: peers cannot reach this node. Choose another port with --port", error)
        await nursery.start(partial(node.network.run, listen=False))
    for address in node.network.listening:
        network_log.info("🔍 Listening for peers at %s/p2p/%s", address, node.local_peer_id)
    nursery.start_soon(supervise, "sync", node.sync.run, BadCheckpoint)
    if node.sync.progress.is_syncing:
        network_log.warning("No peers: none is connected yet; isSyncing stays true until %s is followed",
                            node.spec.name)  # fmt: skip
