"""`cfnode` for shells, without its start: loaded once, each command in a process that is split off.

Loading Python and the libraries is nine tenths of a short command. A command's words, folder, environment and
its own standard input, output and error come over a socket; the child that is split off is at that point what
a fresh interpreter would be, and runs the same `main`. (`python -m tests.e2e.ready SOCKET` serves.)
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.process import ROOT

STREAMS = 3
MAX_BYTES = 1 << 20
"""Bytes of words and environment."""
FRONT = """#!{python} -IS
import json, os, socket, sys
words = sys.argv[1:]
if words[:1] == ["run"]:
    os.execv({real!r}, [{real!r}, "-m", "cfnode", *words, *{run!r}])
if words[:1] in (["rpc"], ["dev"], ["wait"]):
    words += {url!r}
with socket.socket(socket.AF_UNIX) as line:
    line.connect({path!r})
    request = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(request).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(request)
    sys.exit(int.from_bytes(line.recv(1) or b"\\xff", "big"))
"""


@contextmanager
def ready_command(folder: Path, *, run: list[str], url: list[str]) -> Iterator[None]:
    """A program `cfnode` in `folder`, for a while; `run` and `url` are flags that it adds where they belong.

    `cfnode run` is not split off but started as it is.
    """
    with TemporaryDirectory(prefix="cfnode") as place:  # short: a socket's path has to fit into 100 bytes
        yield from _ready(folder, Path(place) / "socket", run, url)


def _ready(folder: Path, path: Path, run: list[str], url: list[str]) -> Iterator[None]:
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, str(path)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    try:
        assert server.stdout.readline() == b"ready\n"
        front = folder / "cfnode"
        python = os.path.realpath(sys.executable)
        front.write_text(FRONT.format(python=python, real=sys.executable, run=run, url=url, path=str(path)))
        front.chmod(0o755)
        yield
    finally:
        server.kill()
        server.communicate(timeout=30)


def serve(path: str) -> None:
    """Answer until the process is killed."""
    load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        print("ready", flush=True)
        while True:
            line, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                answer(line)
            line.close()


def load() -> None:
    """What the commands of the guide need; the first call loads what only calls need."""
    from cfnode.cli import client, dev, key, recover, rpc, wait

    assert all((dev, key, recover, rpc, wait))
    with suppress(client.NodeUnreachable):
        client.call("http://127.0.0.1:1", "system_health", [])


def answer(line: socket.socket) -> None:
    """Run one command as this process; ends it."""
    status = 1
    try:
        size, streams, _, _ = socket.recv_fds(line, 4, STREAMS)
        words, folder, environment = json.loads(received(line, int.from_bytes(size, "big")))
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        status = exit_code(words)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        with suppress(OSError):
            line.sendall(bytes([status]))
        os._exit(status)


def received(line: socket.socket, size: int) -> bytes:
    """So many bytes."""
    assert size <= MAX_BYTES
    data = b""
    while len(data) < size:
        data += line.recv(size - len(data))
    return data


def exit_code(words: list[str]) -> int:
    """What the command ends with."""
    from cfnode.cli import main

    sys.argv = ["cfnode", *words]
    try:
        main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
