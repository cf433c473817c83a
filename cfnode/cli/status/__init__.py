"""`cfnode status`: how is a node, and how is its broker? Asked over JSON-RPC, of any State Chain node.

`asking` bounds the questions, `parts` reads the answers, `report` puts them together and finds what needs
attention, `screen` prints them.
"""

from cfnode.cli.status.command import status

__all__ = ["status"]
