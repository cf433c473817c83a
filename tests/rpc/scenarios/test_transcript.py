"""A transcript says loudly, and readably, what has become different; and each belongs to a scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rpc.scenarios import transcript
from tests.rpc.scenarios.catalogue import scenarios
from tests.rpc.scenarios.transcript import FOLDER, Transcript, differences

WRITTEN: list[dict[str, Any]] = [
    {"call": "cf_account_info", "params": [], "answer": {"fees": {"USDC": "0x2"}, "role": "broker"}},
    {"event": "Swapping.SwapScheduled", "fields": {"swap_id": 1, "asset": ["Eth", 5]}},
    {"event": "Swapping.SwapExecuted", "fields": {"swap_id": 1}},
]


def test_the_same_story_differs_in_nothing() -> None:
    """Find no difference between equal transcripts."""
    assert list(differences(WRITTEN, WRITTEN)) == []


def test_a_different_value_is_reported_by_its_path() -> None:
    """Report a different value by its path, old and new."""
    entries = json.loads(json.dumps(WRITTEN))
    entries[0]["answer"]["fees"]["USDC"] = "0x3"
    entries[1]["fields"]["asset"][1] = 6
    assert list(differences(WRITTEN, entries)) == [
        '1. cf_account_info: answer.fees.USDC is "0x3", was "0x2"',
        "2. Swapping.SwapScheduled: fields.asset[1] is 6, was 5",
    ]


def test_a_number_is_not_a_truth_nor_its_text() -> None:
    """Distinguish the number 1 from true."""
    one, other = [{"call": "x", "answer": 1}], [{"call": "x", "answer": True}]
    assert list(differences(one, other)) == ["1. x: answer is true, was 1"]


def test_members_come_and_go() -> None:
    """Report members that are gone and new."""
    entries = json.loads(json.dumps(WRITTEN))
    entries[2]["fields"] = {"id": 1}
    assert list(differences(WRITTEN, entries)) == [
        '3. Swapping.SwapExecuted: fields.swap_id is "absent", was 1',
        '3. Swapping.SwapExecuted: fields.id is 1, was "absent"',
    ]


def test_what_is_new_and_what_is_gone_moves_nothing_else() -> None:
    """Align transcripts, so that one new entry does not make all later ones differ."""
    new = {"event": "Swapping.SwapRescheduled", "fields": {}}
    assert list(differences(WRITTEN, [WRITTEN[1], new, WRITTEN[2]])) == [
        "1. gone: cf_account_info",
        "2. new: Swapping.SwapRescheduled",
    ]


def test_a_different_story_fails_with_its_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail with the differences, and say how to write a transcript anew."""
    monkeypatch.setattr(transcript, "FOLDER", tmp_path)
    monkeypatch.delenv("CFNODE_TEST_WRITE", raising=False)
    (tmp_path / "a_life.json").write_text(json.dumps([{"call": "dev_newBlock", "params": [], "answer": 1}]))
    story = Transcript("test_a_life")
    story.answered("dev_newBlock", [], 2)
    with pytest.raises(pytest.fail.Exception, match=r"a_life.json differs .*\n.*answer is 2, was 1"):
        story.compare()
    with pytest.raises(pytest.fail.Exception, match="CFNODE_TEST_WRITE=1 writes it"):
        Transcript("test_another_life").compare()


def test_each_transcript_is_a_scenarios() -> None:
    """Keep a transcript for each scenario, and no others."""
    assert sorted(path.stem for path in FOLDER.iterdir()) == scenarios()
