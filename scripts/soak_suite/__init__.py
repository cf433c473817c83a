"""A network of nodes with random kills, pauses and lost connections, for an hour or a minute."""
