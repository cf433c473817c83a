"""`cfnode status`: what is the status of a node and its broker? It queries any State Chain node over
JSON-RPC.

`asking` limits the calls, `parts` reads the answers, `report` combines them and derives warnings, `screen`
prints them.
"""

from cfnode.cli.status.command import status

__all__ = ["status"]
