"""Statements of a period of the calendar: lines with their values, totals, and the formats of files."""

from __future__ import annotations

from cfnode.ledger.statements.lines import COLUMNS, LedgerStatement, Line, Total
from cfnode.ledger.statements.periods import CalendarPeriod

__all__ = ["COLUMNS", "CalendarPeriod", "LedgerStatement", "Line", "Total"]
