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
READ = (".py", ".md", ".toml", ".rs", ".js", ".ts")
FOLDERS = ("cfnode", "tests", "scripts", "docs", "README.md")

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

_WORDS = re.compile("|".join(rf"\b(?P<w{number}>{word})\b" for number, word in enumerate(PLAIN)))
_TERMS = tuple(PLAIN.values())


def found(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word, and the plain terms for each word of the list in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in _WORDS.finditer(line):
            group = next(name for name, value in match.groupdict().items() if value is not None)
            yield number, match[0], _TERMS[int(group[1:])]


def tracked() -> list[Path]:
    """The project's own texts, but this list."""
    listed = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listed.stdout.splitlines() if name.endswith(READ)]
    return [path for path in paths if path != Path(__file__).resolve() and path.exists()]


def main(given: list[str]) -> int:
    """The exit code: 1 where a word of the list was found."""
    count = 0
    for path in [Path(name) for name in given] or tracked():
        for line, word, plain in found(path.read_text()):
            print(f"{path.relative_to(ROOT) if path.is_absolute() else path}:{line}: {word!r}: {plain}")
            count += 1
    if count:
        print(f"{count} words of the old dialect; write what the field says.", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
