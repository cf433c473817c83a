"""What happened on the chain for a broker's accounts, and what did it cost? The books have it.

`Follower` reads the finalized blocks of any State Chain node by JSON-RPC and writes them with `Books`;
`reports` reads them. The package imports nothing of the node (docs/design/ledger.md).
"""
