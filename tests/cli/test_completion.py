"""Shell completion: bash runs for real on a terminal of its own, with the script that the command prints."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import command, environment

LIMIT_S = 120.0
BASH = shutil.which("bash")


def script(shell: str, home: Path) -> str:
    done = subprocess.run(
        command("completion", shell), env=environment(home), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


class Terminal:
    """An interactive bash without start-up files, in which `cfnode` is this project's."""

    def __init__(self, home: Path) -> None:
        program = home / "bin" / "cfnode"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cfnode "$@"\n')
        program.chmod(0o755)
        (home / "completion.bash").write_text(script("bash", home))
        self.fd, inner = pty.openpty()
        self.process = subprocess.Popen(
            [BASH or "bash", "--norc", "--noprofile", "-i"],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=home,
            env=environment(home)
            | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PS1": "READY> ", "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(inner)
        self.until("READY> ")
        os.write(self.fd, b"bind 'set bell-style none'; source completion.bash\n")
        self.until("completion.bash\r\nREADY> ")

    def until(self, pattern: str) -> str:
        """What is printed, up to the text that the pattern finds."""
        text, end = "", time.monotonic() + LIMIT_S
        while not re.search(pattern, text):
            assert time.monotonic() < end, f"{pattern!r} is not in {text!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                text += os.read(self.fd, 1 << 16).decode(errors="replace")
        return text

    def complete(self, line: str, expected: str, tabs: int = 1) -> None:
        """Type a line and the TAB key, wait for the expected text, and clear the line."""
        os.write(self.fd, line.encode() + b"\t" * tabs)
        self.until(expected)
        os.write(self.fd, b"\x15\n")
        self.until("READY> $")

    def close(self) -> None:
        os.close(self.fd)
        self.process.kill()
        self.process.wait(timeout=30)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path)
    try:
        yield found
    finally:
        found.close()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_commands_flags_and_values(terminal: Terminal) -> None:
    terminal.complete("cfnode purge", "purge-chain ")
    terminal.complete("cfnode swap qu", "swap quote ")
    terminal.complete("cfnode run --rpc-meth", "--rpc-methods ")
    terminal.complete("cfnode run --sync li", "--sync light-rpc ")
    terminal.complete("cfnode run --sync=wa", "--sync=warp ")
    terminal.complete("cfnode --dev-fin", "--dev-finality-lag ")
    terminal.complete("cfnode --dev --dev-fin", "--dev-finality-lag ")
    terminal.complete("cfnode wait --timeout 3 --fin", "--finalized ")
    terminal.complete("cfnode swap quote arbu", "ArbUsd")
    terminal.complete("cfnode swap quote ArbUsdc Bt", "ArbUsdc Btc ")
    terminal.complete("cfnode config show swap qu", "swap quote ")
    terminal.complete("cfnode key ", "inspect-node-key", tabs=2)


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_names_of_files(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "operator.toml").touch()
    terminal.complete("cfnode run --config op", "operator.toml ")
    terminal.complete("cfnode config check op", "operator.toml ")
    terminal.complete("cfnode --config operator.toml wai", "operator.toml wait ")


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nosort -F _cfnode_completion cfnode"),
        ("zsh", "#compdef cfnode"),
        ("fish", "complete --no-files --command cfnode"),
    ],
)
def test_each_shell_has_a_script_that_asks_the_program(tmp_path: Path, shell: str, line: str) -> None:
    text = script(shell, tmp_path)
    assert line in text
    assert f"_CFNODE_COMPLETE={shell}_complete" in text


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_are_answered_in_their_formats(tmp_path: Path, shell: str) -> None:
    """What their scripts call, with the variables that they set."""
    words = {"zsh": {"COMP_WORDS": "cfnode purge", "COMP_CWORD": "1"},
             "fish": {"COMP_WORDS": "cfnode purge", "COMP_CWORD": "purge"}}[shell]  # fmt: skip
    done = subprocess.run(
        command(),
        env=environment(tmp_path) | words | {"_CFNODE_COMPLETE": f"{shell}_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.split(r"[\n,\t]", done.stdout)[:2] == ["plain", "purge-chain"]
