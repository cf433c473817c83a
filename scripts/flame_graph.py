"""Flame graph of a development node that clients call without a break.

`python -m scripts.flame_graph http docs/design/speed-http.svg` calls for a header over HTTP, `websocket` for
the health over WebSocket, `runtime` for the nonce of another account each time. It needs wrk, and py-spy
(`pip install py-spy`), which must be allowed to read processes. The picture of py-spy carries a program in
the language of browsers; this one is plain SVG. A frame is as wide as its part of the samples, below its
caller.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path

from scripts.benchmarks.calls import HERE, NONCE, Kind, measure, node
from scripts.benchmarks.rpc import connect_websocket, rate, websocket_request

SECONDS = 10
RATE = 400
"""Samples a second."""
ACCOUNTS = 60_000
WIDTH, ROW, MARGIN = 1200, 17, 28
LETTER = 6.1
"""Pixels of a letter."""
LOOP = "run (trio/"
"""Frame up to which the start of the program is left out."""
SLEEPS = ("WorkerThread._work", "acquire_lock")
"""The frames of a thread without work; the profiler takes it for one that works."""
MIN_PART = 0.004
"""Minimum part of all samples; a narrower frame is left out."""
FAMILIES = (
    ("cfnode", re.compile(r"\(cfnode/"), "#e8a33d"),
    ("trio", re.compile(r"\(trio/"), "#7fb069"),
    ("other Python", re.compile(r"\.py:| \(<"), "#6aa5c9"),
    ("native code, calls of the system", re.compile(""), "#b9b3a9"),
)
"""Name of a family of frames, pattern of their names, and colour; the first match counts."""


@dataclass
class Frame:
    """Function at the place from which it was called: its samples, and what it called."""

    samples: int = 0
    called: dict[str, Frame] = field(default_factory=dict)


def parse(text: str) -> Frame:
    """Return the tree of stacks given as lines: `caller;called 12`."""
    root = Frame()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if all(name in stack for name in SLEEPS):
            continue
        frame = root
        frame.samples += int(count)
        names = [_short(name) for name in stack.split(";")]
        start = next((at for at, name in enumerate(names, 1) if name.startswith(LOOP)), 0)
        for name in names[start:]:
            frame = frame.called.setdefault(name, Frame())
            frame.samples += int(count)
    return root


def _short(name: str) -> str:
    """Return a frame's name without the folders of this machine."""
    function, _, file = name.partition(" (")
    file = re.sub(r"^.*/(?:site-packages|python3\.\d+)/", "", file)
    file = re.sub(r"^.*/(?=cfnode/)", "", file)
    return f"{function} ({file}" if file and not file.startswith("/") else function


def draw(root: Frame, title: str) -> str:
    """Return the picture, as SVG."""
    shapes = list(_shapes(root, 0.0, 0, root.samples))
    height = MARGIN * 2 + ROW * (1 + max(row for row, _ in shapes))
    legend = "".join(
        f'<rect x="{4 + 250 * at}" y="{height - 20}" width="12" height="12" fill="{colour}"/>'
        f'<text x="{20 + 250 * at}" y="{height - 10}">{escape(name)}</text>'
        for at, (name, _, colour) in enumerate(FAMILIES)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" '
        f'font-size="10">\n<rect width="{WIDTH}" height="{height}" fill="#fffdf8"/>\n'
        f'<text x="4" y="17" font-size="13">{escape(title)}</text>\n'
        + "\n".join(shape for _, shape in shapes)
        + f"\n{legend}\n</svg>\n"
    )


def _shapes(frame: Frame, left: float, row: int, whole: int) -> Iterator[tuple[int, str]]:
    """Yield the rectangles of what a frame called: row, and SVG."""
    for name, callee in sorted(frame.called.items()):
        width = WIDTH * callee.samples / whole
        if callee.samples >= MIN_PART * whole:
            top = MARGIN + ROW * row
            colour = next(colour for _, pattern, colour in FAMILIES if pattern.search(name))
            letters = name[: max(int((width - 4) / LETTER), 0)]
            label = f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(letters)}</text>' if width > 20 else ""
            yield (
                row,
                f"<g><title>{escape(name)}: {callee.samples / whole:.1%}</title>"
                f'<rect x="{left:.1f}" y="{top}" width="{max(width - 0.5, 0.5):.1f}" height="{ROW - 1}" '
                f'fill="{colour}"/>{label}</g>',
            )
            yield from _shapes(callee, left, row + 1, whole)
        left += width


def record(process: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start a profiler of a process, which writes `folder`/stacks."""
    output = folder / "stacks"
    line = ["py-spy", "record", f"--pid={process}", f"--duration={SECONDS}", f"--rate={RATE}"]
    return subprocess.Popen([*line, "--native", "--function", "--format=raw", f"--output={output}"])


def main(kind: str, target: str) -> None:
    """Draw the picture of a kind into a file."""
    nonces = [("state_call", [NONCE, f"0x{number:064x}"]) for number in range(ACCOUNTS)]
    kinds = {
        "http": ("chain_getHeader over HTTP, 50 connections", [("chain_getHeader", [])]),
        "runtime": ("state_call over HTTP, each of another account, 50 connections", nonces),
        "websocket": ("system_health over WebSocket, 50 connections", []),
    }
    title, calls = kinds[kind]
    with tempfile.TemporaryDirectory() as name, node(HERE) as (process, port):
        folder = Path(name)
        if calls:
            ask = partial(measure, folder, port, Kind(title, 50, calls))
        else:
            ask = partial(_ask_websocket, port)
        ask(0)
        with record(process, folder) as profiler:
            part = 0
            while profiler.poll() is None:
                part += 1
                with suppress(subprocess.TimeoutExpired):
                    ask(part % 4)
        Path(target).write_text(draw(parse((folder / "stacks").read_text()), title))


def _ask_websocket(port: int, _part: int) -> float:
    return rate(partial(connect_websocket, port), websocket_request())


if __name__ == "__main__":
    main(*sys.argv[1:])
