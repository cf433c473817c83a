"""The `offchain_*` methods: the storage of offchain workers (Substrate, `sc-rpc-api`, offchain).

No offchain workers run on this node, so the storage is empty and nothing would read it: writing is refused,
and every key is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.rpc.table.convert import BYTES
from cfnode.rpc.table.rows import Access, Method, Param, Reader
from cfnode.rpc.table.serde_types import enum

if TYPE_CHECKING:
    from cfnode.node.node import Node

NOT_AVAILABLE: Final = RpcError(5001, "This storage kind is not available yet")
NO_WORKERS: Final = RpcError(
    ErrorCode.CALL_FAILED, "No offchain workers run on this node: nothing would read what is written here"
)


def _check_kind(kind: str) -> None:
    if kind != "PERSISTENT":
        raise NOT_AVAILABLE


def get(node: Node, kind: str, key: bytes) -> None:
    """Return the value under a key: always null."""
    _check_kind(kind)


def put(node: Node, kind: str, key: bytes, value: bytes) -> None:
    """Refuse to write a value: nothing would read it."""
    _check_kind(kind)
    raise NO_WORKERS


def clear(node: Node, kind: str, key: bytes) -> None:
    """Remove the value under a key; do nothing, since there is none."""
    _check_kind(kind)


KIND: Final = Param(
    "kind", Reader("PERSISTENT|LOCAL", enum("StorageKind", dict.fromkeys(("PERSISTENT", "LOCAL"))))
)
OFFCHAIN_KEY_PARAM: Final = Param("key", BYTES)

METHODS: Final = (
    Method("offchain_localStorageGet", get, params=(KIND, OFFCHAIN_KEY_PARAM), access=Access.UNSAFE),
    Method(
        "offchain_localStorageSet",
        put,
        params=(KIND, OFFCHAIN_KEY_PARAM, Param("value", BYTES)),
        access=Access.UNSAFE,
    ),
    Method("offchain_localStorageClear", clear, params=(KIND, OFFCHAIN_KEY_PARAM), access=Access.UNSAFE),
)
