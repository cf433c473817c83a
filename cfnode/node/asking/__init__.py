"""Requests to peers: peer records, the order of asking, blocks and proofs, and the sync's progress."""
