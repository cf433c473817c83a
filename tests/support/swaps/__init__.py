"""A model of swaps, random lives of a chain, and what all rooms say of them."""
