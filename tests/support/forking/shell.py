"""A `cfnode` for shells: a small program that gives its words to a fork server, and ends as the command.

The command has the shell's folder, environment, and the program's standard streams. SIGINT, SIGTERM and
SIGHUP are passed on to it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.forking.popen import fork_server
from tests.support.forking.program import become
from tests.support.forking.server import fork_a_server

FRONT = """#!{python} -IS
import json, os, signal, socket, sys
words = sys.argv[1:]
words += {run!r} if words[:1] == ["run"] else {url!r} if words[:1] in (["rpc"], ["dev"], ["wait"]) else []
line = socket.socket(socket.AF_UNIX)
line.connect({path!r})
mask = os.umask(0)
order = json.dumps([words, os.getcwd(), dict(os.environ), mask]).encode()
socket.send_fds(line, [len(order).to_bytes(4, "big")], [0, 1, 2])
line.sendall(order)
pid = int.from_bytes(line.recv(4), "big")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code = int.from_bytes(line.recv(4) or b"\\0\\0\\0\\xff", "big", signed=True)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
ANEW = '#!/bin/sh\nexec "{python}" -m cfnode "$@"\n'
"""Where there is no fork server."""


def write_command(path: Path, *, run: Sequence[str] = (), url: Sequence[str] = ()) -> None:
    """Write the program. `run`: flags that it adds to `cfnode run`; `url`: to commands that call a node."""
    server = fork_server()
    if server is None:
        assert not run
        assert not url
        path.write_text(ANEW.format(python=sys.executable))
    else:
        python = os.path.realpath(sys.executable)
        at = str(server.listener())
        path.write_text(FRONT.format(python=python, run=list(run), url=list(url), path=at))
    path.chmod(0o755)


# --- in a process that the fork server forked


def listen(path: str) -> None:
    """Run a program for each connection; endless."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets the guardians that end
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        while True:
            line, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                guard(line)
            line.close()


def guard(line: socket.socket) -> None:
    """Run the program of one connection, send its pid and then its exit code; ends this process."""
    size, streams, _, _ = socket.recv_fds(line, 4, 3)
    words, cwd, env, umask = json.loads(received(line, int.from_bytes(size, "big")))
    pid = os.fork()
    if pid == 0:
        line.close()
        order = {
            "program": ["-m", "cfnode", *words],
            "cwd": cwd,
            "env": env,
            "umask": umask,
            "session": False,
            "descriptors": [0, 1, 2],
        }
        become(order, streams, fork_a_server)
    for stream in streams:
        os.close(stream)
    line.sendall(pid.to_bytes(4, "big"))
    _, status = os.waitpid(pid, 0)
    line.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    os._exit(0)


def received(line: socket.socket, size: int) -> bytes:
    """Return so many bytes."""
    data = b""
    while len(data) < size:
        part = line.recv(size - len(data))
        assert part, "the shell's program has ended"
        data += part
    return data
