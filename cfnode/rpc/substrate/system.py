"""The `system_*` methods: identity, health and peers of this node (Substrate, `sc-rpc-api`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode import __version__
from cfnode.core.jsonrpc import RpcError
from cfnode.core.log_directives import DirectiveError
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.peer_id import PeerIdError, public_of
from cfnode.core.wire import WireError
from cfnode.core.wire.announces import AnnounceHandshake
from cfnode.network.interface import PeerInfo
from cfnode.rpc.substrate.log_filters import LogFilters
from cfnode.rpc.table.blocks import AT, ask_runtime
from cfnode.rpc.table.convert import ACCOUNT, BYTES, TEXT, to_hex
from cfnode.rpc.table.extrinsics import read_extrinsic
from cfnode.rpc.table.rows import Access, Method, Param

if TYPE_CHECKING:
    from cfnode.node.node import Node
    from cfnode.node.readiness import Health

NAME: Final = "Chainflip Node"
"""The official node's name; clients display it, and some compare it."""
VERSION: Final = f"{__version__}-cfnode"
BAD_PEER: Final = 2002
BAD_FILTER: Final = 2000

_filters = LogFilters()
"""The log filters of the process, whose loggers all of its nodes share."""


def name(node: Node) -> str:
    """Return the name of the node's software."""
    return NAME


def version(node: Node) -> str:
    """Return the version of the node's software."""
    return VERSION


def chain(node: Node) -> str:
    """Return the chain's name."""
    return node.spec.name


def chain_type(node: Node) -> str:
    """Return `Live`, `Development`, `Local` or the specification's own."""
    return node.spec.chain_type


def properties(node: Node) -> dict[str, Any]:
    """Return the token's symbol and decimals, and the address prefix."""
    return dict(node.spec.properties)


def health(node: Node) -> Health:
    """Return the number of peers, whether the node is still syncing, and whether it should have peers."""
    return node.health()


def local_peer_id(node: Node) -> str:
    """Return the node's identity among peers."""
    return node.local_peer_id


def local_listen_addresses(node: Node) -> list[str]:
    """Return the addresses at which peers reach the node."""
    return [str(address.with_peer(node.local_peer_id)) for address in node.network.addresses]


def node_roles(node: Node) -> list[str]:
    """Return `Authority` if it authors blocks, else `Full`."""
    return ["Authority" if node.is_authority else "Full"]


def sync_state(node: Node) -> dict[str, int]:
    """Return the block at which syncing started, the best block, and the highest that peers announce."""
    best = node.chain.best.number
    return {
        "startingBlock": node.sync.starting_block,
        "currentBlock": best,
        "highestBlock": max(best, node.sync.peer_set.median_claim),
    }


def peers(node: Node) -> list[dict[str, Any]]:
    """Return the connected peers, with the best blocks that they announce."""
    peers_json = (_peer(node, peer) for peer in node.network.peers.values() if peer.is_peer)
    return [peer for peer in peers_json if peer is not None]


def _peer(node: Node, peer: PeerInfo) -> dict[str, Any] | None:
    """Return a peer in JSON.

    None for a peer whose handshake is malformed: it is about to be dropped.
    """
    try:
        handshake = AnnounceHandshake.decode(peer.handshake)
    except WireError:
        return None
    synced = node.sync.peer_set.get(peer.peer_id)
    best = (synced.number, synced.hash) if synced else (handshake.best_number, handshake.best_hash)
    return {
        "peerId": peer.peer_id,
        "roles": (handshake.roles.name or "").replace("|", " | "),
        "bestHash": to_hex(best[1]),
        "bestNumber": best[0],
    }


def network_state(node: Node) -> dict[str, Any]:
    """Return the internal state of the network service; its shape is not stable."""
    network = node.network
    return {
        "peerId": node.local_peer_id,
        "listenedAddresses": [str(address) for address in network.listening],
        "externalAddresses": [str(address) for address in network.addresses],
        "connectedPeers": {peer.peer_id: _connected(peer) for peer in network.peers.values()},
        "notConnectedPeers": {peer: {"reason": reason} for peer, reason in network.unreachable.items()},
        "totalBytesInbound": network.bytes_received,
        "totalBytesOutbound": network.bytes_sent,
    }


def _connected(peer: PeerInfo) -> dict[str, Any]:
    endpoint = {"listening" if peer.inbound else "dialing": peer.address}
    return {
        "endpoint": endpoint,
        "versionString": peer.agent,
        "open": sorted(peer.opened),
        "reputation": peer.reputation,
    }


def reserved_peers(node: Node) -> list[str]:
    """Return the reserved peers, to which the node always keeps a connection."""
    return sorted(node.network.reserved)


def add_reserved_peer(node: Node, peer: str) -> None:
    """Reserve a peer, by its address `/ip4/…/tcp/…/p2p/…`."""
    try:
        node.network.reserve(Multiaddr.parse(peer))
    except ValueError as error:
        raise RpcError(BAD_PEER, str(error)) from None


def remove_reserved_peer(node: Node, peer_id: str) -> None:
    """Unreserve a peer, by its id."""
    try:
        public_of(peer_id)
    except PeerIdError as error:
        raise RpcError(BAD_PEER, str(error)) from None
    node.network.unreserve(peer_id)


def add_log_filter(node: Node, directives: str) -> None:
    """Change log levels: `target=level,…`."""
    try:
        _filters.add(directives)
    except DirectiveError as error:
        raise RpcError(BAD_FILTER, str(error)) from None


def reset_log_filter(node: Node) -> None:
    """Reset all log levels to those at the start."""
    _filters.reset()


async def account_next_index(node: Node, account: bytes) -> int:
    """Return the nonce of an account's next transaction, after those that are ready in the pool."""
    return await node.pool.ready_nonce(account)


async def dry_run(node: Node, extrinsic: bytes, at: bytes | None) -> str:
    """Return the result of applying an extrinsic: SCALE ApplyExtrinsicResult."""
    encoded = read_extrinsic(extrinsic, "Unable to dry run extrinsic", is_debug=False)
    return to_hex(await ask_runtime(node, at, "BlockBuilder_apply_extrinsic", encoded))


METHODS: Final = (
    Method("system_name", name),
    Method("system_version", version),
    Method("system_chain", chain),
    Method("system_chainType", chain_type),
    Method("system_properties", properties),
    Method("system_health", health),
    Method("system_localPeerId", local_peer_id),
    Method("system_localListenAddresses", local_listen_addresses),
    Method("system_nodeRoles", node_roles),
    Method("system_syncState", sync_state),
    Method("system_peers", peers, access=Access.UNSAFE),
    Method("system_unstable_networkState", network_state, access=Access.UNSAFE),
    Method("system_reservedPeers", reserved_peers),
    Method(
        "system_addReservedPeer",
        add_reserved_peer,
        params=(Param("peer", TEXT),),
        access=Access.UNSAFE,
    ),
    Method(
        "system_removeReservedPeer",
        remove_reserved_peer,
        params=(Param("peer_id", TEXT),),
        access=Access.UNSAFE,
    ),
    Method(
        "system_addLogFilter",
        add_log_filter,
        params=(Param("directives", TEXT),),
        access=Access.UNSAFE,
    ),
    Method("system_resetLogFilter", reset_log_filter, access=Access.UNSAFE),
    Method(
        "system_accountNextIndex",
        account_next_index,
        aliases=("account_nextIndex",),
        params=(Param("account", ACCOUNT),),
    ),
    Method(
        "system_dryRun",
        dry_run,
        aliases=("system_dryRunAt",),
        params=(Param("extrinsic", BYTES), AT),
        access=Access.UNSAFE,
    ),
)
