"""The ledger: books of swaps, fees and payouts of a broker's accounts, read from finalized blocks.

`Follower` reads the finalized blocks of any State Chain node by JSON-RPC and writes them with `Books`;
`reports` reads them. The package imports nothing of the node (docs/design/ledger.md).
"""
