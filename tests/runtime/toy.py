"""A runtime of a few lines, for tests of runtime calls, which fails on demand.

An extrinsic is `compact length ‖ kind ‖ rest`. Kind `+` puts `key 00 value`; `s` is stale, `x` exhausts the
block's resources, `t` traps, `o` leaves a transaction open, `w` waits until there is a file of that name,
and says in a file `….begun` that it does.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from cfnode.core.hashing import twox_128
from cfnode.core.header import Header
from cfnode.core.scale import ByteCursor, encode_compact
from cfnode.core.trie import MissingNode, ordered_root
from cfnode.runtime.calls import Runtime, RuntimeTrap, UnknownFunction, UnsupportedCode
from cfnode.runtime.journal import Journal

CODE = b"toy:"
DIGEST = twox_128(b"System") + twox_128(b"Digest")
HEADER, EXTRINSICS = b"toy-header", b"toy-extrinsics"
STALE, EXHAUSTS = bytes.fromhex("010003"), bytes.fromhex("010006")


def runtime_for(code: bytes) -> Runtime:
    """Return the toy runtime for toy code. Raises UnsupportedCode."""
    if not code.startswith(CODE):
        raise UnsupportedCode("the toy runtime runs toy code")
    return Toy()


def runtime_behind_gate(code: bytes) -> Runtime:
    """Return a runtime that takes long to load: until the file that TOY_LOADING names is away."""
    loading = Path(os.environ["TOY_LOADING"])
    while loading.exists():
        loading.with_suffix(".begun").touch()
        time.sleep(0.001)
    return runtime_for(code)


def extrinsic(kind: bytes, rest: bytes = b"") -> bytes:
    """Return an extrinsic of a kind, with its length prefix."""
    return encode_compact(len(kind + rest)) + kind + rest


def _wait_for(gate: Path) -> None:
    if gate.parent.is_dir():
        gate.with_suffix(".begun").touch()
    while not gate.exists():
        time.sleep(0.001)


def put(key: bytes, value: bytes) -> bytes:
    """Return the extrinsic that stores a value."""
    return extrinsic(b"+", key + b"\0" + value)


class Toy:
    """Runtime whose entry points do what tests need: wait, trap, end the process."""

    def version(self) -> bytes:
        """Return the encoded version of the runtime."""
        return b"\x0ctoy\x0ctoy" + bytes(12) + b"\0" + bytes(4) + b"\x01"

    def call(self, function: str, args: bytes, journal: Journal) -> bytes:
        """Call an entry point by its name."""
        method: Callable[[bytes, Journal], bytes] | None = getattr(self, function, None)
        if function.startswith("_") or method is None:
            raise UnknownFunction(function)
        return method(args, journal)

    # --- blocks

    def Core_execute_block(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Execute a block, and compare its state root."""
        cursor = ByteCursor(args)
        header = Header.read(cursor)
        self.Core_initialize_block(header.encode(), journal)
        for _ in range(cursor.count()):
            start = cursor.offset
            cursor.take(cursor.count())
            if self.BlockBuilder_apply_extrinsic(cursor.data[start : cursor.offset], journal) != b"\0\0":
                raise RuntimeTrap("an extrinsic of the block is invalid")
        return b""  # a careless runtime: it compares nothing

    def Core_initialize_block(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Begin a block."""
        header = Header.decode(args)
        items = b"".join(item.encode() for item in header.digest)
        journal.set(HEADER, replace(header, state_root=bytes(32), extrinsics_root=bytes(32)).encode())
        journal.set(DIGEST, encode_compact(len(header.digest)) + items)
        journal.set(EXTRINSICS, b"\0")
        return b"\x01" if journal.get(b"only-inherents") else b"\0"

    def BlockBuilder_inherent_extrinsics(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return the extrinsics of the inherents."""
        cursor = ByteCursor(args)
        items = [(cursor.take(8), cursor.bytes()) for _ in range(cursor.count())]
        return encode_compact(len(items)) + b"".join(put(name, value) for name, value in items)

    def BlockBuilder_apply_extrinsic(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Apply an extrinsic of the block."""
        body = ByteCursor(args).bytes()
        kind, rest = body[:1], body[1:]
        if kind in (b"s", b"x"):
            return STALE if kind == b"s" else EXHAUSTS
        journal.append(EXTRINSICS, encode_compact(len(args)) + args)
        journal.begin()
        key, _, value = rest.partition(b"\0")
        journal.set(key or b"empty", value)
        if kind == b"w":
            _wait_for(Path(rest.decode()))
        if kind == b"t":
            raise RuntimeTrap("on request")
        if kind != b"o":
            journal.commit()
        return b"\0\0"

    def BlockBuilder_finalize_block(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """End the block; return its header."""
        header = Header.decode(journal.get(HEADER) or b"")
        cursor = ByteCursor(journal.get(EXTRINSICS) or b"\0")
        items = [cursor.bytes() for _ in range(cursor.count())]
        return Header(
            header.parent_hash, header.number, journal.root(1), ordered_root(items, 0), header.digest
        ).encode()

    # --- calls

    def Toy_get(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return the value of a key as an option."""
        return b"\x01" + value if (value := journal.get(args)) is not None else b"\0"

    def Toy_wait(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Wait for a file; return the id of the process."""
        _wait_for(Path(args.decode()))
        return b"%d" % os.getpid()

    def Toy_next(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return the key after a key."""
        return journal.next_key(args) or b""

    def Toy_write(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Write a value; return the state root."""
        journal.set(args, b"written")
        return journal.root(1)

    def Toy_large(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return that many bytes."""
        return b"\xab" * int(args)

    def Toy_trap(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Raise RuntimeTrap with the given text."""
        raise RuntimeTrap(args.decode())

    def Toy_mistake(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Divide by the number of bytes, which may be zero."""
        return bytes([1 // len(args)])

    def Toy_hoard(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Allocate more memory than there is."""
        return bytes(1 << 50)

    def Toy_huge(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return bytes whose length cannot be read."""

        class Huge(bytes):
            def __len__(self) -> int:
                raise MemoryError

        return Huge()

    def Toy_import(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Import a module by name."""
        return str(import_module(args.decode())).encode()

    def Toy_file(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return the content of a file."""
        return Path(args.decode()).read_bytes()

    def Toy_hole(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Raise MissingNode with the given key."""
        raise MissingNode(args)

    def Toy_runaway(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Run forever."""
        while True:
            time.monotonic()

    def Toy_pid(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return the id of the process."""
        return str(os.getpid()).encode()

    def Toy_exit(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """End the process with an exit code."""
        os.write(2, b"the reason\n")
        os._exit(int(args))

    def Toy_kill(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Kill the process."""
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    def Toy_surroundings(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
        """Return the process's folder, whether it leads a session, and its open files."""
        descriptors = sorted(
            str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()
        )
        return f"{Path.cwd()}|{os.getsid(0) == os.getpid()}|{json.dumps(descriptors)}".encode()
