"""A state that is exported has the state root of its block, whichever node returned it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import client
from cfnode.cli.export_state import export_state
from cfnode.core.chainspec import genesis_hash, parse, to_json
from cfnode.core.header import Header
from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie import root
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.rpc.table.blocks import header_json

CHILD = {b"one": b"1" * 40, b"two": b"2"}
NAME = CHILD_STORAGE_PREFIX + b"c"
TOP = {b":code": b"\x00asm" * 9, b":zz": b"after the children", b"a": b"1", b"ab": b"2", b"b" * 40: b"3" * 33}
Lie = Callable[["Served"], None]


class Served:
    """Answers of a node with a small state, unless it lies."""

    def __init__(self) -> None:
        self.child = dict(CHILD)
        self.top = {**TOP, NAME: root(CHILD, 1)}
        self.header = Header(b"\x01" * 32, 77, root(self.top, 1), b"\x02" * 32)
        self.block = f"0x{self.header.hash.hex()}"
        self.genesis = f"0x{genesis_hash(dev_chain_spec()).hex()}"

    def call(self, url: str, method: str, params: list[Any], **_: Any) -> Any:
        """Answer as a node does, or fail on a method that the export has no need of."""
        match method, params:
            case "chain_getBlockHash", [0]:
                return self.genesis
            case "chain_getFinalizedHead", []:
                return self.block
            case "chain_getHeader", [block] if block == self.block:
                return header_json(self.header)
            case "state_getKeysPaged", [_, _, None, _]:
                return [f"0x{key.hex()}" for key in sorted(self.top)]
            case "childstate_getKeysPaged", [_, _, _, None, _]:
                return [f"0x{key.hex()}" for key in sorted(self.child)]
            case "state_queryStorageAt", [keys, block]:
                values = [(key, f"0x{self.top[bytes.fromhex(key[2:])].hex()}") for key in keys]
                return [{"block": block, "changes": values}]
            case "childstate_getStorageEntries", [_, keys, _]:
                return [f"0x{self.child[bytes.fromhex(key[2:])].hex()}" for key in keys]
        raise AssertionError(f"{method} {params} was not to be asked")


def exported(lie: Lie, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """Run `export-state` against a node that lies in one way."""
    node = Served()
    lie(node)
    monkeypatch.setattr(client, "call", node.call)
    (tmp_path / "spec.json").write_text(to_json(dev_chain_spec()))
    flags = [f"--chain={tmp_path / 'spec.json'}", "--url=http://node", f"--output={tmp_path / 'out.json'}"]
    return CliRunner().invoke(export_state, flags)


def test_a_true_state_is_written_and_the_block_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a state with its child trie, and print block, verified root and who claims finality."""
    done = exported(lambda node: None, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
    header = Served().header
    assert f"block #77 (0x{header.hash.hex()})" in done.stderr
    assert f"Verified the block's state root, 0x{header.state_root.hex()}" in done.stderr
    assert "Only http://node claims that this block is final" in done.stderr
    spec = parse((tmp_path / "out.json").read_bytes(), "out")
    assert spec.genesis.top == TOP  # type: ignore[union-attr]
    assert spec.genesis.children == {b"c": CHILD}  # type: ignore[union-attr]


def altered(node: Served) -> None:
    """Change a value of the state."""
    node.top[b"ab"] = b"not 2"


def left_out(node: Served) -> None:
    """Leave a key of the state out."""
    del node.top[b"b" * 40]


def added(node: Served) -> None:
    """Add a key to the state."""
    node.top[b"c"] = b"more funds"


def altered_child(node: Served) -> None:
    """Change a value of the child trie."""
    node.child[b"two"] = b"not 2"


def another_chain(node: Served) -> None:
    """Answer with the genesis of another chain."""
    node.genesis = "0x" + "11" * 32


def another_header(node: Served) -> None:
    """Answer with a header that has another hash than was asked for."""
    node.header = Header(b"\x01" * 32, 77, bytes(32), b"\x02" * 32)


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (altered, "the state has the root"),
        (left_out, "the state has the root"),
        (added, "the state has the root"),
        (altered_child, "the child trie 0x63 has the root"),
        (another_chain, "http://node is a node of another chain"),
        (another_header, "http://node returned a header with the hash"),
    ],
)
def test_a_wrong_state_of_a_node_is_an_error_and_nothing_is_written(
    lie: Lie, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse a state whose root is not the header's, and leave no file behind."""
    done = exported(lie, tmp_path, monkeypatch)
    assert done.exit_code == 1
    assert error in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spec.json"]
    assert json.loads((tmp_path / "spec.json").read_text())["id"] == "dev"
