"""Refuse words of the project's old dialect, in code and in docs: each has a plain term that says more.

Without arguments every tracked text file is read; with arguments those files. Docstrings and errors of the
development runtime that are part of the chain's metadata are left out, since the metadata is fixed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READ = (".py", ".md", ".toml", ".rs", ".js", ".mjs", ".ts")
FOLDERS = ("cfnode", "tests", "scripts", "docs", "README.md")
RUNTIME = "cfnode/devchain/runtime/"
"""The folder whose declarations become metadata."""
DECLARATIONS = ("call", "method", "raw_method")
"""Decorators whose function's docstring becomes metadata."""
LISTS = ("scripts/plain_words.py", "tests/test_plain_words.py")
"""The files that have to name the words."""

PLAIN: dict[str, str] = {
    r"[Ss]hown": "printed, displayed, returned: what happened to it",
    r"[Tt]old": "notified, sent, given",
    r"[Hh]eard": "received",
    r"(?<!//)[Nn]obody": "no peer, no client, no one in particular: name who",
    r"[Ww]hoever": "the peer that, the client that, anyone who",
    r"[Bb]eside": "next to, besides, while",
    r"(?:MOST|LEAST|FEW|DEEPEST)_\w+": "MAX_…, MIN_…",
    r"can_win": "descends_from_finalized",
    r"stand_on": "set_anchor",
    r"make_way": "evict",
    r"lapses?": "penalty",
    r"repute": "reputation",
    r"(?:At|On)(?:Block|Proof)": "BlockSource, ProofSource",
    r"DoorError|SetsFile|HoleFiller|Adoption": "RuntimeCallError, AuthoritySetCache, Healer, StateImport",
    r"neighbours?|Neighbours?": "neighbor, as the protocol spells it",
    r"(?<!//)(?:[Aa]ny|[Ss]ome|[Ee]very)body": "anyone, any account, another peer: name who",
    r"(?:that|which) is none": "malformed, unknown, missing, invalid",
    r"(?:is|are) wanted, not": "expected …, not …",
    r"(?:is|are|or) there twice": "occurs twice",
    r"(?:is|was|were) not taken": "rejected",
    r"falls? over": "fails",
}
"""Pattern of a whole word, and what to write instead. Accounts such as `//Nobody` are names in tests."""

DOCSTRINGS: dict[str, str] = {
    r'^\s*"""(?:The same\b|Likewise\b|As `)': "what it is or does: each docstring is read alone",
    r'^"""[^"]*\?(?:"""|$)': "a plain statement of what the module holds; the question may follow",
}
"""Pattern of the beginning of a docstring, and what to write instead."""

ALLOWED = {
    "docs/guide/scenarios/brokers.md": "nobody watches it any more",
}
"""Texts that stay, by file. The guide prints an error of the development chain, which is metadata."""

_WORDS = re.compile("|".join(rf"\b(?P<w{number}>{word})\b" for number, word in enumerate(PLAIN)))
_TERMS = tuple(PLAIN.values())
_BEGINNINGS = [(re.compile(pattern), plain) for pattern, plain in DOCSTRINGS.items()]


def metadata_lines(text: str) -> set[int]:
    """Return the lines of a runtime module that are metadata.

    These are the docstrings of calls, of runtime APIs and of their methods, and the texts of errors.
    """
    return {
        line
        for node in ast.walk(ast.parse(text))
        for constant in _metadata(node)
        for line in range(constant.lineno, (constant.end_lineno or constant.lineno) + 1)
    }


def _metadata(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the texts of one definition that are metadata."""
    if isinstance(node, ast.FunctionDef):
        called = (decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call))
        if any(isinstance(function, ast.Name) and function.id in DECLARATIONS for function in called):
            yield from _docstring(node)
    elif isinstance(node, ast.ClassDef):
        assigned = [statement for statement in node.body if isinstance(statement, ast.Assign)]
        if any(
            isinstance(name, ast.Name) and name.id == "api"
            for statement in assigned
            for name in statement.targets
        ):
            yield from _docstring(node)
        if any(isinstance(base, ast.Name) and base.id == "ErrorSet" for base in node.bases):
            yield from (statement.value for statement in assigned)


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> Iterator[ast.expr]:
    match node.body[0]:
        case ast.Expr(ast.Constant(str()) as text):
            yield text


def dialect_words(
    text: str, allowed: str = "", skipped: Collection[int] = ()
) -> Iterator[tuple[int, str, str]]:
    """Yield line, word and plain terms for each listed word in a text, without its allowed part."""
    for number, line in enumerate(text.splitlines(), 1):
        if number in skipped:
            continue
        for match in _WORDS.finditer(line.replace(allowed, "") if allowed else line):
            group = next(name for name, value in match.groupdict().items() if value is not None)
            yield number, match[0], _TERMS[int(group[1:])]
        for pattern, plain in _BEGINNINGS:
            if (beginning := pattern.search(line)) is not None:
                yield number, beginning[0].strip(), plain


def tracked() -> list[Path]:
    """Return the project's own texts, except the files that name the words."""
    listing = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [name for name in listing.stdout.splitlines() if name.endswith(READ)]
    return [path for name in names if name not in LISTS and (path := ROOT / name).exists()]


def faults(paths: list[Path]) -> Iterator[str]:
    """Yield a line for each word that is found: the file, the line, the word, and what to write."""
    for path in paths:
        full = path.resolve()
        name = str(full.relative_to(ROOT)) if full.is_relative_to(ROOT) else str(path)
        text = path.read_text()
        skipped = metadata_lines(text) if name.startswith(RUNTIME) and name.endswith(".py") else ()
        for line, word, plain in dialect_words(text, ALLOWED.get(name, ""), skipped):
            yield f"{name}:{line}: {word!r}: {plain}"


def main(arguments: list[str]) -> int:
    """Print the faults; return the exit code: 1 where a word of the list was found."""
    lines = list(faults([Path(name) for name in arguments] or tracked()))
    for line in lines:
        print(line)
    if lines:
        print(f"{len(lines)} words of the old dialect; write what the field says.", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
