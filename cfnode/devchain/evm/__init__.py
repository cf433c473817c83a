"""A local EVM chain next to a development chain, with contracts that take its signed calls.

`chain` is the chain itself, on py-evm (extra `evm`); `genesis` its first state, with the contracts of
`contracts/`; `methods` the JSON-RPC methods on it, whose parameters `reading` checks and whose results
`forms` writes; `governor` follows the development chain's key; `server` is the port. The node does not import
the package: `cfnode dev evm` runs it in a process of its own.
"""
