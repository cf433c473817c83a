"""How does a node come to hold the chain that others hold, and how does it help others to it?"""
