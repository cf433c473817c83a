"""The swap service, which swap SDKs need besides a broker: quotes, statuses, channels, networkInfo.

The rules are here, over the interface of `source`. There are two sources: a development node, which serves
the requests on its RPC port, and any node by JSON-RPC with the books (`live`, `cfnode service run`). `routes`
is the table of requests.
"""
