"""A forked program is like one that starts anew: its parent, streams, environment, descriptors and end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.wires import NotPermitted, machines
from tests.process import command, environment, running_node, until
from tests.support.forking import SWITCH, ForkingPopen, popen, write_command
from tests.support.forking.popen import NODE, forkable, kind_of

REPORT = """
import json, os, sys
mask = os.umask(0)
print(json.dumps({
    "parent": os.getppid(), "arguments": sys.argv[1:], "folder": os.getcwd(), "mask": mask,
    "variables": {name: os.environ[name] for name in sorted(os.environ)},
    "leads a session": os.getsid(0) == os.getpid(),
    "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd") if int(name) < 100),
    "read": sys.stdin.read(), "limit": sys.getrecursionlimit(),
}))
print("to standard error", file=sys.stderr)
sys.exit(7)
"""
ENDS = {
    "sys.exit(): 0": "import sys; sys.exit()",
    "sys.exit(300): the low byte": "import sys; sys.exit(300)",
    "a text: 1": "import sys; sys.exit('the reason')",
    "an error: 1": "raise ValueError('the reason')",
    "SIGINT": "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
    "SIGTERM": "import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "exit functions": "import atexit; atexit.register(print, 'at the end')",
    "a thread that goes on": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.05), print('later'))).start()",
}


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[subprocess.CompletedProcess[str]]]:
    """Return a function that runs a program by a fork and anew."""
    assert ForkingPopen.is_on

    def run(program: str, *arguments: str, **options: Any) -> list[subprocess.CompletedProcess[str]]:
        monkeypatch.setattr(popen, "_programs", lambda: (program,))
        line = [sys.executable, "-c", program, *arguments]
        done = []
        for switch in ("1", "0"):
            monkeypatch.setenv(SWITCH, switch)
            assert (forkable(line, options.get("env")) is None) == (switch == "0")
            done.append(subprocess.run(line, capture_output=True, text=True, timeout=60, **options))
        return done

    return run


def test_it_is_a_child_of_the_test_and_finds_what_a_new_process_finds(
    both: Callable[..., Any], tmp_path: Path
) -> None:
    """Run a forked program with the parent, arguments, environment and descriptors of a new process."""
    variables = {**os.environ, "NAME": "ä value", "PYTHONPATH": str(tmp_path)}
    with (tmp_path / "passed").open("w") as passed:
        options = {"cwd": tmp_path, "env": variables, "input": "a line\n", "pass_fds": [passed.fileno()]}
        forked, anew = both(REPORT, "one", "two", start_new_session=True, umask=0o027, **options)
    assert forked.returncode == anew.returncode == 7
    assert forked.stderr == anew.stderr == "to standard error\n"
    forked_report, expected = json.loads(forked.stdout), json.loads(anew.stdout)
    assert forked_report["parent"] == os.getpid()
    assert forked_report["leads a session"] is True
    assert forked_report["read"] == "a line\n"
    for report in (forked_report, expected):
        report["variables"].pop("LC_CTYPE", None)  # Python sets it when it begins
        report["variables"].pop(SWITCH, None)
    assert forked_report == expected


WHERE = "import os; print(os.readlink('/proc/self/ns/net'))"


@pytest.mark.world
def test_it_begins_in_the_network_namespace_of_the_thread_that_starts_it(
    both: Callable[..., list[subprocess.CompletedProcess[str]]],
) -> None:
    """Begin a forked program in the network namespace of the thread that starts it."""
    here = [done.stdout for done in both(WHERE)]
    try:
        with machines(1) as (machine,), machine.here():
            there = [done.stdout for done in both(WHERE)]
    except NotPermitted as error:
        pytest.skip(str(error))
    assert len({*here}) == len({*there}) == 1
    assert here != there


@pytest.mark.parametrize("program", ENDS.values(), ids=ENDS)
def test_it_ends_as_a_new_process_does(both: Callable[..., Any], program: str) -> None:
    """End a forked program with the code, signal and output of a new process."""
    forked, anew = both(program)
    assert (forked.returncode, forked.stdout) == (anew.returncode, anew.stdout)
    assert forked.stderr.splitlines()[-1:] == anew.stderr.splitlines()[-1:]


SHELL = (
    (("key", "inspect", "-"), "//Alice"),
    (("key", "inspect", "--scheme=rsa", "//Alice"), ""),
    (("dev", "seal", "--url=http://127.0.0.1:1"), ""),
)


@pytest.mark.parametrize(("words", "read"), SHELL, ids=[" ".join(words) for words, _ in SHELL])
def test_the_command_of_shells_prints_and_ends_as_the_program_does(
    words: tuple[str, ...], read: str, tmp_path: Path
) -> None:
    """Print and end by the shell's command as by the program itself."""
    write_command(tmp_path / "cfnode")
    options: dict[str, Any] = {"env": environment(tmp_path), "cwd": tmp_path, "input": read, "text": True}
    by_shell = subprocess.run([tmp_path / "cfnode", *words], capture_output=True, timeout=60, **options)
    direct = subprocess.run(command(*words), capture_output=True, timeout=60, **options)
    assert (by_shell.returncode, by_shell.stdout, by_shell.stderr) == (
        direct.returncode,
        direct.stdout,
        direct.stderr,
    )
    assert by_shell.returncode in (0, 2, 5)


def test_the_command_of_shells_passes_signals_on(tmp_path: Path) -> None:
    """Pass a signal through the shell's command to the node."""
    write_command(tmp_path / "cfnode")
    log = tmp_path / "log"
    line = [tmp_path / "cfnode", "run", "--dev", "--rpc-port=0", "--port=0", "--no-prometheus", "--tmp"]
    with log.open("w") as stream:
        node = subprocess.Popen(line, stderr=stream, stdout=subprocess.DEVNULL, env=environment(tmp_path))
    until(lambda: "Running JSON-RPC server" in log.read_text())
    node.send_signal(signal.SIGINT)
    assert node.wait(timeout=60) == 0
    assert "Stopping" in log.read_text()


def test_only_programs_of_cfnode_in_this_interpreter_are_forked() -> None:
    """Fork only programs of cfnode in this interpreter with plain options; others start anew."""
    line = command("key", "generate")
    assert forkable(line, None) == ["-m", "cfnode", "key", "generate"]
    assert forkable(line, {**os.environ, "PYTHONMALLOC": "debug"}) is None
    assert forkable(["python3", *line[1:]], None) is None
    assert forkable([sys.executable, "-c", "print()"], None) is None
    assert forkable([sys.executable, "-X", "importtime", "-m", "cfnode"], None) is None
    assert forkable(["true"], None) is None


def test_what_starts_is_counted_by_its_kind() -> None:
    """Count started programs by their kind."""
    assert kind_of(command("run", "--dev")) == NODE
    assert kind_of(command("--dev")) == NODE
    assert kind_of(command("key", "insert")) == "cfnode key"
    assert kind_of(["/usr/bin/true"]) == "true"
    assert kind_of("echo a word") == "echo"


def test_a_forked_node_ends_with_its_executors_and_servers(tmp_path: Path) -> None:
    """End a killed node's executors and servers with it."""
    with running_node(tmp_path, "--dev") as node:
        listed = Path(f"/proc/{node.process.pid}/task/{node.process.pid}/children")
        until(lambda: len(listed.read_text().split()) >= 2)
        children = listed.read_text().split()
        node.process.kill()
        assert node.process.wait() == -signal.SIGKILL
    until(lambda: not any(Path(f"/proc/{child}/cmdline").exists() and _runs(child) for child in children))


def _runs(pid: str) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
