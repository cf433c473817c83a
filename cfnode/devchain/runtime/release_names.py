"""Which releases of the runtime can a development chain have?

Names only, so that the command line knows them without the runtime.
"""

from __future__ import annotations

__all__ = ["DEFAULT_RELEASE", "RELEASE_NAMES"]

RELEASE_NAMES = ("2.2.3", "2.2.9", "2.3.0")
"""The oldest first."""

DEFAULT_RELEASE = "2.3.0"
"""The release of a development chain for which none is chosen."""
