"""The data of a development node's swap service, read from the node in its own process."""
