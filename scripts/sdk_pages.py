"""Reference pages of the SDK and the test kit: each public name with its signature and docstring.

A public name is one in `__all__` of a package of PAGES. `scripts/reference.py` writes the pages.
"""

from __future__ import annotations

import builtins
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

from scripts.public_names import PROGRAM, PublicName, own_text, program

__all__ = ["PAGES", "Page", "examples", "unclear"]

_TYPE_NAME = re.compile(r"\b[A-Z]\w+")
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'|#.*")
FOREIGN = frozenset(vars(builtins)) | {
    *("AbstractAsyncContextManager", "Any", "AsyncIterator", "Callable", "Decimal", "Iterable", "Iterator"),
    *("Literal", "Mapping", "Path", "PathLike", "Sequence"),
}
"""Names in signatures that Python and its library define."""
KINDS = {
    "class": "Classes",
    "call": "Calls",
    "function": "Functions",
    "record": "Records",
    "enum": "Enums",
    "alias": "Types and constants",
    "error": "Errors",
}
"""The kinds of public names, in the order of a page."""


@dataclass(frozen=True)
class Page:
    """One page: its title, its introduction, and the packages whose public names it has."""

    title: str
    intro: str
    packages: tuple[str, ...]

    def text(self) -> str:
        """Return the page as Markdown."""
        parts = [f"# {self.title}\n\nGenerated from the docstrings. {self.intro}\n"]
        for package in self.modules():
            parts += self._package(package)
        return "\n".join(parts)

    def modules(self) -> list[ModuleType]:
        """Return the packages of the page."""
        return [importlib.import_module(name) for name in self.packages]

    def names(self) -> list[PublicName]:
        """Return all public names of the page."""
        return [PublicName(package, name) for package in self.modules() for name in package.__all__]

    def _package(self, package: ModuleType) -> Iterator[str]:
        yield f"## {package.__name__}\n\n{markdown(own_text(package))}\n"
        by_kind = {
            kind: [entry for entry in self.names() if (entry.package, entry.kind) == (package, kind)]
            for kind in KINDS
        }
        for kind, members in by_kind.items():
            if members:
                yield f"{KINDS[kind]}: {', '.join(_link(entry.name) for entry in members)}\n"
        for members in by_kind.values():
            for member in members:
                yield f"### {member.name}\n"
                yield from self._described(member.signature, member.text, member.name)
                yield from self._members(member)

    def _members(self, owner: PublicName) -> Iterator[str]:
        """Yield the methods and properties of a class.

        A coroutine that differs from its blocking twin in nothing else is a link to that one.
        """
        twins = _twins(owner)
        links = []
        for title, signature, text in owner.members():
            name = title.rpartition(".")[2]
            is_coroutine = signature.startswith("async ")
            if is_coroutine and twins.get(name) == _in_one_line(signature).removeprefix("async "):
                links.append(f'<a id="{_anchor(title)}"></a>[`{name}`](#{_anchor(_blocking(title))})')
            else:
                yield f"#### {title}\n"
                yield from self._described(signature, text, owner.name)
        if links:
            as_in = (
                f"With arguments, results and errors as in {_link(_blocking(owner.name))}, but as coroutines"
            )
            yield f"{as_in}: {', '.join(links)}\n"

    def _described(self, signature: str, text: str, owner: str) -> Iterator[str]:
        yield f"```python\n{signature}\n```\n\n{markdown(text)}\n"
        places = {entry.name: file for file, page in PAGES.items() for entry in page.names()}
        places |= {entry.name: "" for entry in self.names()}
        if used := [name for name in types_in(signature) if name in places and name != owner]:
            yield f"Types: {', '.join(_link(name, places[name]) for name in used)}\n"


def _twins(owner: PublicName) -> dict[str, str]:
    """Return the signatures of the blocking class of an async one, by method; none for another class."""
    name = _blocking(owner.name)
    if name == owner.name or name not in owner.package.__all__:
        return {}
    members = PublicName(owner.package, name).members()
    return {title.rpartition(".")[2]: _in_one_line(signature) for title, signature, _ in members}


def _blocking(name: str) -> str:
    """Return the name of the blocking class, or of its method: `SwapSDK` of `AsyncSwapSDK`."""
    return name.removeprefix("Async")


def _in_one_line(signature: str) -> str:
    """Return a signature on one line, to compare it."""
    return re.sub(r",? ?\)", ")", " ".join(signature.split()).replace("( ", "("))


def _anchor(title: str) -> str:
    """Return the anchor of a heading on a code forge and on the site."""
    return title.lower().replace(".", "")


def _link(name: str, page: str = "") -> str:
    return f"[`{name}`]({page}#{name.lower()})"


def types_in(signature: str) -> list[str]:
    """Return the names in a signature that begin with a capital, each once."""
    return list(dict.fromkeys(_TYPE_NAME.findall(_LITERAL.sub("", signature))))


def markdown(text: str) -> str:
    """Return a docstring as Markdown: its indented programs become fenced ones."""
    return PROGRAM.sub(lambda match: f"```python\n{program(match)}\n```", text)


def examples(page: Page) -> Iterator[tuple[str, str]]:
    """Yield place and text of each program in the docstrings of a page's packages and classes."""
    documented = {package.__name__: own_text(package) for package in page.modules()}
    for entry in page.names():
        documented[f"{entry.package.__name__}.{entry.name}"] = entry.text
    for place, text in documented.items():
        yield from ((place, program(match)) for match in PROGRAM.finditer(text))


def unclear(pages: Mapping[str, Page]) -> Iterator[str]:
    """Yield a line for each public name or member without a text, and for each type that is not public."""
    public = {entry.name for page in PAGES.values() for entry in page.names()} | FOREIGN
    for entry in (name for page in pages.values() for name in page.names()):
        place = entry.package.__name__
        for title, signature, text in ((entry.name, entry.signature, entry.text), *entry.members()):
            if not text:
                yield f"{place}.{title}: the public name has no text"
            used = types_in(signature) if entry.kind != "enum" else []
            for name in (name for name in used if name not in public):
                yield f"{place}.{title}: its type {name} is not public: add it to __all__ of the package"


PAGES: dict[str, Page] = {
    "sdk.md": Page(
        "The swap SDK, name by name",
        "The guide is [Swaps from Python](../guide/sdk.md). A record is a frozen dataclass: "
        "`from_json(document)` reads it from an object with JSON names (`destAddress`) and raises "
        "`ValidationError` for a malformed member, `to_json()` writes it. Members of a service's answer that "
        "this version does not know are in `extra`.",
        ("cfnode.sdk",),
    ),
    "sdk-lp.md": Page(
        "The market maker's library, name by name",
        "The guides are [a market maker](../guide/market-maker.md) and [a liquidity "
        "provider](../guide/liquidity-provider.md). Errors that are not listed here are those of "
        "[the swap SDK](sdk.md).",
        ("cfnode.sdk.lp",),
    ),
    "sdk-recovery.md": Page(
        "The recovery from Python, name by name",
        "The guide is [Recovery for programmers](../guide/recover-programs.md). A call is created with its "
        "arguments, and run by `call` of a client of [the swap SDK](sdk.md).",
        ("cfnode.sdk.recovery",),
    ),
    "testing.md": Page(
        "The test kit, name by name",
        "The guide is [Tests against a development chain](../guide/testing.md).",
        ("cfnode.testing", "cfnode.testing.replay"),
    ),
}
"""The pages by file name."""
