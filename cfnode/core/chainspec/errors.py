"""The error of a chain specification, with its source and field."""

from __future__ import annotations

__all__ = ["ChainSpecError"]


class ChainSpecError(ValueError):
    """A chain specification cannot be used: `problem` in the `field` of the one called `source`."""

    def __init__(self, source: str, field: str, problem: str) -> None:
        self.source, self.field, self.problem = source, field, problem
        super().__init__(": ".join(part for part in (source, field, problem) if part))
