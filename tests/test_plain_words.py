"""`scripts/plain_words.py`, part of `scripts/check`, finds the words of the old dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.plain_words import ALLOWED, ROOT, RUNTIME, dialect_words, faults, main, metadata_lines


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("One line.\nA peer is told of it.", "told"),
        ("One line.\nNobody waits.", "Nobody"),
        ("def f():\n    shown = 5", "shown"),
        ("# Limits\nLEAST_DEPOSIT = 3", "LEAST_DEPOSIT"),
        ("class A:\n    at: AtBlock", "AtBlock"),
        ("One line.\nAnybody may send it.", "Anybody"),
        ("One line.\nA list is wanted, not 5.", "is wanted, not"),
        ('def f():\n    """The same on Arbitrum."""', '"""The same'),
        ('def f():\n    """As `g`, for a list."""', '"""As `'),
        ('\n"""Where is all the money?"""', '"""Where is all the money?"""'),
    ],
)
def test_a_word_of_the_list_is_found_with_its_line(text: str, word: str) -> None:
    """Find a word of the list with its line and what to write instead."""
    ((line, match, plain),) = dialect_words(text)
    assert (line, match) == (2, word)
    assert plain


def test_two_words_of_one_line_are_both_found() -> None:
    """Find both of two words in one line."""
    assert [word for _, word, _ in dialect_words("nobody has heard of it")] == ["nobody", "heard"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A plain text: a peer sends a block.\n",
        "besides, the threshold; at least",
        "from //Nobody",
        '"""The kinds.\n\nWhich is it?"""',
    ],
)
def test_a_plain_text_has_no_fault(text: str) -> None:
    """Find no fault in a plain text."""
    assert list(dialect_words(text)) == []


def test_only_the_allowed_part_of_a_line_may_have_a_word() -> None:
    """Allow a word in the listed part of a line, and not elsewhere in it."""
    assert list(dialect_words("nobody watches it", "nobody watches it")) == []
    assert [word for _, word, _ in dialect_words("told: nobody watches it", "nobody watches it")] == ["told"]


def test_faults_are_printed_and_are_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Print each fault and exit with 1, or print nothing and exit with 0."""
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("A client receives the answer.\n")
    bad.write_text("\nThe client was told.\n")
    assert main([str(good)]) == 0
    assert capsys.readouterr().out == ""
    assert main([str(good), str(bad)]) == 1
    assert capsys.readouterr().out == f"{bad}:2: 'told': notified, sent, given\n"


def test_each_exception_is_needed() -> None:
    """Need each exception: a stale one would hide a new fault."""
    for name, text in ALLOWED.items():
        assert text in (ROOT / name).read_text(), name
    texts = [path.read_text() for path in (ROOT / RUNTIME).rglob("*.py")]
    assert any(line in metadata_lines(text) for text in texts for line, _, _ in dialect_words(text))


DECLARED = '''"""A module, told."""
class Api(RuntimeApi):
    """Told of an API."""
    api = "Api"

    @method("u32", at="u32")
    def read(self, at):
        """Told in a line,

        and in another.
        """
        told = at
        return told

    def _other(self):
        """Told."""

class Swaps(Pallet):
    """Told."""

    class Error(ErrorSet):
        Late = "It was told too late."
        Early = (
            "It was told too early.", since("2.3.0"))

    @call(0)
    def swap(self, origin):
        """Told."""

    @told(5)
    def no_docs(self): ...
'''


def test_the_metadata_of_a_runtime_module_may_have_any_word() -> None:
    """Leave out the lines of a runtime module that are the chain's metadata, and no others."""
    assert metadata_lines(DECLARED) == {3, 8, 9, 10, 11, 22, 23, 24, 28}
    others = [line for line, _, _ in dialect_words(DECLARED, skipped=metadata_lines(DECLARED))]
    assert others == [1, 12, 13, 16, 19, 30]


def test_only_modules_of_the_runtime_have_metadata(tmp_path: Path) -> None:
    """Judge a module with such declarations outside of the runtime's folder as any other."""
    path = tmp_path / "api.py"
    path.write_text('@call(0)\ndef swap(self, origin):\n    """A broker is told."""\n')
    assert [fault.partition(": ")[2] for fault in faults([path])] == ["'told': notified, sent, given"]
