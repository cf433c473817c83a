"""A flame graph is as wide as the samples state, and without paths of the machine that made it."""

from __future__ import annotations

from scripts.flame_graph import draw, parse

LOOP = "main (cfnode/cli/run.py:1);run (trio/_core/_run.py:2424)"
SERVE = "serve (/somewhere/cfnode/rpc/server.py:2)"
SLEEP = "WorkerThread._work (trio/_core/_thread_cache.py:3);PyThread_acquire_lock (libc.so)"
STACKS = f"""\
{LOOP};{SERVE} 60
{LOOP};{SERVE};read (/lib/libc.so) 30
{SLEEP} 500
other <b> (/x/python3.11/json/encoder.py:4) 10
"""


def test_stacks_become_a_tree_without_start_and_sleeping_threads() -> None:
    """Read stacks into a tree, without the start, sleeping threads and the machine's paths."""
    root = parse(STACKS)
    assert root.samples == 100
    served = root.called["serve (cfnode/rpc/server.py:2)"]
    assert served.samples == 90
    assert served.called["read"].samples == 30
    assert root.called["other <b> (json/encoder.py:4)"].samples == 10


def test_a_picture_has_each_frame_with_its_part() -> None:
    """Draw each frame as wide as its share, with escaped names."""
    picture = draw(parse(STACKS), "a <title>")
    assert "serve (cfnode/rpc/server.py:2): 90.0%" in picture
    assert 'width="1079.5"' in picture
    assert "other &lt;b&gt; (json/encoder.py:4): 10.0%" in picture
    assert "a &lt;title&gt;" in picture
    assert "somewhere" not in picture
