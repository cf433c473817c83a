"""Text of a page, and a text that would run in a page which does not escape it."""

from __future__ import annotations

import re
from html import unescape

from tests.dashboard.visiting import Visitor

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def plain(page: str) -> str:
    """Return the text of a page."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


async def text_of(guest: Visitor, path: str) -> str:
    """Return the text of the page at a path."""
    answer = await guest.get(path)
    assert answer.status_code == 200, path
    return plain(answer.text)
