"""Web page of `cfnode service run --web`: the operator's view of books and node.

`Dashboard` is an ASGI application for the paths below /web. It reads the ledger, and calls a node only by
JSON-RPC. On a development chain it has an explorer of blocks, and the controls of the chain.
"""

from cfnode.dashboard.app import Dashboard
from cfnode.dashboard.node import RpcNode

__all__ = ["Dashboard", "RpcNode"]
