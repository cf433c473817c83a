"""`cfnode status`: the status of any State Chain node and its broker, over JSON-RPC.

`asking` limits the calls, `parts` reads the answers, `report` combines them and derives warnings, `screen`
prints them.
"""

from cfnode.cli.status.command import status

__all__ = ["status"]
