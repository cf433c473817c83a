"""A process that is started with nothing of its surroundings: where its bytecode goes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfnode.runtime.calls import BlockSource
from cfnode.runtime.executor import Executor
from cfnode.store import Store
from cfnode.store.verify import survives_reading
from tests.runtime.chain import GENESIS, toy_store

AT = BlockSource(GENESIS.hash)
MODULE = "from tests.runtime.toy import runtime_for\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with the toy chain's genesis."""
    with toy_store(tmp_path / "db") as opened:
        yield opened


def bytecode(folder: Path) -> set[Path]:
    """Return the folders of the module's bytecode."""
    return {path.parent for path in folder.rglob("toy_module.*.pyc")}


@pytest.mark.world
@pytest.mark.usefixtures("new_processes")
@pytest.mark.parametrize("place", ["nowhere", "elsewhere", "here"])
async def test_the_process_writes_its_bytecode_where_this_one_does(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Write bytecode where this process writes its own, or nowhere."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "toy_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path / "source"))
    monkeypatch.setattr(sys, "dont_write_bytecode", place == "nowhere")
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cache") if place == "elsewhere" else None)
    async with Executor.start(store, runtimes="toy_module:runtime_for") as executor:
        assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
    written = bytecode(tmp_path)
    here, elsewhere = tmp_path / "source" / "__pycache__", tmp_path / "cache"
    if place == "elsewhere":
        assert all(path.is_relative_to(elsewhere) for path in written)
        assert len(written) == 1
    else:
        assert written == ({here} if place == "here" else set())


@pytest.mark.usefixtures("new_processes")
def test_the_reader_of_a_damaged_database_uses_nothing_of_its_surroundings(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the modules of the working directory nor variables, and its bytecode goes where ours does."""
    elsewhere, cache = tmp_path / "elsewhere", tmp_path / "cache"
    (elsewhere / "cfnode").mkdir(parents=True)
    (elsewhere / "cfnode" / "__init__.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(cache))
    assert survives_reading(store.database.path)
    assert not survives_reading(tmp_path / "missing")
    assert list(cache.rglob("verify.*.pyc"))
