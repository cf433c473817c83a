"""Shell completion: bash runs for real on a terminal of its own, with the script that the command prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, terminal
from tests.process import command, environment

BASH = shutil.which("bash")


def script(shell: str, home: Path) -> str:
    """Return the completion script of a shell."""
    done = subprocess.run(
        command("completion", shell), env=environment(home), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


class Bash:
    """An interactive bash without start-up files, in which `cfnode` is this project's."""

    def __init__(self, screen: Terminal) -> None:
        self._screen = screen
        self._lines = 0
        screen.type("bind 'set bell-style none'; source completion.bash")
        self._enter()

    def complete(self, line: str, added: str) -> None:
        """Type a line and the TAB key, wait until bash adds this, and clear the line."""
        self.press_tab(line, f"^> {re.escape(line + added)}")

    def press_tab(self, line: str, expected: str, times: int = 1) -> None:
        """Type a line and the TAB key, wait for a pattern, and clear the line."""
        self._screen.type(line + "\t" * times)
        self._screen.wait_for(expected)
        self._screen.type("\x15")
        self._enter()

    def _enter(self) -> None:
        """End the line, and wait until bash has run it and reads the next one."""
        self._lines += 1
        self._screen.type(f"\necho line {self._lines}\n")
        self._screen.wait_for(f"^line {self._lines}\n> $")


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    """Yield a bash that has sourced the completion script, with this project as its cfnode."""
    program = tmp_path / "bin" / "cfnode"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cfnode "$@"\n')
    program.chmod(0o755)
    (tmp_path / "completion.bash").write_text(script("bash", tmp_path))
    variables = environment(tmp_path) | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PS1": "> "}
    with terminal([BASH or "bash", "--norc", "--noprofile", "-i"], tmp_path, variables) as screen:
        yield Bash(screen)


@pytest.mark.world
@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_commands_flags_and_values(bash: Bash) -> None:
    """Complete commands, flags and values in a real bash, also after flags and group options."""
    bash.complete("cfnode purge", "-chain ")
    bash.complete("cfnode swap qu", "ote ")
    bash.complete("cfnode run --rpc-meth", "ods ")
    bash.complete("cfnode run --sync li", "ght-rpc ")
    bash.complete("cfnode run --sync=wa", "rp ")
    bash.complete("cfnode --dev-fin", "ality-lag ")
    bash.complete("cfnode --dev --dev-fin", "ality-lag ")
    bash.complete("cfnode wait --timeout 3 --fin", "alized ")
    bash.complete("cfnode swap quote ArbUsdc Bt", "c ")
    bash.complete("cfnode config show swap qu", "ote ")
    bash.press_tab("cfnode swap quote arbu", "ArbUsd")
    bash.complete("cfnode swap quote Arbitrum/USDC Bitc", "oin/BTC ")
    bash.press_tab("cfnode key ", "^generate .*inspect-node-key", times=2)


def completed(home: Path, *words: str) -> list[str]:
    """Return what a shell offers for the last word of a line."""
    variables = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        command(),
        env=environment(home) | variables | {"_CFNODE_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.removeprefix("plain,") for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("arbi", ["Arbitrum/ETH", "Arbitrum/USDC", "Arbitrum/USDT"]),
        ("Arbitrum/u", ["Arbitrum/USDC", "Arbitrum/USDT"]),
        ("ARBITRUM.USDC", ["Arbitrum.USDC"]),
        ("bt", ["Btc"]),
        ("B", ["Btc", "Bnb", "BscUsdt", "Bitcoin/BTC", "Bsc/BNB", "Bsc/USDT"]),
        ("x", []),
    ],
)
def test_an_asset_is_completed_in_each_of_its_forms(tmp_path: Path, typed: str, offered: list[str]) -> None:
    """Complete an asset by its runtime name or by chain and name, whichever form was begun."""
    assert completed(tmp_path, "cfnode", "swap", "quote", typed) == offered
    assert completed(tmp_path, "cfnode", "dev", "price", typed) == offered


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_names_of_files(bash: Bash, tmp_path: Path) -> None:
    """Complete file names where a flag or an argument takes a file."""
    (tmp_path / "operator.toml").touch()
    bash.complete("cfnode run --config op", "erator.toml ")
    bash.complete("cfnode config check op", "erator.toml ")
    bash.complete("cfnode --config op", "erator.toml ")
    bash.complete("cfnode --config operator.toml wai", "t ")


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nosort -F _cfnode_completion cfnode"),
        ("zsh", "#compdef cfnode"),
        ("fish", "complete --no-files --command cfnode"),
    ],
)
def test_each_shell_has_a_script_that_asks_the_program(tmp_path: Path, shell: str, line: str) -> None:
    """Print for each shell a script that asks the program itself for the words."""
    text = script(shell, tmp_path)
    assert line in text
    assert f"_CFNODE_COMPLETE={shell}_complete" in text


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_are_answered_in_their_formats(tmp_path: Path, shell: str) -> None:
    """The calls of both shells' scripts, with the variables that they set."""
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
