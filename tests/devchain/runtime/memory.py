"""A host in memory with nested transactions: what the pallets' tests run on."""

from __future__ import annotations

from cfnode.devchain.runtime.frame import GenesisHost


class MemoryHost(GenesisHost):
    """Storage in a dictionary; a transaction is a copy of it."""

    def __init__(self, storage: dict[bytes, bytes] | None = None) -> None:
        super().__init__()
        self.storage = dict(storage or {})
        self._saved: list[dict[bytes, bytes]] = []

    def begin(self) -> None:
        """Begin a transaction of the storage."""
        self._saved.append(dict(self.storage))

    def commit(self) -> None:
        """Keep the changes of the last transaction."""
        self._saved.pop()

    def rollback(self) -> None:
        """Undo the changes of the last transaction."""
        self.storage = self._saved.pop()
