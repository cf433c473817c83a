"""`scripts/check` notices a flag, a method, a metric, an exit code or an error without documentation."""

from __future__ import annotations

import ast
import re
import shutil
import types
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from cfnode.cli import cli, exits
from cfnode.devchain.methods import rows
from cfnode.node.metrics import declared
from cfnode.rpc import error_codes
from cfnode.rpc import reference as rpc_reference
from cfnode.sdk import lp
from cfnode.sdk.errors import NoQuote
from scripts import cli_page, raised_codes, reference


def test_everything_is_documented() -> None:
    """Document every flag, method, metric, exit code and error."""
    assert list(reference.undocumented()) == []


def test_each_flag_has_an_entry_with_an_anchor_of_its_own() -> None:
    """Give each flag an entry with an anchor of its own, so that a link leads to one flag."""
    page = (reference.PAGES / "cli.md").read_text()
    anchors = Counter(re.findall(r'<a id="([^"]+)"></a>\[`', page))
    contexts = list(cli_page.contexts(cli, "cfnode", None))
    options = [
        (cli_page.path_of(ctx), option)
        for ctx in contexts
        for option in ctx.command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    assert len(options) > 400
    assert anchors == Counter(cli_page.anchor_of(path, option) for path, option in options)
    headings = {ctx.command_path.replace(" ", "-") for ctx in contexts}
    assert set(anchors.values()) == {1} and not headings & anchors.keys()
    assert {"run-rpc-port", "swap-request-slippage", "cfnode-version"} < anchors.keys()


def test_each_key_of_the_settings_leads_to_its_flag() -> None:
    """Link each key of the settings to its flag."""
    page = (reference.PAGES / "settings.md").read_text()
    rows = re.findall(r"^\| \[`([^`]+)`\]\(cli\.md#([^)]+)\)", page, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| .*`CFNODE_", page, re.MULTILINE)) > 300
    assert all(anchor.endswith(f"-{key}") for key, anchor in rows)


def test_the_text_of_an_entry_has_no_marks_of_markdown_but_code() -> None:
    """Escape Markdown in help texts, except for code."""

    @click.command(help="Say.", context_settings={"help_option_names": ["-h", "--help"]})
    @click.option("--word", metavar="A|B", help="dev_* or <b>, not `a*b`; 0<=x")
    def say(word: str) -> None: ...

    (ctx,) = cli_page.contexts(say, "say", None)
    ((title, entries),) = cli_page._flags(ctx)
    text = r"dev_\* or &lt;b>, not `a*b`; 0<=x"
    assert (title, entries) == ("", f'- <a id="cfnode-word"></a>[`--word A|B`](#cfnode-word): {text}')


def test_an_error_code_without_a_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice an error code without a text, and a text without a code."""
    known = error_codes.documented()
    kept = {code: meaning for code, meaning in known.items() if code != 1012} | {777: known[1012]}
    monkeypatch.setattr(error_codes, "documented", lambda: kept)
    assert list(reference.undocumented()) == [
        "error 1012 of cfnode.rpc.table.errors: not in cfnode/rpc/error_codes.py",
        "error 777: documented, and never raised",
    ]


def test_an_exit_code_without_a_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice an exit code without a meaning."""
    kept = {code: text for code, text in exits.MEANINGS.items() if code != exits.ExitCode.STORE}
    monkeypatch.setattr(exits, "MEANINGS", kept)
    assert list(reference.undocumented()) == ["exit code 4: not in MEANINGS"]


def test_a_flag_without_a_text_is_noticed_in_a_command_of_a_command() -> None:
    """Notice a flag without help in a nested command, unless it is hidden."""

    @click.group(help="Outer.")
    def outer() -> None: ...

    @outer.command(help="Inner.")
    @click.option("--bare")
    @click.option("--clear", help="Clear.")
    @click.option("--hidden", hidden=True)
    def inner(bare: str, clear: str, hidden: str) -> None: ...

    assert list(reference._without_help(outer, "x")) == ["x inner --bare: the flag has no help"]


def test_a_method_without_a_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice a method without a text."""
    table = rpc_reference.full_table(rows.SECTION)
    first, *others = table.rows
    without_text = SimpleNamespace(rows=(SimpleNamespace(name=first.name, doc=""), *others))
    monkeypatch.setattr(rpc_reference, "full_table", lambda _: without_text)
    assert list(reference.undocumented()) == [f"{first.name}: the method has no text"]


def test_an_error_of_the_sdk_without_a_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice an error of the SDK without a docstring."""
    monkeypatch.setattr(NoQuote, "__doc__", None)
    assert list(reference.undocumented()) == ["cfnode.sdk.NoQuote: the public name has no text"]


def test_an_error_of_the_sdk_that_is_not_public_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice an error of the SDK that no package makes public."""
    monkeypatch.setattr(lp, "__all__", [name for name in lp.__all__ if name != "OrdersIncomplete"])
    assert list(reference.undocumented()) == [
        "cfnode.sdk.lp.errors.OrdersIncomplete: the error is in no __all__ of a package of the SDK"
    ]


def test_a_metric_without_a_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice a metric without a text."""
    first, *others = declared.SECTIONS
    metric, *rest = first.metrics
    without_text = replace(first, metrics=(replace(metric, text=""), *rest))
    monkeypatch.setattr(declared, "SECTIONS", (without_text, *others))
    assert list(reference.undocumented()) == [f"{metric.name}: the metric has no text"]


DOCUMENTED = (
    ("cli.md", "--rpc-port"),
    ("settings.md", "CFNODE_RPC_PORT"),
    ("rpc.md", "broker_withdraw_fees"),
    ("metrics.md", "substrate_block_height"),
    ("errors.md", "-32601"),
    ("errors.md", "`KEY_FILE`"),
    ("exit-codes.md", "| 4 |"),
)


def test_what_is_missing_in_a_page_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Notice a missing entry in each generated page, and name the page."""
    copy = tmp_path / "reference"
    shutil.copytree(reference.PAGES, copy)
    monkeypatch.setattr(reference, "PAGES", copy)
    assert reference.main(check=True) == 0
    for page, documented in DOCUMENTED:
        lines = (copy / page).read_text().splitlines(keepends=True)
        kept = [line for line in lines if documented not in line]
        assert len(kept) < len(lines)
        (copy / page).write_text("".join(kept))
    assert reference.main(check=True) == 1
    names = capsys.readouterr().out.removeprefix("docs/reference: ").partition(" differ from the code")[0]
    assert set(names.split(", ")) == {page for page, _ in DOCUMENTED}


SOURCE = """
BUSY = 7
def direct(): raise RpcError(-1, "text")
def named(): raise RpcError(BUSY, "text")
def either(x):
    code = 2 if x else 3
    raise RpcError(code, "text")
def forwarding(text, code): return lambda: RpcError(code, text)
def further(code): return forwarding("text", code)
async def caller(): return further(4), forwarding("text", 5)
"""


def codes_of(source: str, known: dict[str, int]) -> tuple[list[int], dict[str, int]]:
    """Return the error codes of a module's source, and the functions that pass codes on."""
    module = types.ModuleType("example")
    exec(compile(source, "example", "exec"), vars(module))
    forwarding: dict[str, int] = {}
    return list(raised_codes._codes(module, ast.parse(source), known, forwarding)), forwarding


def test_codes_are_read_through_constants_variables_and_parameters() -> None:
    """Read codes through constants, variables and parameters, over several calls."""
    assert codes_of(SOURCE, {"RpcError": 0}) == ([-1, 7, 2, 3], {"forwarding": 1})
    assert codes_of(SOURCE, {"forwarding": 1}) == ([5], {"further": 0})
    assert codes_of(SOURCE, {"further": 0}) == ([4], {})


def test_a_code_that_cannot_be_read_is_an_error() -> None:
    """Raise where a code cannot be read: it would stay undocumented without notice."""
    with pytest.raises(raised_codes.UnclearCode, match="example, line 1: RpcError's code is neither"):
        codes_of("def f(x): return RpcError(x.code(), '')", {"RpcError": 0})
