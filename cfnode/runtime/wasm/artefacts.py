"""The cache of compiled modules, and the separate process that compiles them.

Compiling takes seconds and does not free all its memory, so a separate process does it. Its result is cached
in a file, which this process maps in a millisecond. Such a file is machine code that runs with this user's
rights: it is only loaded from a directory of this user that no other user can enter, and under a name with
the hash of the code, wasmtime's version and its settings. A checksum at the end detects a damaged file;
against a user who can write there, no checksum would help.

Without such a directory every process compiles the module again.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import wasmtime
import xxhash

from cfnode.core.hashing import sha2_256
from cfnode.runtime.calls import OutOfMemory, UnsupportedCode
from cfnode.runtime.wasm.code import expand
from cfnode.runtime.wasm.engine import engine, fingerprint
from cfnode.store.isolated import SEARCH, isolated_python

__all__ = ["Artefacts", "compile_here", "directory"]

MAX_COMPILE_CPU_S = 60
"""Seconds of processor time that a module may take to compile; a runtime takes two."""

_TEMPORARY = ".making-"
_TEMPORARY_LIFE_S = 3_600
_UNUSED_S = 30 * 86_400
"""Seconds that a file is kept after its last use: another version of cfnode may use it."""
_CHECKSUM = 16
_OURS_ALONE = 0o700
_START = SEARCH + "from cfnode.runtime.wasm.artefacts import compile_here; compile_here(sys.argv[1])"


def directory() -> Path:
    """Return the user's directory of compiled modules: CFNODE_CACHE, or by the XDG base directories."""
    cache_path = os.environ.get("CFNODE_CACHE")
    if cache_path:
        return Path(cache_path) / "wasm"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME", "/nonexistent") + "/.cache"
    return Path(base) / "cfnode" / "wasm"


class Artefacts:
    """The compiled modules of a directory. `compiled` counts those compiled now."""

    def __init__(self, where: Path) -> None:
        self._where = where
        self.compiled = 0

    def load(self, code: bytes, module_of: Callable[[bytes], bytes] = expand) -> wasmtime.Module:
        """Return the compiled module of a `:code`. Raises UnsupportedCode.

        `module_of` returns the input of the compiler: a binary module, or one in the text format.
        """
        name = f"{sha2_256(code).hex()}-{fingerprint()}.cwasm"
        try:
            _make_private(self._where)
        except OSError:
            with tempfile.TemporaryDirectory(prefix="cfnode-") as temporary:
                return self._load_from(Path(temporary) / name, code, module_of)
        loaded = self._load_from(self._where / name, code, module_of)
        if self.compiled:
            _tidy(self._where)
        return loaded

    def _load_from(self, path: Path, code: bytes, module_of: Callable[[bytes], bytes]) -> wasmtime.Module:
        for attempt in (1, 2):
            if not _is_whole(path):
                self.compiled += 1
                _compile(module_of(code), path)
            try:
                loaded = wasmtime.Module.deserialize_file(engine(), str(path))
                with suppress(OSError):
                    os.utime(path, follow_symlinks=False)  # the time of the last use
                return loaded
            except wasmtime.WasmtimeError as error:
                path.unlink(missing_ok=True)
                if attempt == 2:
                    raise UnsupportedCode(f"wasmtime rejects its own machine code: {error}") from error
        raise AssertionError  # the second attempt returns or raises


def _make_private(where: Path) -> None:
    """Create this user's own directory, which no other user can enter. Raises OSError."""
    where.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        where.mkdir(mode=_OURS_ALONE)
    status = where.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError(f"{where} is not a directory of this user")
    if stat.S_IMODE(status.st_mode) != _OURS_ALONE:
        raise PermissionError(f"other users can enter {where}: it must have the mode 0700")


def _tidy(where: Path) -> None:
    """Remove files that no process will use: not loaded for long, or left by compilers that died."""
    for path in where.iterdir():
        with suppress(OSError):
            age = time.time() - path.lstat().st_mtime
            leftover = path.name.startswith(_TEMPORARY) and age > _TEMPORARY_LIFE_S
            if leftover or (path.name.endswith(".cwasm") and age > _UNUSED_S):
                path.unlink()


def _is_whole(path: Path) -> bool:
    """Return whether there is a file of this user with a valid checksum."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        is_ours = status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)
        if not is_ours or status.st_size <= _CHECKSUM:
            return False
        with mmap.mmap(descriptor, 0, prot=mmap.PROT_READ) as data, memoryview(data) as view:
            return xxhash.xxh3_128_digest(view[:-_CHECKSUM]) == view[-_CHECKSUM:]
    finally:
        os.close(descriptor)


# --- compiling


def _compile(module: bytes, path: Path) -> None:
    """Compile in a separate process and write the machine code to `path`.

    Raises UnsupportedCode, and OutOfMemory.
    """
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY)
    os.close(number)
    try:
        completed = subprocess.run(
            isolated_python(_START, temporary),
            input=module,
            capture_output=True,
            cwd="/",
        )
        if completed.returncode == -signal.SIGKILL:
            raise OutOfMemory("the process that compiles the state's code was killed")
        if completed.returncode:
            lines = completed.stderr.decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"the compiler ended with code {completed.returncode}"
            raise UnsupportedCode(f"the state's code does not compile: {reason}")
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def compile_here(path: str, read: Callable[[], bytes] = lambda: sys.stdin.buffer.read()) -> None:
    """Compile the module from standard input in this process; write machine code and checksum to `path`."""
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_COMPILE_CPU_S, MAX_COMPILE_CPU_S))
    try:
        code = bytes(wasmtime.Module(engine(), read()).serialize())
    except wasmtime.WasmtimeError as error:
        sys.exit(" ".join(str(error).split()))
    Path(path).write_bytes(code + xxhash.xxh3_128_digest(code))
