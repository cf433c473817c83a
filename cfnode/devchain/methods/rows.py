"""The table of all `dev_*` methods.

They exist only on a node that makes a development chain, and are unsafe.
"""

from __future__ import annotations

from typing import Final

from cfnode.devchain.methods import blocks, foreign_chains, governance, snapshots

METHODS: Final = (*blocks.METHODS, *foreign_chains.METHODS, *governance.METHODS, *snapshots.METHODS)
SECTION: Final = ("dev", "Only on a development chain that this node authors (`cfnode run --dev`).", METHODS)
"""The section of these methods on the page of all methods: prefix, note and rows."""
