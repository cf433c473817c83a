"""The new JSON-RPC interface of Substrate chains (paritytech.github.io/json-rpc-interface-spec), version 1.

`rpc/table/connection_state.py` holds the state of a connection between two calls. Where the specification
leaves a choice, the node follows Substrate's stable2509.
"""
