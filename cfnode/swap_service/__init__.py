"""The swap service of a development node: what a swap SDK asks beside a broker, on the port of JSON-RPC.

On the public networks it is a service of its own, with a database. A node that makes its chain answers the
same requests (quotes, status, channels, networkInfo) by the runtime's own simulation and by the events of the
blocks that it made, so that an SDK pointed at it needs nothing else. `routes` is the table of what is served.
"""
