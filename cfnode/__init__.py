"""cfnode: a light-RPC node for the Chainflip State Chain."""

__version__ = "0.1.0"
