"""Tests of programs that use Chainflip, against a development chain in another process.

    from cfnode.testing import DevChain, running_node

With pytest the fixture `cfnode_dev` (`cfnode.pytest_plugin`) does that. `AsyncDevChain` has the methods of
`DevChain` as coroutines, for trio and asyncio. Both use the node's JSON-RPC, as any other program could.

With pytest the fixture `cfnode_dev` (`cfnode.pytest_plugin`) does that. `AsyncDevChain` has the same methods
as coroutines, for trio and asyncio. All use the node's JSON-RPC, as any other program could.
"""

from cfnode.sdk.errors import RpcCallError, SdkError
from cfnode.testing.asynchronous import AsyncDevChain
from cfnode.testing.blocking import DevChain
from cfnode.testing.dev_calls import NotReached
from cfnode.testing.node import DevNode, NodeDidNotStart, running_node

__all__ = [
    "AsyncDevChain",
    "DevChain",
    "DevNode",
    "NodeDidNotStart",
    "NotReached",
    "RpcCallError",
    "SdkError",
    "running_node",
]
