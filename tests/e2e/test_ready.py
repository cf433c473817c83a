"""A command that is split off from a loaded `cfnode` is the command: words, streams, folder and exit code."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.e2e.ready import ready_command
from tests.process import command, environment

CASES = (
    (("key", "inspect", "-"), "//Alice"),
    (("key", "inspect", "--scheme=rsa", "//Alice"), ""),
    (("dev", "seal", "--url=http://127.0.0.1:1"), ""),
)


def test_it_prints_and_ends_like_a_direct_start(tmp_path: Path) -> None:
    def ran(line: list[str], stdin: str) -> tuple[int, str, str]:
        done = subprocess.run(
            line,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env=environment(tmp_path),
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    with ready_command(tmp_path, run=[], url=[]):
        split_off = [ran([str(tmp_path / "cfnode"), *words], stdin) for words, stdin in CASES]
    started = [ran(command(*words), stdin) for words, stdin in CASES]
    assert split_off == started
    assert [code for code, _, _ in started] == [0, 2, 5]
