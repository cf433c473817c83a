"""Compiled modules on disk: stored, found again, never loaded from a directory that others can write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import xxhash

from cfnode.runtime.calls import UnsupportedCode
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.artefacts import Artefacts, directory
from cfnode.runtime.wasm.engine import fingerprint
from cfnode.runtime.wasm.runtime import WasmRuntime
from tests.runtime.memory_state import MemoryState
from tests.runtime.wasm import counter

MODULES = 3
"""The runtime, the bridge and the shim."""


def runs(artefacts: Artefacts) -> bool:
    """Return whether the runtime works with these compiled modules."""
    runtime = WasmRuntime(counter.module(), artefacts)
    return runtime.call("Counter_echo", b"alive", Journal(MemoryState())) == b"alive"


def put_instead(path: Path, data: bytes) -> None:
    """Put a new file under the name: the old one is still mapped, and must not change."""
    path.unlink()
    path.write_bytes(data)


def kept(where: Path) -> list[Path]:
    """Return the files of a folder in order."""
    return sorted(where.glob("*"))


def test_a_module_is_compiled_once_and_mapped_from_then_on(tmp_path: Path) -> None:
    """Compile each module once for all, readable by its owner alone, and map it from then on."""
    first, second = Artefacts(tmp_path / "wasm"), Artefacts(tmp_path / "wasm")
    assert runs(first)
    assert first.compiled == MODULES
    assert runs(second)
    assert second.compiled == 0
    assert (tmp_path / "wasm").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept(tmp_path / "wasm"))
    assert all(path.name.endswith(f"-{fingerprint()}.cwasm") for path in kept(tmp_path / "wasm"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign", "link"])
def test_a_damaged_file_is_compiled_again(tmp_path: Path, damage: str) -> None:
    """Compile a module again when its file is cut, altered, empty, foreign or a link."""
    where = tmp_path / "wasm"
    assert runs(Artefacts(where))
    for path in kept(where):
        data = path.read_bytes()
        match damage:
            case "cut":
                put_instead(path, data[:-100])
            case "flipped":
                middle = len(data) // 2
                put_instead(path, data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
            case "empty":
                put_instead(path, b"")
            case "foreign":
                put_instead(path, b"#!/bin/sh\n" * 100)
            case "link":
                path.rename(tmp_path / path.name)
                path.symlink_to(tmp_path / path.name)
    again = Artefacts(where)
    assert runs(again)
    assert again.compiled == MODULES


def test_machine_code_of_another_engine_is_compiled_again(tmp_path: Path) -> None:
    """Compile again where the machine code is of another engine, whatever its checksum."""
    assert runs(Artefacts(tmp_path / "wasm"))
    for path in kept(tmp_path / "wasm"):
        data = b"\x7fELF" + bytes(1_000)
        put_instead(path, data + xxhash.xxh3_128_digest(data))
    again = Artefacts(tmp_path / "wasm")
    assert runs(again)
    assert again.compiled == MODULES


@pytest.mark.parametrize("fault", ["open to others", "a link", "a file"])
def test_a_directory_that_is_not_ours_alone_is_not_used(tmp_path: Path, fault: str) -> None:
    """Use no directory that others can write: code from it would run as the node."""
    where = tmp_path / "wasm"
    if fault == "a file":
        where.write_text("in the way")
    elif fault == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        where.symlink_to(tmp_path / "elsewhere")
    else:
        where.mkdir(mode=0o755)
    for _ in range(2):
        artefacts = Artefacts(where)
        assert runs(artefacts)
        assert artefacts.compiled == MODULES
    assert fault == "a file" or kept(where) == []


def test_unused_files_are_removed(tmp_path: Path) -> None:
    """Remove files that were not used for long, but no file of the user's, and only after a compilation."""
    where = tmp_path / "wasm"
    where.mkdir(mode=0o700)
    old, dead, alive, notes = "00-0123456789abcdef.cwasm", ".making-dead", ".making-alive", "a user's notes"
    of_another_version = "01-0123456789abcdef.cwasm"
    names = (old, of_another_version, dead, alive, notes)
    for name in names:
        (where / name).write_bytes(b"x")
    for name in (old, dead, notes):
        os.utime(where / name, (0, 0))
    assert runs(Artefacts(where))
    assert [name for name in names if (where / name).exists()] == [of_another_version, alive, notes]
    (where / ".making-dead").write_bytes(b"x")
    assert runs(Artefacts(where))  # nothing was compiled: nothing is looked for
    assert (where / ".making-dead").exists()


def test_a_file_counts_as_used_when_it_is_loaded(tmp_path: Path) -> None:
    """Count a file as used when it is loaded, so that it is not removed as old."""
    where = tmp_path / "wasm"
    assert runs(Artefacts(where))
    for path in where.iterdir():
        os.utime(path, (0, 0))
    again = Artefacts(where)
    assert runs(again)
    assert again.compiled == 0
    assert all(path.lstat().st_mtime > 0 for path in where.iterdir())


def test_a_compile_error_has_the_compilers_message(tmp_path: Path) -> None:
    """Report a module that does not compile by the compiler's message, and keep no file."""
    broken = counter.module()[:40] + b"\xff" * 40
    with pytest.raises(UnsupportedCode, match=r"does not compile: .*offset"):
        Artefacts(tmp_path / "wasm").load(broken)
    assert kept(tmp_path / "wasm") == []


def test_the_directory_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep compiled modules in the user's own cache directory."""
    monkeypatch.setenv("CFNODE_CACHE", "/somewhere")
    assert directory() == Path("/somewhere/wasm")
    monkeypatch.delenv("CFNODE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert directory() == Path("/xdg/cfnode/wasm")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert directory() == Path("/home/someone/.cache/cfnode/wasm")
