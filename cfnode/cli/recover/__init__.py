"""`cfnode recover`: a command that recovers the funds of a failed transfer."""

from cfnode.cli.recover.command import recover

__all__ = ["recover"]
