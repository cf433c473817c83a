"""Shared parts of the project's servers: hosts, origins, tokens, bodies, pages, and SIGHUP.

The node's JSON-RPC server (`cfnode.rpc`), the swap service on live networks
(`cfnode.swap_service.live_network`) and its web page use it. The package knows nothing of a node.
"""
