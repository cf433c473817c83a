"""The new JSON-RPC interface of Substrate chains (paritytech.github.io/json-rpc-interface-spec), version 1.

What stays of a connection between two calls is in `rpc/held.py`. Where the specification leaves a choice,
the node does what Substrate's stable2509 does.
"""
