"""Tests of programs that use Chainflip, against a development chain in another process.

    from cfnode.testing import DevChain, running_node

With pytest the fixture `cfnode_dev` (`cfnode.pytest_plugin`) does that. `AsyncDevChain` has the methods of
`DevChain` as coroutines, for trio and asyncio. Both use the node's JSON-RPC, as any other program could.
"""

from cfnode.sdk.errors import RpcCallError, SdkError
from cfnode.testing.asynchronous import AsyncDevChain
from cfnode.testing.blocking import DevChain
from cfnode.testing.channels import Channel
from cfnode.testing.errors import NodeDidNotStart, NotReached, UnknownEvent
from cfnode.testing.node import DevNode, running_node

__all__ = [
    "AsyncDevChain",
    "Channel",
    "DevChain",
    "DevNode",
    "NodeDidNotStart",
    "NotReached",
    "RpcCallError",
    "SdkError",
    "UnknownEvent",
    "running_node",
]
