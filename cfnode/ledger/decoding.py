"""Events of a block, decoded by the metadata of the runtime that executed it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from cfnode.core.scale import ScaleError
from cfnode.core.scale.metadata import Metadata
from cfnode.ledger.errors import NodeError
from cfnode.swaps.events import chain_of
from cfnode.swaps.genesis_events import NamedEvent, is_genesis_release, todays_events

__all__ = ["DecodedBlock", "DecodedEvent", "decoded", "fields_of", "fields_text", "mentions"]

MAX_BLOCK_EVENTS = 100_000
"""Most events of a block that are decoded; the weight of a block allows far fewer."""
_EMPTY = b"\0"


@dataclass(frozen=True, slots=True)
class DecodedEvent:
    """Event of a block: its index, and its fields by name (a list, if they have no names)."""

    index: int
    pallet: str
    name: str
    fields: Any

    @property
    def chain(self) -> str:
        """The foreign chain whose pallet emitted the event; "" for other pallets."""
        return chain_of(self.pallet)


@dataclass(frozen=True, slots=True)
class DecodedBlock:
    """Finalized block. Hashes are 0x-hex, `time` is Unix ms, `spec_version` of the executing runtime."""

    number: int
    hash: str
    parent: str
    time: int
    spec_version: int
    events: tuple[DecodedEvent, ...]
    module_errors: Metadata | None = None
    """The runtime's metadata, which names module errors."""


def decoded(metadata: Metadata, data: bytes | None, number: int) -> tuple[DecodedEvent, ...]:
    """Return the events in the bytes of System.Events. Raises NodeError if they are malformed.

    Those of the genesis release have today's form, and are counted in it.
    """
    try:
        records = metadata.event_codec.decode(data or _EMPTY)
    except ScaleError as error:
        raise NodeError(f"the events of block {number} cannot be decoded: {error}") from None
    if len(records) > MAX_BLOCK_EVENTS:
        raise NodeError(f"block {number} has {len(records)} events; at most {MAX_BLOCK_EVENTS} are read")
    events = [_event(record["event"]) for record in records]
    if is_genesis_release(metadata):
        events = todays_events(events, number)
    return tuple(DecodedEvent(index, *event) for index, event in enumerate(events))


def _event(value: tuple[str, Any]) -> NamedEvent:
    pallet, inner = value
    name, fields = (inner, {}) if isinstance(inner, str) else inner
    return pallet, name, fields


def fields_text(fields: Any) -> str:
    """Return an event's fields as JSON, with exact integers.

    Bytes are 0x-hex, and a variant with a value is [name, value].
    """
    return msgspec.json.encode(_plain(fields)).decode()


def fields_of(text: str) -> Any:
    """Return the fields that `fields_text` wrote: bytes for 0x-hex, a tuple for a list."""
    return _original(json.loads(text))


def _original(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("0x"):
        try:
            return bytes.fromhex(value[2:])
        except ValueError:
            return value
    if isinstance(value, dict):
        return {name: _original(member) for name, member in value.items()}
    return tuple(_original(item) for item in value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, dict):
        return {_key(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return _plain(getattr(value, "value", str(value)))


def _key(name: Any) -> str:
    plain = _plain(name)
    return plain if isinstance(plain, str) else str(plain)


def mentions(fields: Any, accounts: frozenset[bytes]) -> bool:
    """Return whether the fields contain one of the accounts, at any depth."""
    return any(data in accounts for data in _bytes_in(fields))


def _bytes_in(value: Any) -> Iterator[bytes]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, bytes):
            if len(item) == 32:
                yield item
        elif isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
