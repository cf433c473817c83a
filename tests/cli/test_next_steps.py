"""Each error of a malformed command line says what to do: of each command, and of each text in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click
import pytest

from cfnode.core.refusals import read_refusal, refusal_text
from cfnode.devchain.runtime.pallets.dev import Dev
from tests.conftest import ROOT
from tests.lengths import repeats
from tests.support.cli.commands import commands, run
from tests.support.cli.next_steps import NEXT_STEP

CLI = ROOT / "cfnode" / "cli"
ERRORS = ("CommandFailure", "UsageError", "BadParameter", "fail", "NodeUnreachable", "ClientAccessRefused")
STATED_ELSEWHERE = {
    "interrupted": "the person did it",
    "nothing was deleted": "the person said no",
    "… Nothing was sent.": "what precedes it says what is awaited",
    "…; nothing was sent": "what precedes it says what would cost too much, or fail",
    "…, or `now`.": "what precedes it says how a time is written",
    "cfnode has no command …: ….": "the sentence says what cfnode has instead",
    "… (…).": "an error of another place, with the source of a value",
}
"""Errors that need no next step of their own, with the reason; as `texts` writes them."""
NO_VALUE = "\u2603"
"""A text that no type of a parameter takes."""


def mistakes(path: str, command: click.Command) -> Iterator[list[str]]:
    """Command lines of a command with one mistake each, which click or a type of ours finds."""
    words = path.split()
    yield [*words, "--no-such-option"]
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    if any(param.required for param in arguments):
        yield words
    if not any(param.nargs == -1 for param in arguments):
        yield [*words, *(NO_VALUE for _ in range(len(arguments) + 1))]
    for param in command.params:
        if not isinstance(param, click.Option) or param.hidden:
            continue
        if param.is_flag:
            yield [*words, f"{max(param.opts, key=len)}=x"]
            continue
        yield [*words, max(param.opts, key=len)]
        if not isinstance(param.type, click.types.StringParamType | click.Path):
            yield [*words, max(param.opts, key=len), *(NO_VALUE for _ in range(param.nargs))]


def test_each_command_says_what_to_do_about_a_malformed_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End each usage error of each command with a next step, for one mistake at a time."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    seen, faults = 0, list[tuple[str, str]]()
    for path, command in commands():
        for line in islice(mistakes(path, command), None, None, repeats(1, 4)):
            code, _, err = run(*line)
            if code != 2:
                continue  # the command takes such a value
            seen += 1
            message = err[err.index("Error: ") :].strip()
            if not NEXT_STEP.search(message):
                faults.append((" ".join(line), message))
    assert faults == []
    assert seen >= repeats(400, 100)


def texts() -> Iterator[tuple[str, str]]:
    """Yield each text of an error in the command line's code, with its place; `…` stands for a value."""
    for file in sorted(CLI.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                text = literal(node.args[0])
                if name in ERRORS and re.sub("[…\\s]", "", text):
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", text


def literal(node: ast.expr) -> str:
    """Return the text of an expression, with `…` for what it does not contain itself."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(literal, parts))
        case ast.BinOp(left=left, right=right):
            return literal(left) + literal(right)
    return "…"


def test_each_text_of_an_error_says_what_to_do() -> None:
    """A text that ends with a value goes on with another's words."""
    everything = list(texts())
    assert len(everything) >= 100
    complete = [(place, text) for place, text in everything if not text.endswith("…")]
    assert {*STATED_ELSEWHERE} <= {text for _, text in complete}
    faults = [
        (place, text)
        for place, text in complete
        if not NEXT_STEP.search(text) and text not in STATED_ELSEWHERE
    ]
    assert faults == []


@pytest.mark.parametrize("error", Dev.Error)
def test_each_refusal_of_the_controls_says_what_to_do(error: Dev.Error) -> None:
    """Add a next step to each error of the development pallet, whose own words are metadata."""
    refusal = read_refusal(
        f'KnownModuleError {{ pallet: "Dev", name: "{error.name}", error: "{error.doc}" }}'
    )
    assert refusal is not None
    text = refusal_text(refusal)
    assert text.startswith(error.doc.rstrip("."))
    assert NEXT_STEP.search(text.removeprefix(error.doc.rstrip("."))), text
