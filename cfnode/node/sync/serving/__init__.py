"""Answers to peers that sync: blocks, states, proofs, and their limits."""
