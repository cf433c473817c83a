"""Books that an older version has read."""

from __future__ import annotations

import pytest

from cfnode.ledger import rows as rows_module
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.rows.context import Context, Handler


def read_as_an_older_version(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Take a field that rows need from events of a kind, from here on."""
    known = rows_module._handler

    def handler(event: DecodedEvent) -> Handler | None:
        return _fails if event.name == kind else known(event)

    monkeypatch.setattr(rows_module, "_handler", handler)


def _fails(context: Context, event: DecodedEvent) -> bool:
    context.add(event, "completions", request=1, reason="begun, and not ended")
    return bool(event.fields["a field of another runtime"])
