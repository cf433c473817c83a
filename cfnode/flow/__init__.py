"""What bounds a flow of work: fair turns, rates, and the pause when no file descriptor is left.

Peers (`cfnode.network`) and the clients of the listening ports (`cfnode.serving`) are bounded by the same
rules. The package knows neither.
"""
