"""Command lines of unit files, compose files, scripts and guides for the official node start as meant.

`official_lines.json` names the source of each; file names and addresses are replaced. Those that are composed
have spellings that no published line has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import click
import pytest

from cfnode.cli.accepted import ignored_flags
from cfnode.cli.run import check_together, config_from, name_of
from tests.process import running_node
from tests.support.cli.official import parsed

LINES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("official_lines.json").read_text())


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value


@pytest.mark.parametrize("line", LINES, ids=[line["source"] for line in LINES])
def test_a_command_line_of_the_official_node_starts_as_it_is_meant(line: dict[str, Any]) -> None:
    """Start with the settings and warnings that the line means, or refuse it in the stated words."""

    def started() -> click.Context:
        ctx = parsed(*line["arguments"])
        check_together(ctx, ctx.params)
        return ctx

    if "refused" in line:
        with pytest.raises(click.UsageError) as refused:
            started()
        assert line["refused"] in refused.value.format_message()
        return
    ctx = started()
    config = config_from(ctx.params | {"name": name_of(ctx, ctx.params)})
    settings = {name: plain(reduce(getattr, name.split("."), config)) for name in line["starts"]}
    assert settings == line["starts"]
    assert ignored_flags(ctx) == line["ignored"]
    if "log" in line:
        assert list(ctx.params["log"]) == line["log"]


STARTED = (
    "chainflip-io/chainflip-backend: ci/scripts/check_blocktime.sh",
    "chainflip-io/chainflip-backend: state-chain/README.md",
    "composed: start-node.sh with --dev",
)


def with_own_places(arguments: list[str], folder: Path) -> Iterator[str]:
    """Yield the arguments, with a folder and ports of the test's own."""
    own = {"--base-path": f"{folder}/base", "--port": "0", "--rpc-port": "0"}
    for argument in arguments:
        name = argument.partition("=")[0]
        yield f"{name}={own[name]}" if name in own else argument


@pytest.mark.parametrize("source", STARTED)
def test_some_of_them_really_start(source: str, tmp_path: Path) -> None:
    """Start a real node by some of the lines, and name each ignored flag in its log."""
    line = next(line for line in LINES if line["source"] == source)
    with running_node(tmp_path, *with_own_places(line["arguments"], tmp_path)) as node:
        assert node.call("system_chain") == "Chainflip-Dev"
        assert node.call("chain_getBlockHash", 0) is not None
        for name in line["ignored"]:
            assert name in node.log, "the warning names it"


def test_most_of_them_were_published() -> None:
    """Count the lines: 35 were published by others, and 10 were composed here."""
    published = [line for line in LINES if not line["source"].startswith("composed")]
    assert (len(LINES), len(published)) == (45, 35)
