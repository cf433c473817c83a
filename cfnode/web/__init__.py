"""What do the servers of the project have in common? Which hosts, origins and tokens they answer, pages, and
what SIGHUP means.

The node's JSON-RPC server (`cfnode.rpc`) and the swap service on live networks (`cfnode.swap_service.live`)
use it. The package knows nothing of a node.
"""
