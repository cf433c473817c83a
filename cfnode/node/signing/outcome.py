"""Outcome of an extrinsic in its block: events, and failures as the official node prints them.

A module error is resolved by the metadata of the runtime that executed the block: pallet, error, and the
documentation of the error in one line, as the official node prints it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cfnode.core.block import BlockRef
from cfnode.core.extrinsic import extrinsic_hash
from cfnode.core.scale import ScaleError
from cfnode.core.scale.metadata import Metadata
from cfnode.node.chain.block_events import BlockEvent, OrderedEvents
from cfnode.node.chain.view import ChainView

__all__ = [
    "BlockEvent",
    "EventError",
    "Inclusion",
    "SubmissionError",
    "decode_dispatch_error",
    "dispatch_error_text",
    "read_events",
    "read_inclusion",
    "rust_debug",
]


class SubmissionError(Exception):
    """A refused or failed extrinsic; the text is the official node's, the reason first."""


class EventError(Exception):
    """An included extrinsic whose events could not be read."""

    def __init__(self, event: str, reason: str) -> None:
        super().__init__(
            "The extrinsic was submitted successfully but an error occurred while trying to "
            f"extract the event: {event}: {reason}"
        )


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A signed extrinsic in a block, with its events."""

    tx_hash: bytes
    block: BlockRef
    index: int
    events: tuple[BlockEvent, ...]

    def event(self, pallet: str, name: str) -> dict[str, Any]:
        """Return the fields of the first event of this name. Raise EventError."""
        for fields in self.all_events(pallet, name):
            return fields
        raise EventError(f"{pallet}.{name}", "no such event was found")

    def all_events(self, pallet: str, name: str) -> Iterator[dict[str, Any]]:
        """Yield the fields of each event of this name. Raise EventError."""
        for event in self.events:
            if (event.pallet, event.name) == (pallet, name):
                if not isinstance(event.fields, dict):
                    raise EventError(f"{pallet}.{name}", "its fields have no names")
                yield event.fields


async def read_inclusion(chain: ChainView, tx_hash: bytes, block_hash: bytes, index: int) -> Inclusion:
    """Return the extrinsic at `index` of a block, with its events. Raise SubmissionError if it failed."""
    block, body = chain.block_ref(block_hash), chain.body(block_hash)
    if block is None or body is None:
        raise SubmissionError(f"The block for this hash was not found: 0x{block_hash.hex()}")
    if index >= len(body):
        raise SubmissionError(f"The block extrinsics does not have an extrinsic at index {index}")
    if extrinsic_hash(body[index]) != tx_hash:
        raise SubmissionError(
            f"Watched transaction 0x{tx_hash.hex()} was not found at reported index {index}"
        )
    for event in (events := (await _events(chain, block_hash)).of.get(index, ())):
        if (event.pallet, event.name) == ("System", "ExtrinsicFailed"):
            metadata = (await chain.runtime_executing(block_hash)).metadata
            raise SubmissionError(dispatch_error_text(metadata, event.fields["dispatch_error"]))
    return Inclusion(tx_hash, block, index, events)


async def read_events(chain: ChainView, block_hash: bytes) -> tuple[BlockEvent, ...]:
    """Return all events of a block, in their order. Raise EventError, UnknownBlock or StateDiscarded."""
    return (await _events(chain, block_hash)).all


async def _events(chain: ChainView, block_hash: bytes) -> OrderedEvents:
    try:
        return await chain.events(block_hash)
    except ScaleError as error:
        raise EventError("System.Events", str(error)) from error


def dispatch_error_text(metadata: Metadata, error: Any) -> str:
    """Return a decoded `DispatchError` as the official node prints it."""
    if isinstance(error, tuple) and error[0] == "Module":
        module = error[1]
        pallet, name, docs = metadata.error(module["index"], module["error"])
        fields = f"pallet: {_quoted(pallet)}, name: {_quoted(name)}, error: {_quoted(docs)}"
        return f"KnownModuleError {{ {fields} }}"
    if error == "Other":  # carries a text in Rust, which does not survive encoding
        return 'DispatchError(Other(""))'
    return f"DispatchError({rust_debug(error)})"


def decode_dispatch_error(metadata: Metadata, data: bytes) -> Any:
    """Return a SCALE `DispatchError`, decoded by the metadata's own type.

    System.ExtrinsicFailed contains the same type.
    """
    return metadata.registry.codec(metadata.registry.find("sp_runtime", "DispatchError").id).decode(data)


def rust_debug(value: Any) -> str:
    """Return a decoded enum in the form of Rust's `{:?}`: `BadOrigin`, `Token(FundsUnavailable)`."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        name, payload = value
        inner = rust_debug(payload)
        return f"{name} {inner}" if isinstance(payload, dict) else f"{name}({inner})"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key}: {rust_debug(field)}" for key, field in value.items()) + " }"
    if isinstance(value, bytes):
        return str(list(value))
    return str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
