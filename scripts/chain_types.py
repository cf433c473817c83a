"""Python types and classes of the declared types; for `chain_values`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import cfnode.devchain.runtime.runtime  # noqa: F401  (all declarations)
from cfnode.core.scale.shapes import attribute
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.frame.catalogs import catalog_of
from cfnode.devchain.runtime.frame.expressions import (
    ArrayOf,
    Expression,
    FieldOf,
    TupleOf,
    TypeName,
    substitute,
)
from cfnode.devchain.runtime.frame.types import Alias, Catalog, Declaration, Enum, Struct
from cfnode.devchain.runtime.releases import RELEASES

SUFFIXES = tuple(CHAIN_INSTANCES) + tuple(
    dict.fromkeys(chain.family.crypto for chain in CHAIN_INSTANCES.values())
)
BORROWED = {
    "EncodedAddress": "EncodedAddress",
    "ForeignChainAddress": "ForeignAddress",
    "ScriptPubkey": "Script",
    "RuntimeCall": "RuntimeCall",
    "RuntimeEvent": "RuntimeEvent",
}
"""Types whose Python form is that of cfnode.core, tuples of a name and bytes, or of the frame."""
MAPPINGS = ("PoolPairsMap", "Range")
"""Structs of fields of one type that are mappings: what is at either side, as cfnode.core.amm has it."""
NAMES = {
    "PalletConfigUpdate": "IngressEgressConfigUpdate",
    "swapping::PalletConfigUpdate": "SwappingConfigUpdate",
    "generic::Digest": "Digest",
    "EncodedNonNativeCallGeneric": "EncodedNonNativeCall",
    "flip::PalletConfigUpdate": "FlipConfigUpdate",
    "pools::PalletConfigUpdate": "PoolsConfigUpdate",
    "validator::PalletConfigUpdate": "ValidatorConfigUpdate",
    "asset_balances::PalletConfigUpdate": "AssetBalancesConfigUpdate",
    "VersionedSolanaCcmAdditionalData": "SolanaCcmData",
    "TransactionInIdForAnyChain": "TransactionId",
    "VaultSwapOrDepositChannelId": "SolanaDeposit",
    "SwapOutputActionGeneric": "SwapOutputAction",
    "SwapRequestTypeGeneric": "SwapRequestType",
}
KEYS = {f"{name}Api": "EvmApi" for name, chain in CHAIN_INSTANCES.items() if chain.is_evm}
"""Types of one form whose names begin with the chain's."""
VARIANTS = {
    "AccountOrAddressInternalAccount": "InternalAccount",
    "AccountOrAddressExternalAddress": "ExternalAddress",
    "SwappingConfigUpdateSetDefaultOraclePriceSlippageProtectionForAsset": "SetDefaultSlippageProtection",
    "DepositFailedDetailsDepositFailedDepositChannelVariant": "DepositFailedOnChannel",
    "DepositFailedDetailsDepositFailedVaultVariant": "DepositFailedInVault",
    "TransactionScreeningEventTransactionRejectionRequestReceived": "RejectionRequestReceived",
    "TransactionScreeningEventTransactionRejectionRequestExpired": "RejectionRequestExpired",
    "TransactionScreeningEventTransactionRejectedByBroker": "RejectedByBroker",
    "TransactionScreeningEventChannelRejectionRequestReceived": "ChannelRejectionRequestReceived",
    "SimulateSwapAdditionalOrderLimitOrder": "SimulatedLimitOrder",
    "IncreaseOrDecreaseIncrease": "Increase",
    "IncreaseOrDecreaseDecrease": "Decrease",
}
"""Names of classes whose usual names read badly."""
ALIAS = "="
"""Name of the only field of a type that is another name for an expression."""
SIGNED = ("i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128", "u256")


@dataclass(frozen=True, slots=True)
class Type:
    """Python type: its name, and what stands in brackets.

    `variable` for a type variable.
    """

    head: str
    arguments: tuple[Union, ...] = ()
    variable: bool = False
    is_class: bool = False


Union = tuple[Type, ...]
"""Alternatives; None comes last."""
NONE, ANY, INT, BYTES = Type("None"), Type("Any"), Type("int"), Type("bytes")


@dataclass(frozen=True, slots=True)
class PythonClass:
    """Dataclass: fields with their types as text."""

    name: str
    doc: str
    parameters: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PythonEnum:
    """Union of dataclasses and names, as text."""

    name: str
    variants: tuple[PythonClass, ...]
    union: str


@dataclass(slots=True)
class _Fields:
    """Fields of a struct or a variant, of all declarations together."""

    types: dict[str, Union] = field(default_factory=dict)
    named: bool = True
    declared: int = 0
    present: dict[str, int] = field(default_factory=dict)

    def add(self, rows: Iterable[tuple[str, Union]]) -> None:
        self.declared += 1
        for name, union in rows:
            self.types[name] = merged(self.types.get(name, ()), union)
            self.present[name] = self.present.get(name, 0) + 1

    def texts(self) -> Iterator[tuple[str, str]]:
        for name, union in self.types.items():
            if self.present[name] < self.declared:
                yield name, f"{text(merged(union, (NONE,)))} = None"
            else:
                yield name, text(union)

    def variables(self) -> list[str]:
        return list(dict.fromkeys(name for union in self.types.values() for name in variables(union)))


def key_of(name: str) -> str:
    """Return the name that a type has for all chains."""
    if name in KEYS:
        return KEYS[name]
    for suffix in SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name


@cache
def python_name(key: str) -> str:
    """Return the Python name of a type: `btc::AggKey` → `BtcAggKey`."""
    if key in NAMES:
        return NAMES[key]
    parts = [part for segment in key.split("::") for part in segment.split("_")]
    return "".join(part[:1].upper() + part[1:] for part in parts)


def merged(first: Union, other: Union) -> Union:
    """Return all alternatives of both.

    Two of one generic class are one, of merged arguments.
    """
    types = list(first)
    for candidate in other:
        for at, present in enumerate(types):
            if present.head == candidate.head and len(present.arguments) == len(candidate.arguments):
                pairs = zip(present.arguments, candidate.arguments, strict=True)
                types[at] = Type(
                    present.head, tuple(merged(a, b) for a, b in pairs), present.variable, present.is_class
                )
                break
        else:
            types.append(candidate)
    return tuple(sorted(types, key=lambda member: member == NONE))


def text(union: Union, prefix: str = "") -> str:
    """Return the annotation; classes that are written here stand behind `prefix`."""
    literals = [member.head for member in union if member.head.startswith('"')]
    if ANY in union:
        return "Any"
    parts = [_one(member, prefix) for member in union if not member.head.startswith('"')]
    if literals:
        parts.insert(0, f"Literal[{', '.join(literals)}]")
    return " | ".join(parts)


def _one(kind: Type, prefix: str) -> str:
    head = f"{prefix}{kind.head}" if kind.is_class else kind.head
    if kind == Type("tuple"):
        return "tuple[()]"
    inner = ", ".join(text(argument, prefix) for argument in kind.arguments)
    return f"{head}[{inner}]" if inner else head


def variables(union: Union) -> Iterator[str]:
    """Yield the type variables in an annotation, in order."""
    for member in union:
        if member.variable:
            yield member.head
        for argument in member.arguments:
            yield from variables(argument)


def heads(union: Union) -> Iterator[str]:
    """Yield the classes in an annotation that are written here."""
    for member in union:
        if member.is_class:
            yield member.head
        for argument in member.arguments:
            yield from heads(argument)


class Classes:
    """Classes of the types that have some, and the Python type of any expression."""

    def __init__(self, families: Mapping[str, tuple[str, ...]]) -> None:
        self._family = {key: family for family, keys in families.items() for key in keys}
        self._declared: dict[str, dict[str, list[tuple[Catalog, Declaration]]]] = {}
        for release in RELEASES.values():
            for name, declared in catalog_of(release).names().items():
                if (key := key_of(name)) in self._family:
                    rows = self._declared.setdefault(key, {}).setdefault(name, [])
                    if all(other.make() != declared.make() for _, other in rows):
                        rows.append((catalog_of(release), declared))
        missing = self._family.keys() - self._declared.keys()
        if missing:
            raise SystemExit(f"no type is declared as {', '.join(sorted(missing))}")
        self._bodies: dict[str, dict[str | None, _Fields]] = {}

    def of(self, expression: Expression, catalog: Catalog, parameters: tuple[str, ...] = ()) -> Union:
        """Return the Python type of the values of an expression."""
        match expression:
            case TupleOf(items):
                return (Type("tuple", tuple(self.of(item, catalog, parameters) for item in items)),)
            case ArrayOf(item, _):
                return self._sequence(item, catalog, parameters)
            case TypeName("Vec", (item,)):
                return self._sequence(item, catalog, parameters)
            case TypeName("Option", (item,)):
                return merged(self.of(item, catalog, parameters), (NONE,))
            case TypeName("Compact", (item,)):
                return self.of(item, catalog, parameters)
            case TypeName("Result", (good, bad)):
                ok, err = self.of(good, catalog, parameters), self.of(bad, catalog, parameters)
                return (
                    Type("tuple", ((Type('"Ok"'),), ok)),
                    Type("tuple", ((Type('"Err"'),), err)),
                )
            case TypeName("U256", ()):
                return (INT,)
            case TypeName(name, ()) if name in parameters:
                return (Type(name, variable=True),)
            case TypeName(name, ()) if name in SIGNED:
                return (INT,)
            case TypeName("bool", ()):
                return (Type("bool"),)
            case TypeName("str" | "char", ()):
                return (Type("str"),)
            case TypeName(name, ()) if name in BORROWED:
                return (Type(BORROWED[name]),)
        return self._declared_type(expression, catalog, parameters)

    def _sequence(self, item: Expression, catalog: Catalog, parameters: tuple[str, ...]) -> Union:
        if item == TypeName("u8"):
            return (BYTES,)
        return (Type("Sequence", (self.of(item, catalog, parameters),)),)

    def _declared_type(self, expression: TypeName, catalog: Catalog, parameters: tuple[str, ...]) -> Union:
        declared = catalog.get(expression.name)
        if declared is None:
            return (ANY,)
        body = declared.make()
        if isinstance(body, Alias):
            return self.of(body.target, catalog, parameters)
        bound = dict(zip(declared.parameters, expression.arguments, strict=True))
        key = key_of(expression.name)
        if expression.name in MAPPINGS:
            item = self.of(expression.arguments[0], catalog, parameters)
            return (Type("Mapping", ((Type("str"),), item)),)
        if expression.name.endswith("AssetMap"):
            depth = 1 if "::" in expression.name else 2
            result = self.of(expression.arguments[0], catalog, parameters)
            for _ in range(depth):
                result = (Type("dict", ((Type("str"),), result)),)
            return result
        if key in self._family:
            arguments = tuple(
                self.of(bound[name], catalog, parameters) for name in self.parameters(key) if name in bound
            )
            return (Type(python_name(key), arguments, is_class=True),)
        if isinstance(body, Enum):
            return (ANY,) if any(fields for _, _, fields, _ in body.variants) else (Type("str"),)
        return self._plain(body, bound, catalog, parameters)

    def _plain(
        self, body: Struct, bound: Mapping[str, Expression], catalog: Catalog, parameters: tuple[str, ...]
    ) -> Union:
        types = [self.of(substitute(expression, bound), catalog, parameters) for _, expression in body.fields]
        if any(name is not None for name, _ in body.fields):
            return (ANY,)
        return types[0] if len(types) == 1 else (Type("tuple", tuple(types)),)

    # The classes

    def defined(self, key: str) -> PythonClass | PythonEnum:
        """Return the class or union that is written for a type."""
        bodies, name = self._body(key), python_name(key)
        declared = next(iter(self._declared[key].values()))[0][1]
        path = "::".join(declared.path[:1] + declared.path[-1:])
        if ALIAS in bodies:
            return PythonEnum(name, (), text(bodies[ALIAS].types[ALIAS]))
        if None in bodies:
            return self._class(key, name, f"`{path}`.", bodies[None])
        classes, alternatives = [], list[str]()
        literals = [f'"{variant}"' for variant, fields in bodies.items() if not fields.types]
        if literals:
            alternatives.append(f"Literal[{', '.join(literals)}]")
        for variant, fields in bodies.items():
            if fields.types:
                variant_class = self._class(
                    key, self._variant(key, str(variant)), f"`{path}::{variant}`.", fields
                )
                classes.append(variant_class)
                alternatives.append(
                    variant_class.name
                    + (f"[{', '.join(variant_class.parameters)}]" if variant_class.parameters else "")
                )
        return PythonEnum(name, tuple(classes), " | ".join(alternatives))

    def _class(self, key: str, name: str, doc: str, fields: _Fields) -> PythonClass:
        return PythonClass(name, doc, tuple(self._used(key, fields)), tuple(fields.texts()))

    def _used(self, key: str, fields: _Fields) -> list[str]:
        """Return the parameters that a class has, in the order of the declaration."""
        declared = next(iter(self._declared[key].values()))[0][1]
        return sorted(fields.variables(), key=declared.parameters.index)

    def _variant(self, key: str, variant: str) -> str:
        default_name = python_name(key) + variant
        return VARIANTS.get(default_name, default_name)

    def parameters(self, key: str) -> list[str]:
        """Return the parameters of a type; those of an enum in the order in which its variants use them."""
        bodies = self._body(key).values()
        return list(dict.fromkeys(name for fields in bodies for name in self._used(key, fields)))

    def _body(self, key: str) -> dict[str | None, _Fields]:
        """Return the fields of a struct under None, those of an enum's variants under their names."""
        if key in self._bodies:
            return self._bodies[key]
        bodies: dict[str | None, _Fields] = {}
        self._bodies[key] = bodies  # a type may contain itself
        for rows in self._declared[key].values():
            for catalog, declared in rows:
                body = declared.make()
                if isinstance(body, Struct):
                    self._add(bodies, None, body.fields, catalog, declared)
                elif isinstance(body, Enum):
                    for _, name, fields, _ in body.variants:
                        self._add(bodies, key_of(name), fields, catalog, declared)
                else:
                    self._add(bodies, ALIAS, ((ALIAS, body.target),), catalog, declared)
        return bodies

    def _add(
        self,
        by_name: dict[str | None, _Fields],
        name: str | None,
        fields: tuple[FieldOf, ...],
        catalog: Catalog,
        declared: Declaration,
    ) -> None:
        rows = [
            (field_name, self.of(expression, catalog, declared.parameters))
            for field_name, expression in fields
        ]
        if fields and fields[0][0] is None:
            value_type = rows[0][1] if len(rows) == 1 else (Type("tuple", tuple(union for _, union in rows)),)
            rows = [("value", value_type)]
        by_name.setdefault(name, _Fields()).add(
            (attribute(str(field_name)), union) for field_name, union in rows
        )

    def variables(self, keys: Iterable[str]) -> list[str]:
        """Return the type variables of a family."""
        return sorted({name for key in keys for name in self.parameters(key)})

    def used(self, family: str) -> dict[str, list[str]]:
        """Return the names that a family's classes use of other families, by family."""
        families = {python_name(key): family_of_key for key, family_of_key in self._family.items()}
        used: dict[str, set[str]] = {}
        for key in (key for key, family_of_key in self._family.items() if family_of_key == family):
            for fields in self._body(key).values():
                for head in (head for union in fields.types.values() for head in heads(union)):
                    if families[head] != family:
                        used.setdefault(families[head], set()).add(head)
        return {other_family: sorted(names) for other_family, names in sorted(used.items())}

    def forms(self, keys: Iterable[str]) -> dict[str, str | dict[str, str]]:
        """Return the form of each declaration of these types.

        It is the class; for an enum the classes and other names of its variants.
        """
        forms: dict[str, str | dict[str, str]] = {}
        for key in keys:
            for name, rows in self._declared[key].items():
                form: dict[str, str] = {}
                for _, declared in rows:
                    body = declared.make()
                    if isinstance(body, Struct):
                        forms[name] = python_name(key)
                    elif isinstance(body, Enum):
                        for _, variant, fields, _ in body.variants:
                            plain = key_of(variant)
                            if fields:
                                form[variant] = self._variant(key, plain)
                            elif plain != variant:
                                form[variant] = f'"{plain}"'
                if form:
                    forms[name] = form
        return forms
