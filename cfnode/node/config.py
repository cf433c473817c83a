"""Configuration of a node: the flags of `cfnode run`, checked and typed.

Sizes are bytes, durations seconds (slots and clocks: milliseconds), chain ids and paths as given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SyncMode = Literal["light-rpc", "full", "warp", "fast", "fast-unsafe"]
RpcMethods = Literal["auto", "safe", "unsafe"]
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RpcConfig:
    """The JSON-RPC server. `cors` None is the list of local origins."""

    port: int = 9944
    external: bool = False
    methods: RpcMethods = "auto"
    cors: tuple[str, ...] | None = None
    """Allowed origins; `("all",)` allows any."""
    max_request_size: int = 15 * MIB
    max_response_size: int = 15 * MIB
    max_connections: int = 100
    max_subscriptions: int = 1024
    """Subscriptions of one connection."""
    message_buffer: int = 64
    """Messages that wait for a connection that reads slowly; a connection with more is closed."""
    max_batch: int = 100
    """Requests in one batch; 0 refuses batches."""
    rate_limit: int | None = None
    """Calls per minute and connection; None: unlimited."""
    rate_limit_whitelist: tuple[str, ...] = ()
    """Addresses or networks (CIDR) that the rate limit does not apply to."""
    trust_proxy_headers: bool = False
    """Whether proxies on this machine and in private networks are trusted to name their clients."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks (CIDR) of the proxies that are trusted instead."""
    broker_clients: tuple[str, ...] = ()
    """Addresses or networks (CIDR) that may call broker methods; empty: every client that reaches the
    port."""
    allowed_hosts: tuple[str, ...] = ()
    """Further accepted values of the Host header; `("all",)`: any."""
    auth_token_file: Path | None = None
    """The file of bearer tokens; None: no method needs one."""


@dataclass(frozen=True, slots=True)
class PrometheusConfig:
    """The metrics endpoint."""

    port: int = 9615
    external: bool = False

    @property
    def host(self) -> str:
        """The address that the endpoint listens at."""
        return "0.0.0.0" if self.external else "127.0.0.1"


@dataclass(frozen=True, slots=True)
class PruningConfig:
    """The number of finalized blocks that keep their bodies, and their states; None: all (archive)."""

    blocks: int | None = 128
    state: int | None = 128


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The settings of the network: listening, dialing and the number of peers."""

    port: int = 30333
    listen: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    boot_nodes: tuple[str, ...] = ()
    reserved_nodes: tuple[str, ...] = ()
    reserved_only: bool = False
    in_peers: int = 32
    in_peers_light: int = 100
    out_peers: int = 8
    private_addresses: bool | None = None
    """Whether private addresses of unknown nodes are dialed; None: on development and local chains."""
    node_key: bytes | None = field(default=None, repr=False)
    """The 32 secret bytes of an ed25519 key given by flag; never printed."""
    node_key_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The beginning of proofs: the hash of a block, and the id of the authority set that begins with it."""

    block: bytes
    set_id: int


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of `cfnode run`."""

    base_path: Path
    chain: str = "berghain"
    """The name of a built-in chain (`dev`, `berghain`) or the path of a chain specification."""
    name: str = "cfnode"
    sync: SyncMode = "light-rpc"
    checkpoint: Checkpoint | None = None
    """The block from which proofs begin; None: genesis."""
    temporary: bool = False
    """Whether the base path is a fresh directory that is removed at the end."""
    pruning: PruningConfig = PruningConfig()
    keystore_path: Path | None = None
    """The keystore's directory; None: `<base path>/chains/<chain id>/keystore`."""
    pool_limit: int = 8192
    """The maximum number of ready transactions."""
    pool_bytes: int = 20 * MIB
    runtime_instances: int = 8
    """The maximum number of processes for runtime calls, besides the process for blocks; never more than
    cores."""
    rpc: RpcConfig = RpcConfig()
    prometheus: PrometheusConfig | None = PrometheusConfig()
    network: NetworkConfig = NetworkConfig()
