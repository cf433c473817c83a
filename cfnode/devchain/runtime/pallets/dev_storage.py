"""Storage of `Dev` that genesis writes for tests."""

from __future__ import annotations

from cfnode.devchain.runtime.frame import OptionalMap, PalletStorage, Value

__all__ = ["DevStorage"]


class DevStorage(PalletStorage):
    """Entries that make a state large, and whether each epoch has new keys."""

    Entries = OptionalMap[int, bytes]("Twox64Concat", "u32", "Bytes")
    RotatesKeys = Value[bool]("bool")
