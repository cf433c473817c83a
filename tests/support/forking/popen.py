"""`subprocess.Popen` of a test process: what a fork can carry out is ordered from its fork server."""

from __future__ import annotations

import inspect
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.forking.program import ROOT, SWITCH
from tests.support.forking.server import CLONE_NUMBER

EXECUTOR, NODE = "executor", "cfnode run"
ANEW = ("PYTHON", "LD_", "MALLOC_", "LC_", "LANG")
"""Variables that an interpreter reads at its start: where one differs from ours, the process starts anew."""
FLAGS = ("-I", "-P", "-B")
"""Flags of an interpreter that make no difference to a fork; nor does `-X pycache_prefix=…`."""
MODULES = ("cfnode",)
"""Modules that begin as programs."""
_POPEN = subprocess.Popen
_STARTING = threading.RLock()
NOT_READ = ("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


def forkable(arguments: Sequence[Any], env: Mapping[Any, Any] | None) -> list[str] | None:
    """Return the arguments of an interpreter that a fork can carry out; None for another command line."""
    words = [os.fsdecode(argument) for argument in arguments]
    if not words or words[0] != sys.executable:
        return None
    environment = os.environ if env is None else {os.fsdecode(k): os.fsdecode(v) for k, v in env.items()}
    if environment.get(SWITCH, os.environ.get(SWITCH)) == "0":
        return None
    if _settings(environment) != _settings(os.environ):
        return None
    remaining = words[1:]
    while remaining and (remaining[0] in FLAGS or " ".join(remaining[:2]).startswith("-X pycache_prefix=")):
        remaining = remaining[1 if remaining[0] in FLAGS else 2 :]
    kind, text = [*remaining, "", ""][:2]
    is_ours = (kind == "-m" and text in MODULES) or (kind == "-c" and text in _programs())
    return remaining if is_ours else None


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in environment.items() if k.startswith(ANEW) and k not in NOT_READ}


def _programs() -> tuple[str, ...]:
    """Return the programs that cfnode gives to an interpreter.

    They are the executor, the compiler, the reader of a damaged database, and the node of `cfnode.testing`.
    """
    from cfnode.runtime import child
    from cfnode.runtime.wasm import artefacts
    from cfnode.store import verify
    from cfnode.testing import node

    return (child._START, artefacts._START, verify._START, node._PROGRAM)


def kind_of(arguments: Any) -> str:
    """Return the program of a command line: `cfnode COMMAND`, `executor`, or another name."""
    if isinstance(arguments, str | bytes | os.PathLike):
        return Path(os.fsdecode(arguments).split()[0]).name
    words = [os.fsdecode(argument) for argument in arguments]
    from cfnode.runtime import child
    from cfnode.testing import node

    if child._START in words:
        return EXECUTOR
    if node._PROGRAM in words:
        return NODE
    if "cfnode" in words[:4]:
        first, second, *_ = [*words[words.index("cfnode") + 1 :], "", ""]
        if first == "run" or first.startswith("--"):
            return NODE
        return f"cfnode {first} run" if second == "run" else f"cfnode {first}".strip()
    return Path(words[0]).name


def is_running(process: subprocess.Popen[Any]) -> bool:
    """Return whether a child of this process runs; neither waits for it nor takes its exit code."""
    if process.returncode is not None:
        return False
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


class Client:
    """The side of a fork server that orders processes; threads may share it."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._connection = connection
        self._process = process
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def fork(self, order: dict[str, Any], descriptors: Sequence[int]) -> int:
        """Return the pid of a new child of this process; raise OSError."""
        with self._lock:
            socket.send_fds(self._connection, [json.dumps(order).encode()], descriptors)
            pid = int(self._connection.recv(32) or b"-1")
        if pid < 0:
            raise OSError("the fork server has made no process")
        return pid

    @property
    def is_ours(self) -> bool:
        """Whether this process made the server, and not one from which it was forked."""
        return os.getpid() == self._owner

    def listener(self) -> Path:
        """Return the socket at which the server takes orders of shells."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="cfnode")  # a socket's path has to be short
            path = Path(self._folder.name) / "socket"
            self.fork({"listen": str(path)}, [])
            deadline = time.monotonic() + 60
            while not path.exists():
                assert time.monotonic() < deadline
                time.sleep(0.01)
        return Path(self._folder.name) / "socket"

    def close(self) -> None:
        """End the server."""
        self._connection.close()
        if self._process is not None:
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()


class ForkingPopen(subprocess.Popen):  # type: ignore[type-arg]
    """`subprocess.Popen` that lets a fork server start cfnode's programs."""

    is_on = False
    """Whether this process may have a fork server; it starts with the first program that a fork can be."""
    server: Client | None = None
    started: Counter[str] = Counter()
    """How many programs of each kind were started so far."""
    on_start: Callable[[str, subprocess.Popen[Any]], None] | None = None
    """What a test run does at each start of a program, before it."""
    _signature = inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]

    def _execute_child(self, *arguments: Any) -> None:
        bound = self._signature.bind(self, *arguments).arguments
        kind = kind_of(bound["args"])
        ForkingPopen.started[kind] += 1
        if ForkingPopen.on_start is not None:
            ForkingPopen.on_start(kind, self)
        program = forkable(bound["args"], bound["env"]) if _is_plain(bound) else None
        server = None if program is None else fork_server()
        if server is None:
            super()._execute_child(*arguments)  # type: ignore[misc]
            return
        ends = [bound["p2cread"], bound["c2pwrite"], bound["errwrite"]]
        kept = sorted(map(int, bound["pass_fds"]))
        order = {
            "program": program,
            "cwd": os.fspath(bound["cwd"] or Path.cwd()),
            "env": _text(os.environ if bound["env"] is None else bound["env"]),
            "session": bool(bound["start_new_session"]),
            "umask": bound["umask"] if bound["umask"] >= 0 else _umask(),
            "descriptors": [0, 1, 2, *kept],
        }
        standard = [number if end == -1 else end for number, end in enumerate(ends)]
        self.pid = server.fork(order, [*standard, *kept])
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*[bound[name] for name in pipes])  # type: ignore[attr-defined]


def _network() -> str:
    """Return the network namespace of this thread; empty where there are none."""
    try:
        return str(Path("/proc/thread-self/ns/net").readlink())
    except OSError:
        return ""


_HOME = _network()
"""The network namespace of the fork server, and of all that it starts."""


def _is_plain(bound: Mapping[str, Any]) -> bool:
    """Return whether the start asks for nothing that only `exec` gives, or that the order does not say.

    A thread in another network namespace starts its programs there, which no fork of the server can.
    """
    unusual = ("preexec_fn", "shell", "executable", "gid", "gids", "uid")
    group = bound.get("process_group", -1)
    return (
        not any(bound.get(name) is not None and bound[name] is not False for name in unusual)
        and not isinstance(bound["args"], str | bytes | os.PathLike)
        and group in (-1, None)
        and _network() == _HOME
    )


def _text(environment: Mapping[Any, Any]) -> dict[str, str]:
    return {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}


def _umask() -> int:
    os.umask(mask := os.umask(0o077))
    return mask


def fork_server() -> Client | None:
    """Return the fork server of this process; None where it may not have one."""
    with _STARTING:
        if ForkingPopen.server is None and ForkingPopen.is_on:
            ForkingPopen.server = start()
    return ForkingPopen.server if ForkingPopen.server and ForkingPopen.server.is_ours else None


def start() -> Client:
    """Start a fork server for this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = "import sys; from tests.support.forking.server import main; main(int(sys.argv[1]))"
    with theirs:
        process = _POPEN(
            [sys.executable, "-c", program, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    return Client(ours, process)


def use(connection: socket.socket) -> None:
    """Let the fork server behind this socket start the programs of this process."""
    ForkingPopen.server = Client(connection)
    subprocess.Popen = ForkingPopen  # type: ignore[misc]


@contextmanager
def forking() -> Iterator[None]:
    """Let a fork server start the programs of this process."""
    _programs()  # imported before: an import may start a program
    original = subprocess.Popen
    is_known = sys.platform == "linux" and platform.machine() in CLONE_NUMBER
    ForkingPopen.is_on = is_known and os.environ.get(SWITCH) != "0"
    subprocess.Popen = ForkingPopen  # type: ignore[misc]
    try:
        yield
    finally:
        subprocess.Popen = original  # type: ignore[misc]
        ForkingPopen.is_on = False
        if ForkingPopen.server is not None:
            ForkingPopen.server.close()
            ForkingPopen.server = None
