"""The development chain: its author, voters and runtime, and the `dev_*` methods by which a test steers it.

The node does not depend on this package.
"""
