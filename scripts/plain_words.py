"""Refuse words of the project's old dialect, in code and in docs: each has a plain term that says more.

Without arguments every tracked text file is read; with arguments those files.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READ = (".py", ".md", ".toml", ".rs", ".js", ".mjs", ".ts")
FOLDERS = ("cfnode", "tests", "scripts", "docs", "README.md")
LEFT_OUT = ("cfnode/devchain/runtime/", "tests/devchain/runtime/")
"""Folders that still have such words."""
LISTS = ("scripts/plain_words.py", "tests/test_plain_words.py")
"""The files that have to name the words."""

PLAIN: dict[str, str] = {
    r"shown": "printed, displayed, returned: what happened to it",
    r"told": "notified, sent, given",
    r"heard": "received",
    r"nobody": "no peer, no client, no one in particular: name who",
    r"whoever": "the peer that, the client that, anyone who",
    r"beside": "next to, besides, while",
    r"(?:MOST|LEAST|FEW|DEEPEST)_\w+": "MAX_…, MIN_…",
    r"can_win": "descends_from_finalized",
    r"stand_on": "set_anchor",
    r"make_way": "evict",
    r"lapses?": "penalty",
    r"repute": "reputation",
    r"(?:At|On)(?:Block|Proof)": "BlockSource, ProofSource",
    r"DoorError|SetsFile|HoleFiller|Adoption": "RuntimeCallError, AuthoritySetCache, Healer, StateImport",
    r"neighbours?|Neighbours?": "neighbor, as the protocol spells it",
}
"""Pattern of a whole word, and what to write instead."""

ALLOWED = {
    "docs/guide/scenarios/brokers.md": "nobody watches it any more",
}
"""Texts that stay, by file. The guide prints an error of the development chain, whose metadata is fixed."""

_WORDS = re.compile("|".join(rf"\b(?P<w{number}>{word})\b" for number, word in enumerate(PLAIN)))
_TERMS = tuple(PLAIN.values())


def found(text: str, allowed: str = "") -> Iterator[tuple[int, str, str]]:
    """Line, word, and the plain terms for each word of the list in a text, without its allowed part."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in _WORDS.finditer(line.replace(allowed, "") if allowed else line):
            group = next(name for name, value in match.groupdict().items() if value is not None)
            yield number, match[0], _TERMS[int(group[1:])]


def tracked() -> list[Path]:
    """The project's own texts, but those that are left out."""
    listed = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [name for name in listed.stdout.splitlines() if name.endswith(READ)]
    kept = [name for name in names if name not in LISTS and not name.startswith(LEFT_OUT)]
    return [path for name in kept if (path := ROOT / name).exists()]


def faults(paths: list[Path]) -> Iterator[str]:
    """A line for each word that is found: the file, the line, the word, and what to write."""
    for path in paths:
        full = path.resolve()
        name = str(full.relative_to(ROOT)) if full.is_relative_to(ROOT) else str(path)
        for line, word, plain in found(path.read_text(), ALLOWED.get(name, "")):
            yield f"{name}:{line}: {word!r}: {plain}"


def main(given: list[str]) -> int:
    """The exit code: 1 where a word of the list was found."""
    lines = list(faults([Path(name) for name in given] or tracked()))
    for line in lines:
        print(line)
    if lines:
        print(f"{len(lines)} words of the old dialect; write what the field says.", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
