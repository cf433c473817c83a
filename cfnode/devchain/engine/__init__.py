"""The engine of a development chain in the chain's own runtime: it does what Chainflip's engines do.

Real engines watch foreign chains, sign together and send transactions. Here one process knows the keys, and
the foreign chains are what a test says. After each block the engine reads from the state what the chain
waits for, and its answers are the first transactions of the next block.
"""
