"""What a command prints at a terminal of some width, with colours or without, and into a pipe."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.text import Text

__all__ = ["PLACES", "plain", "svg"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _terminal(columns: int) -> dict[str, str]:
    return {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(columns), "LINES": "24"}


PLACES: dict[str, dict[str, str]] = {
    "80 columns": _terminal(80),
    "80 columns without colour": _terminal(80) | {"NO_COLOR": "1"},
    "60 columns": _terminal(60),
    "60 columns without colour": _terminal(60) | {"NO_COLOR": "1"},
    "140 columns": _terminal(140),
    "pipe": {"TERM": "dumb", "COLUMNS": "60"},
}
"""The environment of a command, by where it prints."""


def plain(printed: str) -> list[str]:
    """Return the lines that were printed, without colours."""
    return _COLOURS.sub("", printed).splitlines()


_SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""A terminal with fonts of the reader's machine: rich's own picture loads one from elsewhere."""


def svg(printed: str, columns: int) -> str:
    """Draw what was printed with its colours on a terminal of some columns."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=columns,
        force_terminal=True,
        color_system="truecolor",
        _environ={},
    )
    console.print(Text.from_ansi(printed), soft_wrap=False, no_wrap=False, overflow="fold")
    return console.export_svg(title="cfnode", code_format=_SVG, unique_id="screen")
