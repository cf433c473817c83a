"""Data of a node on disk: the chain in a pruned LMDB database, and key files."""

from __future__ import annotations

from cfnode.store.errors import BasePathError, StateDiscarded, StoreError, UnknownBlock
from cfnode.store.finality import ARCHIVE, FinalityStep, Pruning
from cfnode.store.overlays import Overlay
from cfnode.store.reader import StoreReader
from cfnode.store.state import StateView
from cfnode.store.state_import import StateImport
from cfnode.store.store import Store, StoreCopy

__all__ = [
    "ARCHIVE",
    "BasePathError",
    "FinalityStep",
    "Overlay",
    "Pruning",
    "StateDiscarded",
    "StateImport",
    "StateView",
    "Store",
    "StoreCopy",
    "StoreError",
    "StoreReader",
    "UnknownBlock",
]
