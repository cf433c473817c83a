"""What a scenario answered and said, whole, against the file in which it stands.

Signatures are random, so hashes of extrinsics and blocks differ in each run: each such hash becomes `<hash>`.
Everything else has to be the same. `CFNODE_TEST_WRITE=1` writes the files anew, to be read before they are
committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "scenarios"
RANDOM = {"tx_hash", "block", "extrinsic"}
BLOCKS = ("dev_", "broker_register_account")
"""Methods that answer with a hash of a block or an extrinsic."""


class Transcript:
    """The story so far, as JSON."""

    def __init__(self, test: str) -> None:
        name = test.removeprefix("test_").replace("[", "-").rstrip("]")
        self.path = FOLDER / f"{name}.json"
        self.entries: list[Any] = []

    def answered(self, method: str, params: Any, answer: Any) -> None:
        """A call and its result or error."""
        if method.startswith(BLOCKS) and isinstance(answer, str):
            answer = "<hash>"
        self.entries.append({"call": method, "params": params, "answer": masked(answer)})

    def heard(self, said: Iterable[tuple[str, Any]]) -> None:
        """Events in their order."""
        self.entries += [{"event": name, "fields": as_json(fields)} for name, fields in said]

    def compare(self) -> None:
        """Entry by entry with the file."""
        if os.environ.get("CFNODE_TEST_WRITE"):
            FOLDER.mkdir(exist_ok=True)
            lines = ",\n".join(json.dumps(entry) for entry in self.entries)
            self.path.write_text(f"[\n{lines}\n]\n")
        expected = json.loads(self.path.read_text())
        for ours, theirs in zip(self.entries, expected, strict=False):
            assert ours == theirs
        assert len(self.entries) == len(expected)


def as_json(value: Any) -> Any:
    """A decoded SCALE value: bytes as hex, tuples as lists."""
    if isinstance(value, bytes | bytearray):
        return f"0x{value.hex()}"
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    return value


def masked(value: Any) -> Any:
    """An answer without the hashes that are random."""
    if isinstance(value, dict):
        return {name: "<hash>" if name in RANDOM else masked(each) for name, each in value.items()}
    return [masked(each) for each in value] if isinstance(value, list) else value
