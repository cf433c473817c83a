"""The development chain: the code that makes it, and the methods by which a test steers it. The node does not
depend on it."""
