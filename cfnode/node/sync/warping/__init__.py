"""Joining the chain: proofs of finality, the state of the proven block, and reads by proof until then."""
