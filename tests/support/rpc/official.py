"""Serialisations of the official node, and where a value differs from one."""

from __future__ import annotations

import json
import re
from typing import Any

from cfnode.core.assets import CHAINS
from tests.conftest import shared

NEWER = {
    # members that runtime 2.3 added
    "bsc", "bsc_events", "broadcast_bsc", "ingress_egress_bsc", "bsc_elections", "bid", "max_bid",
    "flip_to_on_chain_balance_enabled", "Bsc", "CBBTC",
}  # fmt: skip
OLDER = {"owed_to_network", *CHAINS}
"""Members that it dropped; and chains in a map that an example has only in part."""


def example(name: str) -> Any:
    """Return a serialisation of the official node."""
    return json.loads(shared("rpc-examples", f"{name}.json").read_text())


def form(value: Any) -> str:
    """Return the kind of a scalar."""
    if isinstance(value, str):
        return "hex" if re.fullmatch(r"0x[0-9a-f]*", value) else "text"
    return {bool: "bool", int: "number", type(None): "null"}[type(value)]


def differences(ours: Any, theirs: Any, path: str, loose: bool) -> list[str]:
    """Return the places where shapes differ. `loose`: amounts may be numbers where a node prints hex."""
    if ours is None or theirs is None:
        return []
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if all(len(key) > 40 for key in theirs):  # by account or address
            theirs, ours = {"*": next(iter(theirs.values()))}, {"*": next(iter(ours.values()))}
        if len(ours) == len(theirs) == 1 and next(iter(theirs)).istitle():  # a tagged enum
            theirs, ours = {"*": next(iter(theirs.values()))}, {"*": next(iter(ours.values()))}
        missing = theirs.keys() - ours.keys() - NEWER
        faults = [f"{path}.{key} is missing" for key in sorted(missing)]
        faults += [f"{path}.{key} is not theirs" for key in sorted(ours.keys() - theirs.keys() - OLDER)]
        for key in ours.keys() & theirs.keys():
            faults += differences(ours[key], theirs[key], f"{path}.{key}", loose)
        return faults
    if isinstance(theirs, list) and isinstance(ours, list):
        pairs = zip(ours, theirs, strict=False)
        return [line for mine, other in pairs for line in differences(mine, other, f"{path}[]", loose)]
    if isinstance(theirs, (dict, list)) or isinstance(ours, (dict, list)):
        return [f"{path}: {ours!r} against {theirs!r}"]
    pair = form(ours), form(theirs)
    if pair[0] == pair[1] or (loose and pair == ("hex", "number")):
        return []
    return [f"{path}: {pair[0]} ({ours!r}) against {pair[1]} ({theirs!r})"]


def recorded(name: str) -> Any:
    """Return an answer of the official node, or a part of one."""
    return json.loads(shared("rpc-examples", name).read_text())


def shape(value: Any) -> Any:
    """Return the members and types of a JSON value; texts by whether they are hex."""
    match value:
        case dict():
            return {name: shape(entry) for name, entry in value.items()}
        case list():
            return [shape(entry) for entry in value]
        case str():
            return "hex" if value.startswith("0x") else "text"
    return type(value).__name__
