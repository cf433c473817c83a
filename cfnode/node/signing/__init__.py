"""Calls that the node signs itself, for a broker or a liquidity provider."""
