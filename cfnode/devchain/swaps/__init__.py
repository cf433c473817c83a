"""From where has the swap service of a development node what it answers? From the node, in its process."""
