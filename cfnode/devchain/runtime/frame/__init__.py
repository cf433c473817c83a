"""A small FRAME: declare types, pallets and runtime APIs; codecs, storage keys and metadata follow."""

from __future__ import annotations

from .api import RuntimeApi, method, raw_method
from .composition import Composition
from .declarations import ConstantSet, ErrorSet, EventSet, call, constant, event, migration, release_constant
from .errors import DispatchError, RuntimeTrap, TransactionValidityError, bad_origin, invalid, unknown
from .host import GenesisHost, Host
from .item import OwnersRuntime
from .origin import GOVERNANCE, NONE, ROOT, THRESHOLD_SIGNATURE, WITNESS, Authority, Origin
from .pallet import Pallet, PalletRuntime, PalletStorage
from .part import part
from .span import before, since
from .storage import DoubleMap, Map, OptionalDoubleMap, OptionalMap, OptionalValue, Value
from .types import alias, enum, struct
from .weights import Cost, weight

__all__ = [
    "GOVERNANCE",
    "NONE",
    "ROOT",
    "THRESHOLD_SIGNATURE",
    "WITNESS",
    "Authority",
    "Composition",
    "ConstantSet",
    "Cost",
    "DispatchError",
    "DoubleMap",
    "ErrorSet",
    "EventSet",
    "GenesisHost",
    "Host",
    "Map",
    "OptionalDoubleMap",
    "OptionalMap",
    "OptionalValue",
    "Origin",
    "OwnersRuntime",
    "Pallet",
    "PalletRuntime",
    "PalletStorage",
    "RuntimeApi",
    "RuntimeTrap",
    "TransactionValidityError",
    "Value",
    "alias",
    "bad_origin",
    "before",
    "call",
    "constant",
    "enum",
    "event",
    "invalid",
    "method",
    "migration",
    "part",
    "raw_method",
    "release_constant",
    "since",
    "struct",
    "unknown",
    "weight",
]
