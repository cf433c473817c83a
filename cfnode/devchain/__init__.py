"""The development chain: what makes it, what a test does to it; the node does not know it."""
