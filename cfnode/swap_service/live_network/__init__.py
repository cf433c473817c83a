"""The swap service of a live network, which answers from a node by JSON-RPC, and from the books.

Quotes, limits and networkInfo are the node's, statuses those of the books (`cfnode.ledger`), channels and
vault swaps a broker's, by the JSON-RPC of its node. The package imports nothing of the node.
"""
