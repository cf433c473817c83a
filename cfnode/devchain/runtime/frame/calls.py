"""What is a call as a value, and what is an event?

The pallet's name, and either the bare name of a call without arguments or a pair: name and arguments by the
names that they have in the metadata. Arguments are values of the types that the pallet declares.
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
"""An event has the same form; its fields are a mapping, a tuple, or alone if there is one without a name."""


def split(call: PalletCall) -> tuple[str, Arguments]:
    """A pallet's call as its name and its arguments."""
    return (call, {}) if isinstance(call, str) else call
