"""Construction of the network service and of the sync from the node's configuration."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from cfnode import __version__
from cfnode.core.chainspec import ChainSpec
from cfnode.core.keys import Keypair
from cfnode.core.p2p.multiaddr import Multiaddr, MultiaddrError
from cfnode.network.service import NetworkService
from cfnode.network.settings import NetworkSettings
from cfnode.network.useful_peers import USEFUL_PEERS_FILE as USEFUL_PEERS
from cfnode.node.chain.chain import NodeChain
from cfnode.node.config import Config, NetworkConfig
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.sync.service import ChainSync, trusted_genesis
from cfnode.node.sync.warping.authority_set_cache import AUTHORITY_SETS_FILE, AuthoritySetCache
from cfnode.store import Store
from cfnode.store.base_path import ChainPaths

__all__ = ["chain_sync", "listen_addresses", "open_network"]

log = logging.getLogger("cfnode.sub-libp2p")

LOCAL_TYPES = ("Development", "Local")


def open_network(
    config: Config, spec: ChainSpec, identity: Keypair, genesis_hash: bytes, paths: ChainPaths | None = None
) -> NetworkService:
    """Return the network of a node, not running yet.

    Without `paths` it stores no peers for its next start.
    """
    flags = config.network
    settings = NetworkSettings(
        genesis=genesis_hash,
        fork_id=spec.fork_id,
        listen=listen_addresses(flags),
        public=_addresses(flags.public),
        boot_nodes=_addresses((*flags.boot_nodes, *spec.boot_nodes)),
        reserved_nodes=_addresses(flags.reserved_nodes),
        reserved_only=flags.reserved_only,
        in_peers=flags.in_peers,
        in_peers_light=flags.in_peers_light,
        out_peers=flags.out_peers,
        agent=f"cfnode/v{__version__} ({config.name})",
        private_addresses=_private(flags, spec),
        useful_peers=None if paths is None else paths.network / USEFUL_PEERS,
    )
    return NetworkService(identity, settings)


def _private(flags: NetworkConfig, spec: ChainSpec) -> bool:
    chosen = flags.private_addresses
    return spec.chain_type in LOCAL_TYPES if chosen is None else chosen


def listen_addresses(flags: NetworkConfig) -> tuple[Multiaddr, ...]:
    """Return the addresses at which the node listens for peers."""
    return _addresses(flags.listen or (f"/ip4/0.0.0.0/tcp/{flags.port}", f"/ip6/::/tcp/{flags.port}"))


def _addresses(texts: Iterable[str]) -> tuple[Multiaddr, ...]:
    """Return the addresses of flags or of a specification; skip malformed ones with a warning."""
    addresses = []
    for text in texts:
        try:
            addresses.append(Multiaddr.parse(text))
        except MultiaddrError as error:
            log.warning("Skipping a malformed address: %s", error)
    return tuple(addresses)


def chain_sync(
    config: Config, spec: ChainSpec, paths: ChainPaths, network: NetworkService, chain: NodeChain,
    store: Store, pool: TransactionPool, *, author: bool,
) -> ChainSync:  # fmt: skip
    """Return the sync of the configured mode: it downloads a state, or executes every block.

    `author`: this node makes the chain.
    """
    if author or config.sync == "full":
        return ChainSync(network, chain, store, author=author, pool=pool)
    beginning, checkpoint = trusted_genesis(spec, store), config.checkpoint
    root = chain.genesis_hash if checkpoint is None else checkpoint.block
    set_cache = AuthoritySetCache(paths.network / AUTHORITY_SETS_FILE, chain.genesis_hash, root)
    return ChainSync(
        network, chain, store, beginning=beginning, checkpoint=checkpoint, set_cache=set_cache, pool=pool
    )
