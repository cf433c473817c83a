"""GRANDPA between peers: votes, commits and justifications that make blocks final."""
