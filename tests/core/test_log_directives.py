"""Filters of the log as the official node's crate reads them."""

from __future__ import annotations

import logging

import pytest

from cfnode.core.log_directives import LEVELS, Directive, DirectiveError, parse_directives


def parsed(text: str) -> dict[str, int]:
    """Return the level of each target in a filter."""
    return {directive.target: directive.level for directive in parse_directives(text)}


@pytest.mark.parametrize(("digit", "word"), list(enumerate(LEVELS)))
def test_a_level_is_a_word_in_any_case_or_a_digit(digit: int, word: str) -> None:
    """Read a level as a word in any case or as a digit."""
    for text in (word, word.upper(), word.title(), str(digit)):
        assert parsed(text) == {"": LEVELS[word]}
        assert parsed(f"txpool::api={text}") == {"txpool.api": LEVELS[word]}


def test_the_levels_are_those_of_pythons_logging() -> None:
    """Map the levels to those of Python's logging, off above and trace below all."""
    assert (LEVELS["error"], LEVELS["warn"]) == (logging.ERROR, logging.WARNING)
    assert (LEVELS["info"], LEVELS["debug"]) == (logging.INFO, logging.DEBUG)
    assert LEVELS["off"] > logging.CRITICAL
    assert LEVELS["trace"] < logging.DEBUG


def test_a_target_alone_means_all_its_levels() -> None:
    """Log all levels of a target that stands alone."""
    assert parsed("sync,grandpa=") == {"sync": LEVELS["trace"], "grandpa": LEVELS["trace"]}
    assert parsed("7") == {"7": LEVELS["trace"]}, "a word that is no level is a target"


def test_directives_keep_their_order_and_empty_ones_do_not_count() -> None:
    """Keep the order of directives, in which a later one wins, and skip empty ones."""
    assert list(parse_directives(" info, ,sync=3,sync=DEBUG,")) == [
        Directive("", LEVELS["info"]), Directive("sync", LEVELS["info"]), Directive("sync", LEVELS["debug"]),
    ]  # fmt: skip


def test_a_directive_for_a_span_has_no_effect() -> None:
    """Ignore a directive for a span, which this node does not have."""
    assert parsed("[span]=debug,sync[peer{id}]=trace,warn") == {"": LEVELS["warn"]}


@pytest.mark.parametrize(
    "wrong", ["sync=loud", "sync=6", "=info", "a b=info", "sync=info=warn", "sync[=info"]
)
def test_a_malformed_directive_is_named(wrong: str) -> None:
    """Name the malformed directive in the error."""
    with pytest.raises(DirectiveError) as refused:
        parsed(f"info,{wrong}")
    assert str(refused.value).startswith(f"{wrong!r}: ")


def test_an_error_repeats_no_more_than_a_line() -> None:
    """Repeat no more than a line of a malformed filter."""
    with pytest.raises(DirectiveError) as refused:
        parsed("x=" + "y" * 10_000)
    assert len(str(refused.value)) < 200
