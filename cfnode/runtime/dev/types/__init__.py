"""The types of runtime 2.2: Substrate's own, and Chainflip's. Importing this package declares them all."""

from __future__ import annotations

from . import substrate

__all__ = ["substrate"]
