"""The genesis state of a specification in memory, and runtime calls on it before there is a node."""

from __future__ import annotations

from bisect import bisect_right

from cfnode.core.chainspec import RawGenesis
from cfnode.core.state import CHILD_STORAGE_PREFIX, CODE, TOP
from cfnode.core.trie import update
from cfnode.runtime.calls import Runtime, RuntimeFactory, UnsupportedCode
from cfnode.runtime.journal import Journal

__all__ = ["GenesisRuntime", "GenesisState"]

_VERSION = 1


class GenesisState:
    """The state of a genesis; implements `core.state.BlockState`."""

    def __init__(self, genesis: RawGenesis) -> None:
        self._nodes: dict[bytes, dict[bytes, bytes | None]] = {}
        self._values = {name: dict(pairs) for name, pairs in genesis.children.items()}
        roots = {CHILD_STORAGE_PREFIX + name: self._fill(name) for name in self._values}
        self._values[TOP] = dict(genesis.top) | roots
        self.root = self._fill(TOP)
        self._keys = {name: sorted(values) for name, values in self._values.items()}

    def _fill(self, child: bytes) -> bytes:
        update_result = update(lambda _path: None, self._values[child], _VERSION)
        self._nodes[child] = update_result.nodes
        return update_result.root

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value under `key` of the top trie, or of a child trie; None if there is no value."""
        return self._values.get(child, {}).get(key)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the first key strictly after `key` of the top trie, or of a child trie.

        None after the last.
        """
        keys = self._keys.get(child, [])
        index = bisect_right(keys, key)
        return keys[index] if index < len(keys) else None

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """Return the encoded trie node at `path` of the top trie, or of a child trie; None if absent."""
        return self._nodes.get(child, {}).get(path)


class GenesisRuntime:
    """A chain's first runtime on its genesis state."""

    def __init__(self, genesis: RawGenesis, runtime_for: RuntimeFactory) -> None:
        """Find the runtime of the genesis state. Raises UnsupportedCode."""
        self.state = GenesisState(genesis)
        code = self.state.get(CODE)
        if code is None:
            raise UnsupportedCode("the genesis state holds no code")
        self.code = code
        self._runtime: Runtime = runtime_for(code)

    def version(self) -> bytes:
        """Return the SCALE RuntimeVersion. Raises RuntimeCallError."""
        return self._runtime.version()

    def call(self, function: str, args: bytes = b"") -> bytes:
        """Return the output of an entry point; its writes are discarded. Raises RuntimeCallError."""
        return self._runtime.call(function, args, Journal(self.state))
