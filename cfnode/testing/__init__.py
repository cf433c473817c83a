"""Tests of programs that use Chainflip, against a development chain in another process.

    from pathlib import Path
    from tempfile import TemporaryDirectory

    from cfnode.testing import DevChain, running_node

    with TemporaryDirectory() as folder, running_node(Path(folder)) as node, DevChain(node.url) as chain:
        before = chain.clock.now()
        chain.new_block(3)
        print(chain.clock.now() > before)

With pytest the fixture `cfnode_dev` (`cfnode.pytest_plugin`) does that. `AsyncDevChain` has the methods of
`DevChain` as coroutines, for trio and asyncio. Both use the node's JSON-RPC, as any other program could.
"""

from cfnode.sdk.errors import RpcCallError, SdkError
from cfnode.testing.asynchronous import AsyncBroker, AsyncClock, AsyncDevChain
from cfnode.testing.blocking import Broker, Clock, DevChain
from cfnode.testing.channels import Channel
from cfnode.testing.dev_calls import Asset, Event
from cfnode.testing.errors import NodeDidNotStart, NotReached, UnknownEvent
from cfnode.testing.node import DevNode, running_node

__all__ = [
    "Asset",
    "AsyncBroker",
    "AsyncClock",
    "AsyncDevChain",
    "Broker",
    "Channel",
    "Clock",
    "DevChain",
    "DevNode",
    "Event",
    "NodeDidNotStart",
    "NotReached",
    "RpcCallError",
    "SdkError",
    "UnknownEvent",
    "running_node",
]
