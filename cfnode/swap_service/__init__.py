"""What does a swap SDK need besides a broker? The swap service, which a development node serves on its RPC
port.

On the public networks it is a separate service with a database. A development node answers the same requests
(quotes, status, channels, networkInfo) from the runtime's simulation and the events of its own blocks, so
that an SDK needs only the node. `routes` is the table of requests.
"""
