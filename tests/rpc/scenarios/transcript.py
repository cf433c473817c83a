"""What a scenario answered and emitted, whole, against the file in which it stands.

Signatures are random, so hashes of extrinsics and blocks differ in each run: each such hash becomes `<hash>`.
Everything else has to be the same. `CFNODE_TEST_WRITE=1` writes the files anew, to be read before they are
committed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "transcripts"
RANDOM = {"tx_hash", "block", "extrinsic"}
BLOCKS = ("dev_", "broker_register_account")
"""Methods that answer with a hash of a block or an extrinsic."""
MAX_DIFFERENCES = 20
"""Differences that are printed."""

Entry = dict[str, Any]


def slug(text: str) -> str:
    """Return a scenario's name as that of a file: of a test with its parameter, or of a guide's section."""
    words = text.removeprefix("test_").lower().replace("'", "")
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")


class Transcript:
    """The story so far, as JSON."""

    def __init__(self, scenario: str) -> None:
        self.path = FOLDER / f"{slug(scenario)}.json"
        self.entries: list[Entry] = []

    def answered(self, method: str, params: Any, answer: Any) -> None:
        """Keep a call and its result or error."""
        if method.startswith(BLOCKS) and isinstance(answer, str):
            answer = "<hash>"
        self.entries.append({"call": method, "params": params, "answer": masked(answer)})

    def emitted(self, events: Iterable[tuple[str, Any]]) -> None:
        """Check for events in their order."""
        self.entries += [{"event": name, "fields": as_json(fields)} for name, fields in events]

    def compare(self) -> None:
        """Compare with the file; fail with what is different."""
        if os.environ.get("CFNODE_TEST_WRITE"):
            FOLDER.mkdir(exist_ok=True)
            lines = ",\n".join(json.dumps(entry) for entry in self.entries)
            self.path.write_text(f"[\n{lines}\n]\n")
        if not self.path.exists():
            pytest.fail(f"{self.path.name} is not there; CFNODE_TEST_WRITE=1 writes it", pytrace=False)
        mismatches = list(differences(json.loads(self.path.read_text()), self.entries))
        if mismatches:
            more = (
                [f"… and {len(mismatches) - MAX_DIFFERENCES} more"]
                if len(mismatches) > MAX_DIFFERENCES
                else []
            )
            head = f"{self.path.name} differs (CFNODE_TEST_WRITE=1 writes it anew):"
            pytest.fail("\n  ".join([head, *mismatches[:MAX_DIFFERENCES], *more]), pytrace=False)


def differences(written: list[Entry], played: list[Entry]) -> Iterator[str]:
    """Return changed, new and removed values, a line each."""
    matcher = SequenceMatcher(
        None, [_title(entry) for entry in written], [_title(entry) for entry in played], False
    )
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            for at, (old, new) in enumerate(zip(written[i:j], played[k:m], strict=True), start=k + 1):
                yield from (
                    f"{at}. {_title(new)}: {path} is {json.dumps(current)}, was {json.dumps(other)}"
                    for path, other, current in members(old, new)
                )
            continue
        yield from (f"{at}. gone: {_title(entry)}" for at, entry in enumerate(written[i:j], start=i + 1))
        yield from (f"{at}. new: {_title(entry)}" for at, entry in enumerate(played[k:m], start=k + 1))


def _title(entry: Entry) -> str:
    return str(entry.get("event") or entry["call"])


def members(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield each leaf that differs: its path, how it was and how it is."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(member for member in new if member not in old)]:
            yield from members(old.get(name, "absent"), new.get(name, "absent"), f"{path}.{name}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from members(one, other, f"{path}[{at}]")
    elif old != new or type(old) is not type(new):
        yield path, old, new


def as_json(value: Any) -> Any:
    """Return a decoded SCALE value: bytes as hex, tuples as lists."""
    if isinstance(value, bytes | bytearray):
        return f"0x{value.hex()}"
    if isinstance(value, dict):
        return {name: as_json(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value


def masked(value: Any) -> Any:
    """Return an answer without the hashes that are random."""
    if isinstance(value, dict):
        return {name: "<hash>" if name in RANDOM else masked(member) for name, member in value.items()}
    return [masked(item) for item in value] if isinstance(value, list) else value
