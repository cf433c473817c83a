"""Requests to peers: their records, who is asked next, blocks and proofs, and the progress of a download."""
