"""The reference of the SDK has each public name, its text, and examples that run."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import cfnode.sdk.lp
import cfnode.testing
from cfnode.sdk import SwapSDK
from cfnode.sdk.networks import NETWORKS
from scripts.sdk_pages import PAGES, examples, markdown, types_in, unclear
from tests.conftest import ROOT
from tests.sdk.lp.place import Market, market

REFERENCE = ROOT / "docs" / "reference"
PACKAGES = {
    "cfnode.sdk": "sdk.md",
    "cfnode.sdk.lp": "sdk-lp.md",
    "cfnode.sdk.recovery": "sdk-recovery.md",
    "cfnode.testing": "testing.md",
    "cfnode.testing.replay": "testing.md",
}
EXAMPLES = [(place, text) for page in PAGES.values() for place, text in examples(page)]
PRINTED = {
    "cfnode.sdk": r"[1-9]\d*\.\d+ ETH\n",
    "cfnode.sdk.AsyncSwapSDK": r"[1-9]\d+\n",
    "cfnode.sdk.SwapSDK": r"BTC [1-9]\d*\n",
    "cfnode.sdk.lp": r"1 call: sell order 1 of ETH at tick -?\d+\n",
    "cfnode.sdk.lp.AsyncLiquidityProvider": r"\(\('Eth', 'Usdc'\), .*\)\n",
    "cfnode.sdk.lp.LiquidityProvider": r"[\d.]+ USDC for 1 ETH\n",
    "cfnode.sdk.recovery": r"0 calls on offer\n",
    "cfnode.testing": r"True\n",
    "cfnode.testing.replay": r"[1-9]\d* blocks\n",
}
"""What each example prints."""
OWN_NODE = ("cfnode.testing", "cfnode.testing.replay")
"""The places of the examples that start a node themselves."""


def text_of(page: str) -> str:
    """Return a page of the reference."""
    return (REFERENCE / page).read_text()


def headings(page: str) -> set[str]:
    """Return the names that a page has entries for."""
    return set(re.findall(r"^#{3,4} (.*)$", text_of(page), re.MULTILINE))


@pytest.mark.parametrize("name", PACKAGES)
def test_each_public_name_is_on_the_page_with_its_text(name: str) -> None:
    """Print each public name on its page, with the first line of its docstring."""
    package, page = importlib.import_module(name), text_of(PACKAGES[name])
    missing = set(package.__all__) - headings(PACKAGES[name])
    assert missing == set()
    for public in package.__all__:
        value = getattr(package, public)
        if isinstance(value, type):
            section = page.partition(f"\n### {public}\n")[2].partition("\n### ")[0]
            (summary, *_) = inspect.cleandoc(value.__doc__ or "").splitlines()
            assert summary
            assert summary in section


@pytest.mark.world
@pytest.mark.parametrize("name", PACKAGES)
def test_an_editor_has_the_text_of_each_public_name(name: str) -> None:
    """Find each public name's text by an editor's own lookup."""
    from jedi import Project, Script
    from jedi.api.environment import InterpreterEnvironment

    package, page = importlib.import_module(name), text_of(PACKAGES[name])
    source = f"from {name} import *\n" + "\n".join(package.__all__)
    script = Script(source, environment=InterpreterEnvironment(), project=Project(ROOT))
    for line, public in enumerate(package.__all__, 2):
        (definition, *_) = script.goto(line, 1, follow_imports=True)
        section = page.partition(f"\n### {public}\n")[2].partition("\n### ")[0]
        (summary, *_) = definition.docstring(raw=True).splitlines() or [""]
        assert summary, public
        assert summary in section, public


def packages_below(package: ModuleType) -> Iterator[str]:
    """Yield the packages in a folder that list public names."""
    for path in sorted(Path(str(package.__file__)).parent.rglob("__init__.py")):
        name = ".".join(path.relative_to(ROOT).parent.parts)
        if hasattr(importlib.import_module(name), "__all__"):
            yield name


def test_no_package_of_public_names_is_left_out() -> None:
    """Document every package that lists public names."""
    packages = [*packages_below(cfnode.sdk), *packages_below(cfnode.testing)]
    internal = {"cfnode.sdk.calls"}  # `Call` is in cfnode.sdk
    assert set(packages) - internal == set(PACKAGES)
    assert {package for page in PAGES.values() for package in page.packages} == set(PACKAGES)


def test_each_method_of_the_clients_is_on_the_page_with_its_arguments() -> None:
    """Print each method of the client with all its arguments."""
    page = text_of("sdk.md")
    for name, method in inspect.getmembers(SwapSDK, inspect.isfunction):
        if not name.startswith("_") and name != "call":
            section = page.partition(f"\n#### SwapSDK.{name}\n")[2].partition("\n### ")[0]
            section = section.partition("\n#### ")[0]
            arguments = [name for name in inspect.signature(method).parameters if name != "self"]
            assert all(f"{argument}: " in section for argument in arguments), name
            assert f"{name}(" in section


@pytest.mark.parametrize(
    ("page", "client"),
    [
        ("sdk.md", cfnode.sdk.AsyncSwapSDK),
        ("sdk-lp.md", cfnode.sdk.lp.AsyncLiquidityProvider),
        ("testing.md", cfnode.testing.AsyncDevChain),
    ],
)
def test_a_method_of_both_clients_is_described_once(page: str, client: type) -> None:
    """Describe a method of both clients once, and link to it from the other."""
    name = client.__name__
    section = text_of(page).partition(f"\n### {name}\n")[2].partition("\n### ")[0]
    linked = dict(re.findall(r'<a id="(\w+)"></a>\[`\w+`\]\(#(\w+)\)', section))
    described = {title for title in headings(page) if title.startswith(f"{name}.")}
    blocking = name.removeprefix("Async")
    methods = [title.rpartition(".")[2] for title in headings(page) if title.startswith(f"{blocking}.")]
    assert len(linked) > len(described)
    for method in filter(client.__dict__.__contains__, methods):
        anchor = f"{name}{method}".lower()
        assert linked.get(anchor) == f"{blocking}{method}".lower() or f"{name}.{method}" in described, method


def test_signatures_link_to_the_types_of_the_page() -> None:
    """Link the types in a signature to their entries."""
    page = text_of("sdk.md")
    section = page.partition("\n#### SwapSDK.get_quote\n")[2].partition("\n#### ")[0]
    assert "[`QuoteResponse`](#quoteresponse)" in section
    assert "get_quote(\n    src_chain: " in section
    assert types_in('f(a: Quote | Literal["BTC"]) -> dict[str, Fee]  # Not') == ["Quote", "Literal", "Fee"]


def test_all_names_have_a_text_and_public_types() -> None:
    """Give every public name a text and public types."""
    assert list(unclear(PAGES)) == []


def test_a_public_name_without_a_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice a public name, and a method, without a text."""
    monkeypatch.setattr(cfnode.sdk.NoQuote, "__doc__", None)
    monkeypatch.setattr(SwapSDK.get_chains, "__doc__", None)
    assert list(unclear(PAGES)) == [
        "cfnode.sdk.NoQuote: the public name has no text",
        "cfnode.sdk.SwapSDK.get_chains: the public name has no text",
    ]


def test_a_type_that_is_not_public_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice a type that is not public."""
    names = [name for name in cfnode.sdk.__all__ if name != "PoolInfo"]
    monkeypatch.setattr(cfnode.sdk, "__all__", names)
    assert list(unclear({"sdk.md": PAGES["sdk.md"]})) == [
        "cfnode.sdk.Quote: its type PoolInfo is not public: add it to __all__ of the package"
    ]


def test_a_program_in_a_docstring_becomes_a_block() -> None:
    """Turn an indented program of a docstring into a block."""
    text = "A thing.\n\n    import x\n\n    if x:\n        x()\n\nThe end."
    assert markdown(text) == "A thing.\n\n```python\nimport x\n\nif x:\n    x()\n```\n\nThe end."


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    """Yield a development node with a broker, a swap service and a funded liquidity provider."""
    with market(tmp_path_factory.mktemp("market")) as place:
        yield place


def run(place: str, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run an example and compare what it prints."""
    exec(compile(source, f"the example of {place}", "exec", dont_inherit=True), {"__name__": "example"})
    assert re.fullmatch(PRINTED[place], capsys.readouterr().out)


@pytest.mark.parametrize(("place", "source"), [example for example in EXAMPLES if example[0] not in OWN_NODE])
def test_an_example_runs(
    place: str,
    source: str,
    node: Market,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run each example against a development node with a market."""
    url = node.node.url
    here = replace(NETWORKS["dev"], rpc_url=url, backend_url=url)
    monkeypatch.setitem(NETWORKS, "dev", here)
    run(place, source.replace("http://127.0.0.1:9944", url), capsys)


@pytest.mark.parametrize(("place", "source"), [example for example in EXAMPLES if example[0] in OWN_NODE])
def test_an_example_that_starts_a_node_runs(
    place: str,
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run each example that starts a node by itself."""
    monkeypatch.chdir(tmp_path)
    run(place, source, capsys)


def test_the_main_entry_points_have_examples() -> None:
    """Have an example for each main entry point, and no others."""
    assert {place for place, _ in EXAMPLES} == set(PRINTED)
