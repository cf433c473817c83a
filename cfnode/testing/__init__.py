"""Tests of programs that use Chainflip, against a development chain in another process.

    from cfnode.testing import DevChain, running_node

    with running_node(folder) as node, DevChain(node.url) as chain:
        channel = chain.broker.open_channel("Btc", "Eth", ADDRESS, refund_address=REFUND)
        chain.deposit(channel["address"], "Btc", 10_000_000)
        chain.advance_to("Swapping", "SwapExecuted")

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
