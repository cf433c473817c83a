"""A newcomer types `scripts/start`, and pastes what the screen shows until the swap is completed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.conftest import ROOT
from tests.documentation import block, outputs
from tests.e2e.guide import stands_for
from tests.e2e.terminal import terminal
from tests.process import environment
from tests.support.ports import free_port

pytestmark = pytest.mark.world

STEPS = re.compile(
    r"A first swap, in another terminal:\n(.*?)\n\s+It prints .*?swap watch [^\n]+\n", re.DOTALL
)


PAGE = "docs/guide/quick-start.md"


def project(folder: Path) -> Path:
    """Return the project as a person has it after the first start: scripts, and `.venv` with the program."""
    (folder / "scripts").mkdir()
    for name in ("scripts/start", "scripts/environment", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    program = folder / ".venv" / "bin" / "cfnode"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cfnode "$@"\n')
    program.chmod(0o755)
    with (folder / "pyproject.toml").open("rb") as content:
        stamp = subprocess.run(["cksum"], stdin=content, capture_output=True, check=True).stdout
    (folder / ".venv" / "stamp").write_bytes(stamp)
    return folder


def as_on_the_page(line: str, port: str) -> str:
    """Return a line of the terminal, as with the default port, without its time, with the page's channel."""
    line = re.sub(rf" --(node|backend) http://127.0.0.1:{port}", "", line).replace(port, "9944")
    line = re.sub(r"Channel \d+-Bitcoin-1 ", "Channel 4-Bitcoin-1 ", line)
    return re.sub(r"^\d{4}-\d\d-\d\d [\d:]+ ", "", line).strip()


def test_what_the_screen_shows_leads_to_completed(tmp_path: Path) -> None:
    """Paste what the screen prints until the swap is COMPLETED, as the page documents it."""
    newcomer = environment(tmp_path) | {"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"}
    port = str(free_port())
    flags = [f"--rpc-port={port}", "--port=0", "--no-prometheus", "--dev-block-time=200"]
    with (
        terminal([block(PAGE, "scripts/start").strip(), *flags], project(tmp_path), newcomer) as chain,
        terminal(["sh"], tmp_path, newcomer) as shell,
    ):
        steps = chain.wait_for(STEPS.pattern)
        assert (
            "Broker        //Alice, cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9 (registered)"
            in chain.text
        )
        shell.type(dedent(steps[1]).strip() + "\n")
        deposit, watch = shell.wait_for(
            r"^Pay into it:\s+(cfnode [^\n]+)\nFollow it:\s+(cfnode [^\n]+)\n"
        ).groups()
        assert "█" not in shell.text  # no wallet pays on this chain, and the commands stay on the screen
        shell.type(f"{deposit}\n")
        shell.wait_for("deposited 0.1 BTC")
        shell.type(f"{watch}\n")
        shell.wait_for("●●●●●●  COMPLETED")
        chain.wait_for(
            "📬 Channel .*💰 Deposit of 0.1 BTC .*🔁 Swapped .*📤 Payout of .* has arrived on Ethereum"
        )
        assert STEPS.search(chain.screen), chain.screen
        lines = [as_on_the_page(line, port) for line in chain.text.splitlines()]
        for documented in "\n".join(outputs(PAGE)).splitlines():
            assert any(stands_for(documented.strip(), line) for line in lines), f"{documented}: {lines}"
        assert not re.search("Prepared block|Pre-sealed|ERROR", chain.text)
        assert chain.end() == 0
    assert not (tmp_path / ".local").exists()


def test_the_readme_starts_it_the_same_way() -> None:
    """Start the project by an equal command in README and quick start."""
    assert (
        block("README.md", "scripts/start ").partition("#")[0].strip() == block(PAGE, "scripts/start").strip()
    )
