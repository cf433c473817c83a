"""A forked process becomes the program that was ordered."""

from __future__ import annotations

import atexit
import fcntl
import io
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent.parent.parent
SWITCH = "CFNODE_TEST_FORK"
"""0 in the environment of a process: it starts anew."""
FIRST_FREE = 512
"""Descriptors are moved to numbers from here on before they get their own."""


def become(
    order: dict[str, Any], descriptors: Sequence[int], before_node: Callable[[], None] = lambda: None
) -> NoReturn:
    """Be the ordered program, and end with it. `before_node` prepares for a program that starts executors."""
    code = 1
    try:
        if order["session"]:
            os.setsid()
        put_in_place(descriptors, order["descriptors"])
        os.chdir(order["cwd"])
        os.umask(order["umask"])
        os.environ.clear()
        os.environ.update(order["env"])
        time.tzset()
        _open_standard_streams()
        program = order["program"]
        if _starts_node(program):
            before_node()
        _run(program, order["cwd"])
        code = 0
    except SystemExit as end:
        code = _code_of(end)
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        code = -signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
    _end(code)


def put_in_place(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    """Give each descriptor its number, and close all others."""
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, FIRST_FREE) for descriptor in descriptors]
    os.closerange(0, FIRST_FREE)
    for descriptor, number in zip(moved, numbers, strict=True):
        os.dup2(descriptor, number, inheritable=True)
        os.close(descriptor)


def _open_standard_streams() -> None:
    """Open streams over descriptors 0 to 2, as an interpreter does."""
    direct = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        raw = io.FileIO(number, "rb" if number == 0 else "wb", closefd=False)
        stream = io.TextIOWrapper(
            io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw),
            encoding="utf-8",
            errors="backslashreplace" if name == "stderr" else "strict",
            line_buffering=name == "stderr" or raw.isatty(),
            write_through=direct and number > 0,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _starts_node(program: Sequence[str]) -> bool:
    """Return whether the program starts executors: `cfnode run`, whose name may be left out."""
    arguments = program[2:]
    return bool(arguments) and (arguments[0] == "run" or arguments[0].startswith("--"))


def _run(program: Sequence[str], cwd: str) -> None:
    """Run `-m cfnode ARGUMENTS` or `-c PROGRAM ARGUMENTS`."""
    kind, text, *arguments = program
    further = [word for word in os.environ.get("PYTHONPATH", "").split(os.pathsep) if word]
    sys.path[:] = [
        cwd,
        *further,
        *[folder for folder in sys.path if folder not in ("", str(ROOT), cwd)],
        str(ROOT),
    ]
    if kind == "-m":
        sys.argv = [str(ROOT / "cfnode" / "__main__.py"), *arguments]
        runpy.run_module(text, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *arguments]
        exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})


def _code_of(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _end(code: int) -> NoReturn:
    """End as an interpreter does, without taking its objects apart."""
    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)
