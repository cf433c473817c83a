"""The form of a call and of an event as values.

A call is the pallet's name, and either the bare name of a call without arguments or a pair: name and
arguments by the names that they have in the metadata. Arguments are values of the types that the pallet
declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Arguments", "EventFields", "PalletCall", "PalletEvent", "RuntimeCall", "RuntimeEvent", "split"]

Arguments = Mapping[str, Any]
PalletCall = str | tuple[str, Arguments]
RuntimeCall = tuple[str, PalletCall]
EventFields = Mapping[str, object] | tuple[object, ...]
PalletEvent = str | tuple[str, Any]
RuntimeEvent = tuple[str, PalletEvent]
"""A pallet's name and its event, in the form of a call; the fields are a mapping, a tuple, or one value."""


def split(call: PalletCall) -> tuple[str, Arguments]:
    """Return the name and the arguments of a pallet's call."""
    return (call, {}) if isinstance(call, str) else call
