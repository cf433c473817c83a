"""The `system_*` methods: what this node is, how it is doing, and whom it knows (Substrate, `sc-rpc-api`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode import __version__
from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.blocks import AT, ask_runtime, check_extrinsic
from cfnode.rpc.convert import ACCOUNT, BYTES, TEXT, to_hex
from cfnode.rpc.dispatch import Health, ServedNode
from cfnode.rpc.log_filters import LogFilterError, LogFilters
from cfnode.rpc.table import Access, Method, Param

if TYPE_CHECKING:
    from cfnode.node.node import Node

NAME: Final = "Chainflip Node"
"""What the official node calls itself; clients show it, and some compare it."""
VERSION: Final = f"{__version__}-cfnode"
NO_NETWORK: Final = RpcError(2000, "This node has no peer-to-peer network")
BAD_FILTER: Final = 2000

_filters = LogFilters()


def name(node: Node) -> str:
    """The name of the node's software."""
    return NAME


def version(node: Node) -> str:
    """Its version."""
    return VERSION


def chain(node: Node) -> str:
    """The chain's name."""
    return node.spec.name


def chain_type(node: Node) -> str:
    """`Live`, `Development`, `Local` or the specification's own."""
    return node.spec.chain_type


def properties(node: Node) -> dict[str, Any]:
    """Token symbol, decimals and address prefix."""
    return dict(node.spec.properties)


def health(node: ServedNode) -> Health:
    """Peers, whether it is still syncing, and whether it should have peers."""
    return node.health()


def local_peer_id(node: Node) -> str:
    """The node's identity among peers."""
    return node.local_peer_id


def local_listen_addresses(node: Node) -> list[str]:
    """Where peers reach it."""
    return []


def node_roles(node: Node) -> list[str]:
    """`Authority` if it authors blocks, else `Full`."""
    return ["Authority" if node.is_authority else "Full"]


def sync_state(node: Node) -> dict[str, int]:
    """The block it started from, the best one, and the highest that is known of."""
    best = node.chain.best.number
    return {"startingBlock": 0, "currentBlock": best, "highestBlock": best}


def peers(node: Node) -> list[Any]:
    """Connected peers."""
    return []


def network_state(node: Node) -> dict[str, Any]:
    """The network's inner state; its shape is not stable."""
    return {
        "peerId": node.local_peer_id,
        "listenedAddresses": [],
        "externalAddresses": [],
        "connectedPeers": {},
        "notConnectedPeers": {},
    }


def reserved_peers(node: Node) -> list[str]:
    """Peers that are always kept."""
    return []


def change_reserved_peer(node: Node, peer: str) -> None:
    """Refused: this node has no peers."""
    raise NO_NETWORK


def add_log_filter(node: Node, directives: str) -> None:
    """Change what is logged: `target=level,…`."""
    try:
        _filters.add(directives)
    except LogFilterError as error:
        raise RpcError(BAD_FILTER, str(error)) from None


def reset_log_filter(node: Node) -> None:
    """Log again what was logged at the start."""
    _filters.reset()


async def account_next_index(node: Node, account: bytes) -> int:
    """The nonce of an account's next transaction, past those that are ready in the pool."""
    return await node.pool.ready_nonce(account)


async def dry_run(node: Node, extrinsic: bytes, at: bytes | None) -> str:
    """What applying an extrinsic would give: SCALE ApplyExtrinsicResult."""
    check_extrinsic(extrinsic, "Unable to dry run extrinsic.")
    return to_hex(await ask_runtime(node, at, "BlockBuilder_apply_extrinsic", extrinsic))


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
        change_reserved_peer,
        params=(Param("peer", TEXT),),
        access=Access.UNSAFE,
    ),
    Method(
        "system_removeReservedPeer",
        change_reserved_peer,
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
