"""What does a swap SDK need besides a broker? The swap service: quotes, statuses, channels, networkInfo.

The rules are here, over the interface of `source`. There are two sources: a development node, which serves
the requests on its RPC port, and any node by JSON-RPC with the books (`live`, `cfnode service run`). `routes`
is the table of requests.
"""
