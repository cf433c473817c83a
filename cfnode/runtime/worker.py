"""The executor process: it answers the node's orders, one at a time.

It reads an order from its socket, opens a snapshot of the store (or a proof), runs the runtime over a
journal, and answers. It has no event loop, no signals, no logs, and no data to save.

It must not outlive the node. A separate thread reads orders, so that the end of the socket is noticed even
during a call, and ends the process at once. On Linux the kernel is asked to do the same when the node's
process dies.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path

from cfnode.core.header import DigestItem, Header
from cfnode.core.scale import ByteCursor
from cfnode.core.state import CODE, BlockState
from cfnode.core.trie import MissingNode, ProofState, TrieError, encode_proof
from cfnode.runtime import frames
from cfnode.runtime.blocks import BuildOrder, build_block, execute_block
from cfnode.runtime.calls import (
    BlockSource,
    ExecutorMessageTooLarge,
    HostFault,
    OutOfMemory,
    Prepares,
    ProofSource,
    Runtime,
    RuntimeFactory,
    RuntimeTrap,
    StoreFault,
    UnsupportedCode,
)
from cfnode.runtime.failures import REPORTED, reported
from cfnode.runtime.imports import without_collection
from cfnode.runtime.journal import Journal
from cfnode.runtime.proofs import prove_call
from cfnode.runtime.shared_number import SharedNumber
from cfnode.store import Overlay, StoreReader

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1
_KEPT_RUNTIMES = 2
"""The number of runtimes that are kept: a runtime and the one it was upgraded from."""

Send = Callable[[Iterable[frames.ExecutorAnswer]], None]


class Worker:
    """The part of the process that answers orders, one at a time."""

    def __init__(
        self, reader: StoreReader, runtime_for: RuntimeFactory, send: Send, progress: SharedNumber
    ) -> None:
        self._reader = reader
        self._progress = progress
        self._runtime_for = _RuntimeCache(runtime_for)
        self._send = send
        self._assembly = frames.Assembly()

    def handle(self, order: frames.Order) -> None:
        """Carry out an order of the node, and send the answer if it has one."""
        match order:
            case frames.Rows():
                self._assembly.add(order)
            case frames.AddOverlay(hash=block, parent=parent, number=number, root=root):
                changes = self._assembly.take_changes(root)
                self._reader.add_overlay(Overlay(hash=block, parent=parent, number=number, changes=changes))
            case frames.CallOrder() | frames.Execute() | frames.Build():
                self._progress.value = order.id
                try:
                    self._answer(order)
                except REPORTED as error:
                    self._send([reported(order.id, error)])
                except MemoryError:
                    self._send([reported(order.id, OutOfMemory("no memory is left for the call"))])
                self._progress.value = 0
                self._runtime_for.prepare()

    def _answer(self, order: frames.CallOrder | frames.Execute | frames.Build) -> None:
        match order:
            case frames.CallOrder():
                self._call(order)
            case frames.Execute():
                self._execute(order)
            case frames.Build():
                self._build(order)

    def _call(self, order: frames.CallOrder) -> None:
        with self._state(order.at) as (state, runtime):
            if order.prove:
                outputs = [encode_proof(prove_call(runtime, state, *call)) for call in order.calls]
            else:
                outputs = [runtime.call(function, args, Journal(state)) for function, args in order.calls]
        self._send(frames.outputs_in_pieces(order.id, outputs))

    def _execute(self, order: frames.Execute) -> None:
        header = Header.decode(order.header)
        with self._state(BlockSource(header.parent_hash)) as (state, runtime):
            changes = execute_block(runtime, Journal(state), header, order.body)
        self._send(chain(frames.changes_in_slices(changes), [frames.Changed(order.id, changes.root)]))

    def _build(self, order: frames.Build) -> None:
        digest = tuple(DigestItem.read(ByteCursor(item)) for item in order.digest)
        build_order = BuildOrder(
            order.parent, order.number, digest, order.inherents, order.candidates, order.seconds
        )
        with self._state(BlockSource(order.parent)) as (state, runtime):
            built = build_block(runtime, Journal(state), build_order, time.monotonic)
        built_frame = frames.Built(
            order.id, built.header.encode(), built.body, built.refused, built.changes.root
        )
        self._send(chain(frames.changes_in_slices(built.changes), [built_frame]))

    @contextmanager
    def _state(self, at: BlockSource | ProofSource) -> Iterator[tuple[BlockState, Runtime]]:
        if isinstance(at, ProofSource):
            with _errors_as_traps():
                yield ProofState(at.root, at.nodes), self._runtime_for(at.code)
            return
        with _damage_as_store_fault(at.hash), self._reader.state(at.hash) as state:
            code = state.get(CODE)
            if code is None:
                raise UnsupportedCode(f"the state of block 0x{at.hash.hex()} holds no code")
            with _errors_as_traps():
                yield state, self._runtime_for(code)


class _RuntimeCache:
    """The runtimes of the last codes. Codes are compared, not hashed: they are large, and usually equal."""

    def __init__(self, runtime_for: RuntimeFactory) -> None:
        self._runtime_for = runtime_for
        self._kept: list[tuple[bytes, Runtime]] = []

    def __call__(self, code: bytes) -> Runtime:
        for kept_code, runtime in self._kept:
            if kept_code == code:
                return runtime
        with without_collection():
            runtime = self._runtime_for(code)
        self._kept = [(code, runtime), *self._kept][:_KEPT_RUNTIMES]
        return self._kept[0][1]

    def prepare(self) -> None:
        """Let the newest runtime prepare for the next order."""
        if self._kept and isinstance(runtime := self._kept[0][1], Prepares):
            runtime.prepare()


@contextmanager
def _errors_as_traps() -> Iterator[None]:
    """Raise errors of a runtime written in Python as traps, as in WebAssembly: they fail one call.

    Such a runtime *is* the rules of its chain: every node that runs it, including the block's author, gets
    the same error on the same input. A lack of memory, an OSError, or a module that cannot be loaded, which
    is how a lack of memory may look, is a fault of this node alone.
    """
    try:
        yield
    except REPORTED:
        raise
    except MemoryError as error:
        raise OutOfMemory(f"no memory is left for the call{_location(error)}") from error
    except (ImportError, OSError) as error:
        raise HostFault(f"{type(error).__name__}: {error}{_location(error)}") from error
    except Exception as error:
        raise RuntimeTrap(f"{type(error).__name__}: {error}{_location(error)}") from error


def _location(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno})" if trace else ""


@contextmanager
def _damage_as_store_fault(block: bytes) -> Iterator[None]:
    """Raise StoreFault for an inconsistent state.

    The state was verified when it was stored, so the database is damaged.
    """
    try:
        yield
    except (MissingNode, TrieError) as error:
        raise StoreFault(f"the state of block 0x{block.hex()} is damaged: {error}") from error


# --- the process


def main(descriptor: int, store: str, runtimes: str, parent: int, progress: int) -> None:
    """Serve the node behind this socket until it closes.

    `runtimes` names a RuntimeFactory: `module:name`. `progress` is the descriptor of a SharedNumber: the
    request that is being processed.
    """
    _exit_with_parent(parent)
    connection = socket.socket(fileno=descriptor)
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, orders), daemon=True).start()
    module, _, name = runtimes.partition(":")
    factory: RuntimeFactory = getattr(import_module(module), name)

    def send(answers: Iterable[frames.ExecutorAnswer]) -> None:
        for buffer in frames.joined(map(_frame, answers)):
            connection.sendall(buffer)

    worker = Worker(StoreReader.open(Path(store)), factory, send, SharedNumber(progress))
    os.close(progress)
    send([frames.Ready()])
    while True:
        worker.handle(frames.decode_order(orders.get()))


def _frame(answer: frames.ExecutorAnswer) -> bytes:
    """Return the frame of an answer. Raises MessageTooLarge."""
    try:
        return frames.encode_frame(answer)
    except ValueError as error:
        raise ExecutorMessageTooLarge(str(error)) from error


def _listen(connection: socket.socket, orders: queue.SimpleQueue[bytes]) -> None:
    with connection.makefile("rb") as stream:
        while len(prefix := stream.read(frames.LENGTH_SIZE)) == frames.LENGTH_SIZE:
            orders.put(stream.read(frames.frame_length(prefix)))
    os._exit(0)  # the node has ended: no answer is needed any more


def _exit_with_parent(parent: int) -> None:
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the node died before the kernel was asked
        os._exit(0)
