"""Foreign text and addresses, made safe to print in the text of a failure.

A server chooses the text of its errors, and a terminal obeys what it finds in a text: an escape sequence sets
the title or clears the screen, and a line break forges a line of a log. So foreign text is one line without
control characters, of bounded length (`printable`). Whole messages may have several lines; they lose their
control characters where they are printed (`without_controls`).

An address may hold a password before its host, or a key in its path or query. A failure names the server
only (`origin_of`).
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

__all__ = ["MAX_QUOTED_TEXT", "origin_of", "printable", "reason_of", "without_controls"]

MAX_QUOTED_TEXT: Final = 300
"""Characters of a server's text that are repeated."""
REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
MALFORMED_URL: Final = "a malformed URL"
_ERRNO: Final = re.compile(r"\[Errno -?[0-9]+\] ")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""All control characters but line feed and tab, and the characters that turn the direction of writing or
end a line.
"""


def printable(text: object, most: int = MAX_QUOTED_TEXT) -> str:
    """Return a foreign text on one line, cut to `most` characters, each control character replaced."""
    cut = str(text)[:most]
    if cut.isprintable():
        return cut
    return "".join(letter if letter.isprintable() else REPLACED for letter in cut)


def without_controls(text: str) -> str:
    """Return a message with its lines, each other control character replaced."""
    return text if text.isprintable() else _CONTROLS.sub(REPLACED, text)


def reason_of(error: BaseException) -> str:
    """Return why something failed: the text of an error, or the name of its class if it has none.

    The number of an error of the operating system is left out: `[Errno 111] Connection refused`.
    """
    return printable(_ERRNO.sub("", str(error))).strip() or type(error).__name__


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address: all that a message may repeat of it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return MALFORMED_URL
    if not parts.scheme or not host or not host.isprintable():
        return MALFORMED_URL
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}" + (f":{port}" if port else "")
