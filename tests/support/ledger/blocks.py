"""Blocks for books, made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.ledger.decoding import DecodedBlock, DecodedEvent
from cfnode.ledger.statements import CalendarPeriod

__all__ = ["GENESIS", "NOVEMBER", "block", "block_rows"]

GENESIS = "0x" + "00" * 32
NOVEMBER = CalendarPeriod.parse("2026-11")


def block(number: int, events: list[DecodedEvent]) -> DecodedBlock:
    """Return a block of November; each is the child of the one with the number before."""
    name = f"0x{number:064x}"
    return DecodedBlock(
        number, name, f"0x{number - 1:064x}", NOVEMBER.start + number * 6_000, 1, tuple(events)
    )


def block_rows(times: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return rows of the table `blocks`, by each block's number and time (Unix ms)."""
    same = {"parent": "", "spec_version": 1, "events": 1}
    return [{"number": number, "hash": f"{number:x}", "time": time, **same} for number, time in times.items()]
