"""A network of nodes that die, stand still and lose each other at random, for an hour or a minute."""
