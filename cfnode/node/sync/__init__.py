"""How does a node download the chain from its peers and follow it, and how does it serve peers that do so?"""
