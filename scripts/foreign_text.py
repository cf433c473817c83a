"""Refuse decoders of JSON and of hex numbers outside of `cfnode/core/foreign.py`.

A text of another program may be large, deep, not UTF-8 or a number of 5,000 digits, and a separate reader
forgets one of these. `core/foreign.py` knows them all. The places that remain read texts of this project,
each with its reason. All of `cfnode` is looked at. Tests and the other scripts are not: they read what
programs send that they have started themselves.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "cfnode"

DECODERS = {
    "json.loads": "read_json",
    "json.load": "read_json",
    "json.JSONDecoder": "read_json",
    "msgspec.json.decode": "read_json",
    "msgspec.json.Decoder": "read_json",
    "int(…, 16)": "hex_number, whole_number or block_number",
    "int(…, 0)": "whole_number",
}
"""Refused decoders, and the function of `core/foreign.py` to call instead."""

ALLOWED = {
    "cfnode/core/foreign.py": "the readers themselves",
    "cfnode/core/jsonrpc.py": "requests to our own server, counted while they arrive by the same class",
    "cfnode/core/chainspec/json_value.py": "names the line of a fault; bounded by require_light before",
    "cfnode/core/trie/nibbles.py": "a table of the sixteen digits",
    "cfnode/swaps/checksums.py": "digits of a hash that was computed here",
    "cfnode/ledger/decoding.py": "a column of the books, written by the function above it",
    "cfnode/ledger/heights.py": "a column of the books",
    "cfnode/ledger/migrations/versions/channel_openings.py": "an answer that is kept in the books",
    "cfnode/ledger/migrations/versions/swap_statuses.py": "a column of the books",
    "cfnode/ledger/migrations/versions/strangers_swaps.py": "fields of events that are kept in the books",
    "cfnode/dashboard/explorer.py": "JSON that was written on the same line",
    "cfnode/rpc/table/serde.py": "pieces of a request, which core/jsonrpc.py has counted and parsed",
    "cfnode/rpc/table/serde_members.py": "pieces of a request, which core/jsonrpc.py has counted and parsed",
    "cfnode/rpc/cf/streams.py": "an answer of our own server",
    "cfnode/rpc/cf/legacy_shapes.py": "an answer of our own server",
    "cfnode/rpc/cf/account_figures.py": "an answer of our own server",
    "cfnode/store/residency.py": "a file of the kernel",
}
"""Files that may use a decoder, and why."""


def decoders_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each decoder that a module uses."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and (name := _dotted(node)) in DECODERS:
            yield node.lineno, name
        elif isinstance(node, ast.Call) and _dotted(node.func) == "int":
            bases = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "base")]
            for base in bases:
                if isinstance(base, ast.Constant) and base.value in (16, 0):
                    yield node.lineno, f"int(…, {base.value})"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (name := f"{node.module}.{alias.name}") in DECODERS or name == "msgspec.json":
                    yield node.lineno, name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and alias.name in ("json", "msgspec", "msgspec.json"):
                    yield node.lineno, f"{alias.name} as {alias.asname}"


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def faults() -> Iterator[str]:
    """Yield a line for each decoder in a file that may have none, and for each allowed file without one."""
    for path in sorted((ROOT / FOLDER).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        places = list(decoders_in(path.read_text()))
        if name not in ALLOWED:
            for line, decoder in places:
                reader = DECODERS.get(decoder, "read_json")
                yield f"{name}:{line}: {decoder}: read foreign text by core/foreign.py: {reader}"
        elif not places:
            yield f"{name}: reads no such text any more: take it out of the list in scripts/foreign_text.py"


def main() -> int:
    """Print the faults; return the exit code: 1 where a decoder was found."""
    lines = list(faults())
    for line in lines:
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
