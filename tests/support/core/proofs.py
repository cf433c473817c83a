"""Proofs of the vectors, and the nodes of a trie."""

from __future__ import annotations

import json
from typing import Any

from cfnode.core.trie import update
from tests.conftest import shared


def expected(name: str) -> Any:
    """Return expected values of the vectors."""
    return json.loads(shared("vectors", "smoldot", "expected.json").read_text())[name]


def stored(pairs: dict[bytes, bytes], version: int) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the root of the pairs and the nodes of their trie."""
    done = update(lambda _path: None, pairs, version)
    return done.root, {path: node for path, node in done.nodes.items() if node is not None}
