"""The guide's scenarios, word for word: a newcomer with an empty home pastes each block into a shell.

Only two things are not as in the guide: the node's port, and that its states are kept, for what follows. What
comes out has to be what the page shows, and @polkadot/api has to read in every block what the node reads.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from cfnode.node.config import RpcConfig
from scripts.dead_links import anchor_of
from tests.e2e import guide
from tests.e2e.guide import (
    GUIDE,
    MARK,
    PAGES,
    Block,
    blocks_of,
    blocks_to_play,
    differences,
    page_of,
    rewrite,
    script,
)
from tests.interop.polkadot import Reader, leaves
from tests.process import environment
from tests.rpc.scenarios.catalogue import scenarios
from tests.support.forking import write_command
from tests.support.ports import free_port

pytestmark = pytest.mark.world

OWN = ["--port=0", "--no-prometheus", "--state-pruning=archive", "--blocks-pruning=archive"]
EVENTS = "0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7"
"""The storage key of `System.Events`."""
MAX_BATCH = RpcConfig().max_batch
WITH_OUTPUT = [(page, block) for page in PAGES for block in blocks_to_play(page) if block.output]


@dataclass(frozen=True)
class Played:
    """A page that has been followed: what each of its blocks printed, and what the chain then held.

    Of each of the chain's blocks: the bytes of its events, and the events as the node returns them.
    """

    printed: dict[Block, str]
    metadata: str
    blocks: list[tuple[bytes, Any]]


@pytest.fixture(scope="module")
def follow(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Played]:
    """Return a function that follows a page, once, on a chain of its own."""

    @cache
    def followed_once(page: str) -> Played:
        return play(page, tmp_path_factory.mktemp("newcomer"))

    return followed_once


def play(page: str, home: Path) -> Played:
    """Follow a page on a chain of its own; return what was printed and what the chain holds."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    (home / "guide.sh").write_text(script(page, port))
    try:
        write_command(home / "cfnode", run=[f"--rpc-port={port}", *OWN], url=["--url", url])
        printed = dict(zip(blocks_to_play(page), followed(home).split(MARK)[1:], strict=True))
        return Played(printed, *chain_at(url))
    finally:
        for pid in (home / "node.pid").read_text().split():
            os.kill(int(pid), signal.SIGINT)


def chain_at(url: str) -> tuple[str, list[tuple[bytes, Any]]]:
    """Return the metadata of a node, and the events of its blocks."""
    header = asked(url, "chain_getHeader", [()])[0]
    hashes = asked(
        url, "chain_getBlockHash", [(number,) for number in range(1, int(header["number"], 16) + 1)]
    )
    raw = asked(url, "state_getStorage", [(EVENTS, block_hash) for block_hash in hashes])
    decoded = asked(url, "dev_events", [(block_hash,) for block_hash in hashes])
    metadata: str = asked(url, "state_getMetadata", [()])[0]
    return metadata, [(bytes.fromhex(data[2:]), events) for data, events in zip(raw, decoded, strict=True)]


def asked(url: str, method: str, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return the results of the same method for each parameters, in batches that a node takes."""
    results = []
    for first in range(0, len(calls), MAX_BATCH):
        batch = [
            {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
            for at, params in enumerate(calls[first : first + MAX_BATCH])
        ]
        answers = httpx.post(url, json=batch, timeout=120).json()
        results += [answer["result"] for answer in sorted(answers, key=lambda answer: int(answer["id"]))]
    return results


_NODE = re.compile(r" --node=http://127\.0\.0\.1:\d+")
"""The port of the test's node, which printed commands name since it is not the usual one."""


def followed(home: Path) -> str:
    """Return the output of a page that is pasted into a shell."""
    output = home / "output"
    with output.open("w") as stream:
        done = subprocess.run(
            ["bash", "guide.sh"],
            cwd=home,
            env={**environment(home), "PATH": f"{home}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, output.read_text()[-3000:]
    return _NODE.sub("", output.read_text())


@pytest.mark.parametrize(
    ("page", "block"), WITH_OUTPUT, ids=[f"{page}-{block.scenario}" for page, block in WITH_OUTPUT]
)
def test_a_block_prints_the_documented_output(
    follow: Callable[[str], Played], page: str, block: Block
) -> None:
    """Print what the page documents under a block."""
    assert block.output is not None
    printed = follow(page).printed[block]
    if faults := differences(block.output, printed):
        if os.environ.get("CFNODE_TEST_WRITE"):
            rewrite(page, block, printed)
        head = "documented (-) and printed (+); CFNODE_TEST_WRITE=1 writes what is printed into the page:"
        pytest.fail("\n".join([head, *faults]), pytrace=False)


def test_a_page_that_lies_is_noticed() -> None:
    """Notice a page that differs by a number, a character or a line."""
    documented = "7 Swapping.SwapExecuted\n0x…ff\n"
    assert differences(documented, "7 Swapping.SwapExecuted\n0x12ff\n") == []
    assert differences(documented, "8 Swapping.SwapExecuted\n0x12ff\n") != []
    assert differences(documented, "7 Swapping.SwapExecuted\n0x12fe\n") != []
    assert differences(documented, "7 Swapping.SwapExecuted\n0x12ff\nnull\n") != []
    assert differences(documented, "7 Swapping.SwapExecuted\n") != []


def test_each_section_is_a_scenario_and_shows_what_it_prints() -> None:
    """Make each section of the pages a scenario that prints something."""
    sections = [block for page in PAGES for block in blocks_of(page_of(page))]
    assert {block.scenario for block in sections if block.output} == set(scenarios())
    assert {block.scenario for block in sections} == set(scenarios())


def test_the_index_leads_to_each_section() -> None:
    """Link each section from the index."""
    text = GUIDE.read_text()
    for page in PAGES:
        for block in blocks_of(page_of(page)):
            assert f"(scenarios/{page}.md#{anchor_of(block.section)})" in text


def test_a_fallback_is_offered_twice_with_another_signature(follow: Callable[[str], Played]) -> None:
    """Offer a fallback twice, with another signature for an equal call."""
    printed = follow("failures").printed
    section = "".join(text for block, text in printed.items() if block.section.endswith("fails (Ethereum)"))
    offers = re.findall(r'"data": "([0-9a-f]+)"', section)
    assert len(offers) == 2
    assert offers[0] != offers[1]
    assert offers[0][-192:] == offers[1][-192:]


@pytest.mark.parametrize("page", PAGES)
def test_polkadot_api_reads_every_event_as_the_node_does(
    follow: Callable[[str], Played], page: str, node_modules: Path, polkadot: Reader
) -> None:
    """Read every event with @polkadot/api as the node returns it."""
    played = follow(page)
    read = polkadot.read(played.metadata, [data for data, _ in played.blocks])
    for (_, ours), events in zip(played.blocks, read, strict=True):
        assert [f"{event['pallet']}.{event['name']}" for event in ours] == [name for name, _ in events]
        for mine, (name, fields) in zip(ours, events, strict=True):
            assert leaves(mine["fields"]) == leaves(fields), name


def test_a_page_is_written_anew_where_it_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a page anew where it is wrong, and keep its ellipses."""
    path = tmp_path / "scenarios" / "a.md"
    path.parent.mkdir()
    (tmp_path / "scenarios.md").write_text("# Index\n")
    text = "## A\n\n```sh\nx\n```\n\n```text\nblock 5 0x…\n{}\n```\n\nWhy.\n"
    path.write_text(text.format("6 X"))
    monkeypatch.setattr(guide, "GUIDE", tmp_path / "scenarios.md")
    printed = f"block 5 0x{'ab' * 32}\n7 X 0x{'cd' * 32}\n"
    (block,) = blocks_of(path)
    assert differences(block.output or "", printed)
    rewrite("a", block, printed)
    assert path.read_text() == text.format("7 X 0x…")
    assert differences(blocks_of(path)[0].output or "", printed) == []
