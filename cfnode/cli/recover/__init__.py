"""`cfnode recover`: a failed transfer's funds, in one command."""

from cfnode.cli.recover.command import recover

__all__ = ["recover"]
