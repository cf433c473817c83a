"""What a server writes, and where it was called, in the text of a failure."""

from __future__ import annotations

import pytest

from cfnode.core.safe_text import origin_of, printable, reason_of, without_controls


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://127.0.0.1:9944", "http://127.0.0.1:9944"),
        ("https://Node.Example/", "https://node.example"),
        ("https://user:geheim@node.example:8443/geheim?token=geheim#geheim", "https://node.example:8443"),
        ("https://geheim@node.example", "https://node.example"),
        ("wss://node.example?api-key=geheim", "wss://node.example"),
        ("ws://[2001:db8::1]:9944/x", "ws://[2001:db8::1]:9944"),
        ("http://[", "a malformed URL"),
        ("http://node.example:geheim", "a malformed URL"),
        ("geheim", "a malformed URL"),
        ("http://\x1b[2J", "a malformed URL"),
        ("", "a malformed URL"),
    ],
)
def test_of_an_address_only_the_server_is_repeated(url: str, origin: str) -> None:
    """Repeat only scheme, host and port of a URL: path, query and user may hold a secret."""
    assert origin_of(url) == origin
    assert "geheim" not in origin


def test_a_foreign_text_is_one_line_without_controls() -> None:
    """Replace controls, line ends and reversed text in a foreign text: it could forge lines of the log."""
    forged = "no\r\n2026-01-01 00:00:00 all is well\x1b]0;title\x07\x1b[2J\x9b2J\u202ereversed"
    made = printable(forged)
    assert made.isprintable()
    assert made.startswith("no\N{REPLACEMENT CHARACTER}")
    assert printable("x" * 1_000, 10) == "x" * 10
    assert printable("Größe, 大小") == "Größe, 大小"


def test_a_message_keeps_its_own_lines_and_loses_controls() -> None:
    """Keep line ends and tabs of our own message and replace all other controls."""
    assert without_controls("one\n\ttwo") == "one\n\ttwo"
    for control in "\x00\x07\x08\r\x1b\x7f\x9b\u2028\u202e\u2066":
        assert without_controls(f"a{control}b") == "a\N{REPLACEMENT CHARACTER}b", repr(control)


def test_a_reason_is_never_empty() -> None:
    """Name the kind of an error that has no text of its own."""
    assert reason_of(OSError("refused")) == "refused"
    assert reason_of(ValueError()) == reason_of(ValueError("")) == "ValueError"
    assert reason_of(ValueError("  ")) == "ValueError"
