"""@polkadot/api as a second reader of events: what it decodes, and whether that is the same."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cfnode.core import ss58

SCRIPT = Path(__file__).parent / "polkadot_events.mjs"
Events = list[tuple[str, Any]]
"""(`Pallet.Event`, fields) of a block."""


class Reader:
    """A process that decodes events of blocks by the metadata that it was given."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._metadata = ""

    def read(self, metadata: str, blocks: list[bytes]) -> list[Events]:
        """Return `System.Events` of blocks as @polkadot/api decodes them; `metadata` is the node's hex."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if metadata != self._metadata:
            self._metadata = metadata
            self._say({"metadata": metadata})
        for block in blocks:
            self._say({"events": f"0x{block.hex()}"})
        self._process.stdin.flush()
        return [events_of(self._process.stdout.readline()) for _ in blocks]

    def _say(self, message: dict[str, str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")


def events_of(line: str) -> Events:
    """Return the events of a line of the script's."""
    assert line, "@polkadot/api could not decode the events: see what it wrote to standard error"
    return [(name, fields) for name, fields in json.loads(line)]


def script_in(node_modules: Path, folder: Path) -> Path:
    """Return the script, where it finds the peers."""
    script = folder / SCRIPT.name
    script.write_text(SCRIPT.read_text())
    (folder / "node_modules").symlink_to(node_modules)
    return script


@contextmanager
def running_reader(node_modules: Path, folder: Path) -> Iterator[Reader]:
    """Yield a reader, for as long as it is needed."""
    script = script_in(node_modules, folder)
    process = subprocess.Popen(
        ["node", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=-1
    )
    try:
        yield Reader(process)
    finally:
        process.kill()
        process.communicate(timeout=30)


def leaves(value: Any) -> list[Any]:
    """Return an event's names and values in their order, whatever a library wraps around them.

    Each spells names in its own way, and integers as numbers or as hex of its own length: both are folded.
    """
    flat: list[Any] = []
    if isinstance(value, dict):
        for name, member in value.items():
            flat += [_folded(name), *leaves(member)]
    elif isinstance(value, list | tuple):
        for item in value:
            flat += leaves(item)
    elif isinstance(value, bytes):
        flat.append(_folded(f"0x{value.hex()}"))
    elif isinstance(value, int) and not isinstance(value, bool):
        flat.append(value)
    elif isinstance(value, str):
        flat.append(int(value) if value.isdigit() else _folded(value))
    elif value is not None:
        flat.append(value)
    return flat


def _folded(text: str) -> Any:
    if text.startswith("cF"):
        text = f"0x{ss58.decode(text)[1].hex()}"
    if re.fullmatch(r"0x[0-9a-f]{1,64}", text):
        return int(text, 16)
    return text.replace("_", "").lower()
