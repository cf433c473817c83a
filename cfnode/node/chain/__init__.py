"""The chain of this node: import, fork choice, finality, and reading it at a block."""
