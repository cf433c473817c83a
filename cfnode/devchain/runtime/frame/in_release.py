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
        {name: each for name, each in kind.storage_items.items() if each.item.span.covers(release)},
        {name: each for name, each in kind.calls.items() if each.span.covers(release)},
        _events(kind, release),
        {error: at for at, error in enumerate(e for e in kind.Error if e.span.covers(release))},
    )


def _events(kind: type[Pallet], release: Release) -> dict[str, EventDef]:
    """Return a pallet's events by name, those of its bases too."""
    found: dict[str, EventDef] = {}
    for base in reversed(kind.Event.__mro__):
        found.update({name: each for name, each in vars(base).items() if isinstance(each, EventDef)})
    stated = [each for each in found.values() if each.span.covers(release)]
    places = _placed(sorted(stated, key=lambda each: each.span.since))
    return {
        each.name: replace(each, index=places[each.name], fields=each.fields_in(release)) for each in stated
    }


def _placed(events: Iterable[EventDef]) -> dict[str, int]:
    """Return the index of each event by its name; `events` are in the order of their first releases."""
    places: dict[str, int] = {}
    for each in events:
        if each.index in places.values():
            places = {name: at + (at >= each.index) for name, at in places.items()}
        places[each.name] = each.index
    return places
