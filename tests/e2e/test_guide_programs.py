"""The SDK's programs of the guide, pasted one after the other, print what the page shows under them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cfnode.sdk.networks import NETWORKS
from tests.conftest import ROOT
from tests.documentation import block, blocks, outputs
from tests.e2e.guide import differences, masked
from tests.process import NodeProcess, running_node, until

PAGE = "docs/guide/sdk-programs.md"
NODE = "http://127.0.0.1:9944"
PROGRAMS = [block.runnable for block in blocks(PAGE, "python")]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """Yield the node that the page starts, on a free port and with shorter blocks."""
    command = block(PAGE, "cfnode run --dev").split()
    assert (command[:2], command[-2:]) == (["cfnode", "run"], ["--dev-block-time", "1000"])
    with running_node(tmp_path, *command[2:-1], "50") as node:
        until(lambda: int(node.call("chain_getHeader")["number"], 16) > 1)
        yield node


@pytest.mark.world
def test_each_program_prints_what_is_under_it(
    node: NodeProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Print under each program of the SDK's page what is documented there."""
    here = replace(NETWORKS["dev"], rpc_url=node.url, backend_url=node.url)
    monkeypatch.setitem(NETWORKS, "dev", here)
    path = ROOT / PAGE
    faults = []
    for program, documented in zip(PROGRAMS, outputs(PAGE), strict=True):
        source = program.replace(NODE, node.url)
        exec(compile(source, f"{PAGE}: {program}", "exec", dont_inherit=True), {"__name__": "example"})
        printed = capsys.readouterr().out
        if differences(documented, printed):
            faults += differences(documented, printed)
            new = f"```python\n{program}```\n\n```text\n{masked(printed)}```\n"
            written = path.read_text().replace(f"```python\n{program}```\n\n```text\n{documented}```\n", new)
            if os.environ.get("CFNODE_TEST_WRITE"):
                path.write_text(written)
    assert faults == [], "documented (-) and printed (+); CFNODE_TEST_WRITE=1 writes what is printed"


def test_each_of_the_sections_has_a_program() -> None:
    """Give each section of the page a program."""
    assert len(PROGRAMS) == (ROOT / PAGE).read_text().count("\n## ") == 10
