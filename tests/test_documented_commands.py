"""Every `cfnode …` in the documentation names commands, flags and methods that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cfnode.cli import cli
from cfnode.devchain.methods.rows import SECTION
from cfnode.rpc.reference import full_table
from tests.conftest import ROOT

GENERATED = ROOT / "docs" / "reference"
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if GENERATED not in path.parents
]
INLINE = re.compile(r"(?<!`)`(cfnode [^`\n]+(?:\n[^`\n]+)?)`(?!`)")
FENCED = re.compile(r"^ *```(?:sh|text)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (cfnode (?:.*\\\n)*.*)$", re.MULTILINE)
COMMAND = re.compile(r"(?:^|[|&;(]) *cfnode +((?:'[^']*'|\"[^\"]*\"|[^|&;()#\n'\"])*)", re.MULTILINE)
FLAG = re.compile(r"(?<![\w'\"-])--?[a-z][\w-]*")
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"", re.DOTALL)
MISTAKES = {"rpc system_helth": "no method 'system_helth'"}
"""Commands that a page has as an example of a mistake."""
EVM_CHAIN = "--node http://127.0.0.1:8545"
"""What `cfnode rpc` calls has methods of its own then, which the block's test calls."""
METHODS = {name for row in full_table(SECTION).rows for name in (row.name, *row.aliases)}


def commands_of(text: str) -> Iterator[str]:
    """Yield the arguments of each `cfnode …` in code of a page, without quoted values."""
    blocks = [*FENCED.findall(text), *INDENTED.findall(FENCED.sub("", text)), *INLINE.findall(text)]
    for block in blocks:
        for arguments in COMMAND.findall(re.sub(r"\s*\\\n\s*", " ", block)):
            yield QUOTED.sub("VALUE", arguments).strip()


def fault(arguments: str) -> str | None:
    """Return the name in a command line that does not exist; None for none."""
    command: click.Command = cli
    flags = {name for parameter in cli.params for name in (*parameter.opts, *parameter.secondary_opts)}
    words = arguments.split()
    if words and words[0].startswith("--"):
        words.insert(0, "run")
    while isinstance(command, click.Group) and words and re.fullmatch(r"[a-z][\w-]*", words[0]):
        name = words.pop(0)
        below = command.get_command(click.Context(command), name)
        if below is None:
            return f"no command {name!r}"
        command = below
        flags |= {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    if (
        command.name == "rpc"
        and words
        and EVM_CHAIN not in arguments
        and re.fullmatch(r"\w+", words[0])
        and words[0] not in METHODS | {"METHOD"}
    ):
        return f"no method {words[0]!r}"
    unknown = [flag for flag in FLAG.findall(" ".join(words)) if flag not in {*flags, "--help", "-h"}]
    return f"no flag {unknown[0]!r}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_documented_command_exists(page: Path) -> None:
    """Name only existing commands, flags and methods on each page."""
    faults = {command: problem for command in commands_of(page.read_text()) if (problem := fault(command))}
    assert {command: problem for command, problem in faults.items() if MISTAKES.get(command) != problem} == {}


def test_the_guide_has_many_commands() -> None:
    """Find many commands in the pages, so that the search itself works."""
    assert sum(len(list(commands_of(page.read_text()))) for page in PAGES) > 200


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```sh\ncfnode run --dev --no-such-flag 5\n```\n", "no flag '--no-such-flag'"),
        ("```sh\nX=$(cfnode dev depositt 1 | cat)\n```\n", "no command 'depositt'"),
        ("Call `cfnode rpc broker_no_method 1`.\n", "no method 'broker_no_method'"),
        ("    cfnode --dev --rpc-prt 1 \\\n      --tmp\n", "no flag '--rpc-prt'"),
        ("    cfnode run \\\n      --tmpp\n", "no flag '--tmpp'"),
    ],
)
def test_a_stale_command_is_noticed(text: str, problem: str) -> None:
    """Notice a command, flag or method that does not exist, in each form of Markdown."""
    assert [fault(command) for command in commands_of(text)] == [problem]
