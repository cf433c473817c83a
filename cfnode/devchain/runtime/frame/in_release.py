"""The declarations of a pallet in one release, with the indices of its events and errors.

Indices of events are those of the first release. An event that came later takes the index that it states, and
those that had that index or a higher one move by one, as a variant that is inserted into the chain's enum
moves them. An error's index is its position among those of the release.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cfnode.devchain.runtime.release import Release

from .declarations import Declarations, EventDef
from .pallet import Pallet

__all__ = ["declarations_of"]


def declarations_of(kind: type[Pallet], release: Release) -> Declarations:
    """Return the declarations of a pallet that a release has."""
    return Declarations(
        kind.names_in(release),
        {name: item for name, item in kind.storage_items.items() if item.item.span.covers(release)},
        {name: call for name, call in kind.calls.items() if call.span.covers(release)},
        _events(kind, release),
        {
            error: index
            for index, error in enumerate(
                declared for declared in kind.Error if declared.span.covers(release)
            )
        },
    )


def _events(kind: type[Pallet], release: Release) -> dict[str, EventDef]:
    """Return a pallet's events by name, those of its bases too."""
    events: dict[str, EventDef] = {}
    for base in reversed(kind.Event.__mro__):
        events.update(
            {name: attribute for name, attribute in vars(base).items() if isinstance(attribute, EventDef)}
        )
    stated = [event for event in events.values() if event.span.covers(release)]
    indexes = _placed(sorted(stated, key=lambda event: event.span.since))
    return {
        event.name: replace(event, index=indexes[event.name], fields=event.fields_in(release))
        for event in stated
    }


def _placed(events: Iterable[EventDef]) -> dict[str, int]:
    """Return the index of each event by its name; `events` are in the order of their first releases."""
    indexes: dict[str, int] = {}
    for event in events:
        if event.index in indexes.values():
            indexes = {name: index + (index >= event.index) for name, index in indexes.items()}
        indexes[event.name] = event.index
    return indexes
