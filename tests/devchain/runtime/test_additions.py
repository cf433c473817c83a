"""The page on additions holds: what it says is done in a copy of the package, which then swaps to Bitcoin."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "design" / "additions.md"
INSERTED = re.compile(r"In `([^`]+)`, below `([^`]+)`:\n\n```text\n(.*?)```", re.DOTALL)
WRITTEN = re.compile(r"The new file `([^`]+)`:\n\n```python\n(.*?)```", re.DOTALL)
SWAP = """
from cfnode.devchain.runtime.config import DevGenesis
from tests.devchain.runtime.broker import ADDRESSES
from tests.devchain.runtime.swapper import Swapper

ADDRESSES.setdefault({chain!r}, ADDRESSES["Ethereum"])
swapper = Swapper(config=DevGenesis(release={release!r}))
print(*swapper.deposit({asset!r}, "Btc", 10**19))
for names in swapper.blocks(4):
    print(*names)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the package and of the scripts that write its classes."""
    for folder in ("cfnode", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_an_asset_is_three_rows(copy: Path) -> None:
    """Add a token on Ethereum: its numbers, the code of its deposit contracts, and its terms."""
    assert follow(copy, "Add an asset") == 3
    events = run(copy, "-c", SWAP.format(chain="Ethereum", asset="Link", release="2.3.0"))
    assert "EthereumIngressEgress.DepositFinalised" in events
    assert "BitcoinIngressEgress.BatchBroadcastRequested" in events


def test_a_chain_is_one_file_and_its_entries(copy: Path) -> None:
    """Add a chain of the EVM kind with its coin: its file, its numbers, and its place in the list."""
    assert follow(copy, "Add a chain") == 3
    run(copy, "scripts/chain_values.py")
    events = run(copy, "-c", SWAP.format(chain="Base", asset="BaseEth", release="2.3.0"))
    assert "BaseIngressEgress.DepositFinalised" in events
    assert "BitcoinIngressEgress.BatchBroadcastRequested" in events


def test_a_release_is_its_name_and_its_rules(copy: Path) -> None:
    """Add a release with one other rule, and swap on a chain of it."""
    assert follow(copy, "Follow a release") == 4
    events = run(copy, "-c", SWAP.format(chain="Ethereum", asset="Eth", release="2.4.0"))
    assert "BitcoinIngressEgress.BatchBroadcastRequested" in events


def follow(copy: Path, heading: str) -> int:
    """Make the changes of a section of the page; return the number of files that they touch."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    for name, before, text in INSERTED.findall(section):
        insert(copy / name, before, text)
    for name, text in WRITTEN.findall(section):
        (copy / name).write_text(text)
    return len({match[0] for match in [*INSERTED.findall(section), *WRITTEN.findall(section)]})


def insert(path: Path, before: str, text: str) -> None:
    """Insert text below the line that begins like this: below all of what that line opens, except a list."""
    lines = path.read_text().splitlines(keepends=True)
    (at,) = [index for index, line in enumerate(lines) if line.startswith(before)]
    if lines[at].rstrip().endswith("(") and not before.endswith("= ("):
        indent = len(lines[at]) - len(lines[at].lstrip())
        at = next(index for index in range(at, len(lines)) if lines[index].startswith(" " * indent + ")"))
    lines.insert(at + 1, text)
    path.write_text("".join(lines))


def run(copy: Path, *arguments: str) -> str:
    """Run a Python program on the copy, and return its output."""
    environment = os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPYCACHEPREFIX", None)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
