"""Blocks for books, made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.ledger.decoding import Block, Event
from cfnode.ledger.statements import Month

__all__ = ["GENESIS", "NOVEMBER", "block", "block_rows"]

GENESIS = "0x" + "00" * 32
NOVEMBER = Month.parse("2026-11")


def block(number: int, events: list[Event]) -> Block:
    """A block of November; each is the child of the one with the number before."""
    name = f"0x{number:064x}"
    return Block(number, name, f"0x{number - 1:064x}", NOVEMBER.start + number * 6_000, 1, tuple(events))


def block_rows(times: Mapping[int, int]) -> list[dict[str, Any]]:
    """Rows of the table `blocks`, by each block's number and time (Unix ms)."""
    same = {"parent": "", "spec_version": 1, "events": 1}
    return [{"number": number, "hash": f"{number:x}", "time": time, **same} for number, time in times.items()]
