"""The guide page of a market maker, played word for word: a feed in a file, then the replay of a market."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.documentation import block, blocks, outputs
from tests.e2e.shell import Shell
from tests.process import running_node

pytestmark = pytest.mark.world

PAGE = "docs/guide/market-maker.md"


def test_a_strategy_against_a_feed_in_a_file_and_its_replay(tmp_path: Path) -> None:
    """Play a strategy against a feed in a file, and replay it to the documented report."""
    for program in blocks(PAGE, "python"):
        name, text = program.runnable.removeprefix("# ").split("\n", 1)
        (tmp_path / name).write_text(text)
    start, wait = block(PAGE, "cfnode run --dev --dev-lp").splitlines()
    assert start.startswith("cfnode run --dev --dev-lp //Bob --dev-seal instant ")
    live = (tmp_path / "live.py").read_text()
    (tmp_path / "node").mkdir()
    with running_node(tmp_path / "node", "--dev", "--dev-lp=//Bob", "--dev-seal=instant") as node:
        shell = Shell(tmp_path, node.url)
        (tmp_path / "live.py").write_text(live.replace("http://127.0.0.1:9944", node.url))
        shell.program("python3", f'exec "{sys.executable}" "$@"')
        feed, funds = block(PAGE, "cat > prices.csv"), block(PAGE, "export CFNODE_LP_ACCOUNT=")
        printed = shell.run(f"{feed}\n{wait}\n{funds}\npython3 live.py")
    assert [line.split() for line in printed.splitlines()[-5:]] == [
        ["2026-01-05T12:00:00Z", "ETH", "2"],
        ["2026-01-05T12:00:00Z", "FLIP", "0"],
        ["2026-01-05T12:00:20Z", "ETH", "2"],
        ["2026-01-05T12:00:40Z", "ETH", "2"],
        ["2026-01-05T12:01:00Z", "ETH", "2"],
    ]
    command = block(PAGE, "cat > swaps.csv")
    reported = Shell(tmp_path).run(command)
    (expected,) = outputs(PAGE)
    assert [line.rstrip() for line in reported.splitlines()] == expected.splitlines()
    document = json.loads(Shell(tmp_path).run(f"{command.rstrip()} --json"))
    assert f"profit: ${document['profit']} against" in expected
    assert [fill["bought"] for fill in document["fills"]][-1] == {"Eth": "806629452009528479"}
