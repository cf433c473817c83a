"""Bounds on a flow of work: fair turns, rates, shared work, restarts, a pause without file descriptors.

Peers (`cfnode.network`) and the clients of the listening ports (`cfnode.serving`) are bounded by the same
rules. The package knows neither.
"""
