"""A process that has imported cfnode, and forks a program for each order."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import platform
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from tests.support.forking.program import become, put_in_place
from tests.support.remembered import prepare, remember

CLONE_PARENT = 0x8000
CLONE_NUMBER = {"x86_64": 56, "aarch64": 220}
"""The number of the system call, by machine."""
PR_SET_PDEATHSIG = 1
MAX_ORDER = 1 << 20
MAX_DESCRIPTORS = 64
NOT_IMPORTED = ("cfnode.__main__", "cfnode.pytest_plugin")
RARE = ("migrations", "devchain.evm")
"""Parts of the names of modules that few processes need; py-evm takes a second or two."""
FURTHER = ("psycopg", "sqlalchemy.dialects.sqlite.pysqlite", "sqlalchemy.dialects.postgresql.psycopg")
"""Modules of libraries that are imported when they are used."""


def main(descriptor: int) -> None:
    """Import everything, compute what nodes have in common, then serve the process behind this socket."""
    gc.disable()  # what is imported stays
    import_everything()
    remember()
    prepare()
    gc.collect()
    gc.freeze()
    gc.enable()
    threads = len(list(Path("/proc/self/task").iterdir()))
    assert threads == 1, f"{threads} threads: a fork would have only one of them"
    serve(socket.socket(fileno=descriptor))


def import_everything() -> None:
    """Import cfnode's modules; what an optional library lacks is imported by the process that needs it."""
    import cfnode

    names = [
        module_info.name
        for module_info in pkgutil.walk_packages(cfnode.__path__, "cfnode.", onerror=lambda _: None)
    ]
    for name in (*names, *FURTHER):
        if name not in NOT_IMPORTED and not any(part in name for part in RARE):
            with suppress(ImportError):
                importlib.import_module(name)
    sys.setrecursionlimit(1000)  # Ethereum libraries raise it


def serve(connection: socket.socket) -> None:
    """Fork a process for each order, until the other side is gone."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, MAX_ORDER, MAX_DESCRIPTORS)
        if not message:
            os._exit(0)
        order = json.loads(message)
        pid = os.fork() if "listen" in order else fork_sibling()
        if pid == 0:
            connection.close()
            if "listen" in order:
                listen_for_shells(order["listen"])
            become(order, descriptors, fork_a_server)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(pid).encode())


def fork_sibling() -> int:
    """Fork this process into a child of its parent; return its number, 0 in the child, -1 if it failed.

    The C library's own fork handlers are left out: they are for threads, of which there is one.
    """
    python, library = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    number = CLONE_NUMBER[platform.machine()]
    pid: int = library.syscall(number, CLONE_PARENT | signal.SIGCHLD, None, None, None, None)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return pid


def listen_for_shells(path: str) -> None:
    """Take orders of shells until the server ends, which this process is forked from; endless."""
    from tests.support.forking.shell import listen  # which imports this module

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    listen(path)


def fork_a_server() -> None:
    """Fork a server for this process, which is its parent."""
    from tests.support.forking.popen import use  # which imports this module

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        use(ours)
        return
    os.setsid()  # no signal of a terminal
    null = os.open(os.devnull, os.O_RDWR)
    put_in_place([null, os.dup(null), os.dup(null), theirs.detach()], [0, 1, 2, 3])
    os.chdir("/")
    serve(socket.socket(fileno=3))
