"""The JSON-RPC server of a node; on a development chain it also serves `dev_*` and the swap service."""

from __future__ import annotations

import trio

from cfnode.devchain.chain import development_chain
from cfnode.devchain.methods.rows import METHODS
from cfnode.devchain.swaps.source import DevSwapSource
from cfnode.node.config import Config
from cfnode.node.node import Node
from cfnode.rpc import server
from cfnode.swap_service.routes import SwapService

__all__ = ["serve"]


async def serve(
    node: Node, config: Config, *, task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve a node's JSON-RPC until cancelled; `started` gets the addresses.

    A node that makes a development chain also serves its methods and pages. Raises what
    `cfnode.rpc.server.serve` raises.
    """
    chain = development_chain(node)
    if chain is None:
        await server.serve(node, config, task_status=task_status)
        return
    service = SwapService(DevSwapSource(node, chain))
    await server.serve(node, config, methods=METHODS, pages=service, task_status=task_status)
