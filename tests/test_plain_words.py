"""`scripts/plain_words.py` finds the words of the old dialect, and the project has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.plain_words import ALLOWED, LEFT_OUT, ROOT, faults, found, main, tracked


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("One line.\nA peer is told of it.", "told"),
        ("def f():\n    shown = 5", "shown"),
        ("# Limits\nLEAST_DEPOSIT = 3", "LEAST_DEPOSIT"),
        ("class A:\n    at: AtBlock", "AtBlock"),
    ],
)
def test_a_word_of_the_list_is_found_with_its_line(text: str, word: str) -> None:
    ((line, match, plain),) = found(text)
    assert (line, match) == (2, word)
    assert plain


def test_two_words_of_one_line_are_both_found() -> None:
    assert [word for _, word, _ in found("nobody has heard of it")] == ["nobody", "heard"]


@pytest.mark.parametrize(
    "text", ["", "A plain text: a peer sends a block.\n", "besides, the threshold; at least"]
)
def test_a_plain_text_has_no_fault(text: str) -> None:
    assert list(found(text)) == []


def test_only_the_allowed_part_of_a_line_may_have_a_word() -> None:
    assert list(found("nobody watches it", "nobody watches it")) == []
    assert [word for _, word, _ in found("told: nobody watches it", "nobody watches it")] == ["told"]


def test_faults_are_printed_and_are_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("A client receives the answer.\n")
    bad.write_text("\nThe client was told.\n")
    assert main([str(good)]) == 0
    assert capsys.readouterr().out == ""
    assert main([str(good), str(bad)]) == 1
    assert capsys.readouterr().out == f"{bad}:2: 'told': notified, sent, given\n"


def test_the_project_has_no_word_of_the_list() -> None:
    assert list(faults(tracked())) == []


def test_each_exception_is_needed() -> None:
    for name, text in ALLOWED.items():
        assert text in (ROOT / name).read_text(), name
    for folder in LEFT_OUT:
        assert any(list(found(path.read_text())) for path in (ROOT / folder).rglob("*.py")), folder
