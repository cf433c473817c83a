"""The shape of each command's `--json`: the members of its objects, and the kind of each value.

A schema is the name of a kind, a list with the schema of its entries, or an object with that of each member;
"?" after a member's name allows it to be absent, and a schema of a set allows any of its kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["ERROR", "SCHEMAS", "faults"]

Schema = Any

_KINDS: dict[str, Callable[[Any], bool]] = {
    "amount": lambda value: isinstance(value, str) and re.fullmatch(r"[0-9]+", value) is not None,
    "decimal": lambda value: isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) is not None,
    "time": lambda value: (
        isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value) is not None
    ),
    "hash": lambda value: isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]{64}", value) is not None,
    "text": lambda value: isinstance(value, str),
    "account": lambda value: isinstance(value, str) and value.startswith("cF"),
    "number": lambda value: type(value) is int and abs(value) < 2**53,
    "seconds": lambda value: type(value) in (int, float) and value >= 0,
    "bool": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "any": lambda value: True,
}
_AMOUNTS = {"*": "amount"}
_ORDER = {
    "asset": "text",
    "quote": "text",
    "side": "text",
    "id": "number",
    "tick": "number",
    "price": "decimal",
    "amount": "amount",
}
_BLOCK = {"block": "hash", "number": "number"}
_HEAD = {"number": "number", "hash": "hash", "time?": "time", "ageSeconds?": "seconds"}
_LEVELS = [{"tick": "number", "price": "decimal", "amount": "amount"}]
_PRICE = {"decimal", "null"}

ERROR = {"error": {"code": "text", "message": "text"}}
"""The document of every error; some errors have further members."""

SCHEMAS: dict[str, Schema] = {
    "status": {
        "node": "text",
        "syncing": "bool",
        "peers": "number",
        "needsPeers": "bool",
        "target": {"number", "null"},
        "chain": "text",
        "chainType": "text",
        "name": "text",
        "version": "text",
        "runtime": {"specName": "text", "specVersion": "number"},
        "best": _HEAD,
        "finalized": {**_HEAD, "blocksBehind": "number", "secondsBehind?": "seconds"},
        "chainTime?": "time",
        "secondsBehindClock?": "seconds",
        "broker": {
            "account": "account",
            "role": "text",
            "flip": "decimal",
            "earnedFees": {"*": "decimal"},
            "openChannels": "number",
            "openChannelsByAsset": {"*": "number"},
        },
        "commandVersion": "text",
        "state": "text",
        "warnings": ["text"],
        "unavailable": {"*": "text"},
    },
    "lp balances": _AMOUNTS,
    "lp set-limit": {"order": _ORDER, "changed": "bool"},
    "lp orders": [{**_ORDER, "originalAmount": {"amount", "null"}, "feesEarned": _AMOUNTS}],
    "lp book": {
        "blockHash": "hash",
        "asset": "text",
        "quote": "text",
        "bids": _LEVELS,
        "asks": _LEVELS,
        "bestBid": _PRICE,
        "bestAsk": _PRICE,
        "rangePrice": _PRICE,
    },
    "lp cancel": [_ORDER],
    "lp fills": [{"blockNumber": "number", "blockHash": "hash", "time": "time", "fills": ["any"]}],
    "lp refund-address": {"transaction": "hash"},
    "lp deposit": {
        "chain": "text",
        "asset": "text",
        "depositAddress": "text",
        "expiryBlock": "number",
        "blockHash": "hash",
    },
    "dev deposit": _BLOCK,
    "dev seal": _BLOCK,
    "dev jump": {**_BLOCK, "chainTime": "time"},
    "dev price": _BLOCK,
    "dev fund": _BLOCK,
    "key list": {"keystore": "text", "keys": [{"type": "text", "account": "account", "publicKey": "text"}]},
    "wrong command": ERROR,
    "refused": {"error": {"code": "text", "message": "text", "rpc": "any"}},
}


def faults(value: Any, schema: Schema, place: str = "") -> Iterator[str]:
    """Where a document is not as its schema says."""
    if isinstance(schema, str):
        if not _KINDS[schema](value):
            yield f"{place}: {value!r} is not of the kind {schema}"
    elif isinstance(schema, set):
        if not any(_KINDS[kind](value) for kind in schema):
            yield f"{place}: {value!r} is of none of {sorted(schema)}"
    elif isinstance(schema, list):
        if not isinstance(value, list):
            yield f"{place}: no array"
            return
        for number, entry in enumerate(value):
            yield from faults(entry, schema[0], f"{place}[{number}]")
    elif not isinstance(value, dict):
        yield f"{place}: no object"
    elif "*" in schema:
        for name, member in value.items():
            yield from faults(member, schema["*"], f"{place}.{name}")
    else:
        yield from _faults_of_members(value, schema, place)


def _faults_of_members(value: dict[str, Any], schema: dict[str, Schema], place: str) -> Iterator[str]:
    known = {name.removesuffix("?"): each for name, each in schema.items()}
    for name in known:
        if name not in value and f"{name}?" not in schema:
            yield f"{place}.{name}: missing"
    for name, member in value.items():
        if name not in known:
            yield f"{place}.{name}: not in the schema"
            continue
        if re.fullmatch(r"[a-z][a-zA-Z0-9]*", name) is None:
            yield f"{place}.{name}: not camelCase"
        yield from faults(member, known[name], f"{place}.{name}")
