"""What a person reads after each of some ninety mistakes: the page of the messages is made here."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from string import Template

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from tests.conftest import ROOT
from tests.process import NodeProcess
from tests.sdk.place import node_with_broker
from tests.support.cli.next_steps import NEXT_STEP
from tests.support.cli.wrong_inputs import ADDRESSES, CASES, FILES, Mistake

PAGE = ROOT / "docs" / "reference" / "wrong-inputs.md"
HEAD = """# Wrong inputs

What the commands answer to common mistakes, on a development chain with a broker and a liquidity provider.
A test makes this page. Each message names what was wrong, where, and what to do. `$EVM`, `$BTC` and `$SOL`
are addresses of the development chain, `$MAIN` is one of Bitcoin's main net, `$ACCOUNT` an account (`cF…`).
"""
_HASH = re.compile(r"0x[0-9a-f]{64}")
_AHEAD = re.compile(r"\d+ s ahead")
_RAW = re.compile(r"KnownModuleError|DispatchError|Traceback|Errno|<class|object at 0x|\{\"code\"")
"""What no person has to read."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a node with a broker and a liquidity provider."""
    with node_with_broker(tmp_path_factory.mktemp("wrong"), "--dev-lp=//Bob") as running:
        yield running


def answered(node: NodeProcess, line: str, folder: Path) -> str:
    """Return the message of a command, without what differs from one run to the next."""
    variables = {"CFNODE_URL": node.url, "CFNODE_NETWORK": "dev", "CFNODE_BASE_PATH": str(folder)}
    variables["CFNODE_LP_ACCOUNT"] = ADDRESSES["ACCOUNT"]
    arguments = shlex.split(Template(line).safe_substitute({k: shlex.quote(v) for k, v in ADDRESSES.items()}))
    done = CliRunner().invoke(cli, arguments, env=variables, prog_name="cfnode")
    assert done.exit_code not in (0, 130), (line, done.output)
    assert done.exception is None or isinstance(done.exception, SystemExit), (line, done.exception)
    message = done.stderr[done.stderr.index("Error: ") :].strip()
    plain = message.replace(node.url, "http://127.0.0.1:9944").replace(str(folder), "~/.local/share/cfnode")
    return _AHEAD.sub("… s ahead", _HASH.sub("0x…", plain))


def lacking(mistake: Mistake, message: str) -> list[str]:
    """Return what a message lacks of a mistake, or says as no person reads it."""
    parts = {"what": mistake.what, "where": mistake.where, "step": mistake.step}
    missing = [f"{name}: {part}" for name, part in parts.items() if part not in message]
    if _RAW.search(message) or len(message) > 1_000:
        missing.append("plain words")
    return missing


def test_each_mistake_is_answered_as_the_page_says(
    node: NodeProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Print for each mistake the message of the page, with what was wrong, where, and a next step."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    parts, faults = [HEAD], list[tuple[str, list[str], str]]()
    for title, mistakes in CASES.items():
        parts.append(f"## {title}\n")
        for mistake in mistakes:
            message = answered(node, mistake.line, tmp_path)
            if missing := lacking(mistake, message):
                faults.append((mistake.line, missing, message))
            parts.append(f"```text\n$ cfnode {mistake.line}\n{message}\n```\n")
    assert faults == []
    page = "\n".join(parts)
    if os.environ.get("CFNODE_TEST_WRITE"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page


def test_the_page_has_at_least_sixty_and_each_names_what_to_do() -> None:
    """Count at least sixty mistakes, each with what, where and a next step."""
    mistakes = [mistake for title in CASES.values() for mistake in title]
    assert len(mistakes) >= 60
    assert [mistake.step for mistake in mistakes if not NEXT_STEP.search(f"; {mistake.step}")] == []
    assert [mistake.line for mistake in mistakes if not all(mistake)] == []
