"""The types of runtime 2.2: Substrate's own, and Chainflip's. Importing this package declares them all."""

from __future__ import annotations

from . import addresses, assets, channels, substrate, swaps

__all__ = ["addresses", "assets", "channels", "substrate", "swaps"]
