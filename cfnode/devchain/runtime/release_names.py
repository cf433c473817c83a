"""Names of the runtime's releases that a development chain can have.

The command line reads them here without importing the runtime.
"""

from __future__ import annotations

__all__ = ["DEFAULT_RELEASE", "RELEASE_NAMES"]

RELEASE_NAMES = (
    "2.2.3",
    "2.2.9",
    "2.3.0",
)
"""Names of the releases, the oldest first."""

DEFAULT_RELEASE = "2.3.0"
"""The release of a development chain for which none is chosen."""
