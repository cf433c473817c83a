"""Type declarations of the runtime: structs, enums and aliases, in catalogs.

Everything that has a shape is derived from a catalog of named declarations: codecs, storage keys and
metadata (scale-info's registry, metadata V14 and V15). Types of every release are declared in `COMMON` when
their module is imported; those that differ are declared in a catalog of the release, based on `COMMON`. A
declaration is written in the notation of `frame.expressions`:

    struct("cf_primitives::DcaParameters", number_of_chunks="u32", chunk_interval="u32")
    struct("cf_primitives::SwapId", "u64")                                   # a newtype
    struct("cf_primitives::Beneficiary<Id>", account="Id", bps="u16")        # generic
    enum("cf_primitives::ForeignChain", {1: "Ethereum", 2: "Polkadot"})
    enum("cf_funding::RedemptionAmount<Balance>", "Max", "Exact(Balance)")   # indices from 0
    alias("Bytes", "Vec<u8>")

The first argument is the path in the metadata; its last segment is the name in expressions, unless `name`
gives another one (two chains may both have an `AggKey`: `name="btc::AggKey"`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cfnode.core.scale import PythonForm

from .expressions import Expression, FieldOf, TypeLanguageError, TypeName, parse, parse_variant

__all__ = [
    "COMMON",
    "Alias",
    "Catalog",
    "Declaration",
    "Enum",
    "Struct",
    "alias",
    "declaration",
    "enum",
    "struct",
]

Docs = tuple[str, ...]
VariantOf = tuple[int, str, tuple[FieldOf, ...], Docs]


@dataclass(frozen=True, slots=True)
class Struct:
    """A composite: named fields, or unnamed ones (one of them is a newtype)."""

    fields: tuple[FieldOf, ...]


@dataclass(frozen=True, slots=True)
class Enum:
    """A tagged union: (index on the wire, name, fields, lines of documentation)."""

    variants: tuple[VariantOf, ...]


@dataclass(frozen=True, slots=True)
class Alias:
    """Another way to write an expression; leaves no trace in the metadata."""

    target: Expression


@dataclass(frozen=True, slots=True)
class Declaration:
    """One named type: `make` gives its body when first needed (an outer enum knows its pallets only then)."""

    name: str
    path: tuple[str, ...]
    parameters: tuple[str, ...]
    make: Callable[[], Struct | Enum | Alias]


class Catalog:
    """Declarations by name: its own, and those of the catalog that it is based on.

    `classes` are what values of these types are in Python (`values`), by the declaration's name.
    """

    def __init__(
        self, base: Catalog | None = None, classes: Mapping[str, PythonForm] = MappingProxyType({})
    ) -> None:
        self._base = base
        self._classes = dict(classes)
        self._own: dict[str, Declaration] = {}

    def get(self, name: str) -> Declaration | None:
        """Return the declaration of a name, None for an unknown name."""
        declaration = self._own.get(name)
        return self._base.get(name) if declaration is None and self._base is not None else declaration

    def form(self, name: str) -> PythonForm | None:
        """Return the Python form of a declared type's values, None for dicts and tuples."""
        form = self._classes.get(name)
        return self._base.form(name) if form is None and self._base is not None else form

    def take_form(self, name: str, form: PythonForm) -> None:
        """Let values of a declared type have this form."""
        self._classes[name] = form

    def names(self) -> dict[str, Declaration]:
        """Return all declarations by name."""
        return (self._base.names() if self._base is not None else {}) | self._own

    def add(self, declared: Declaration) -> str:
        """Add a declaration, and return its name. Raises TypeLanguageError if the name means another type."""
        existing = self.get(declared.name)
        if existing is not None and _contents(existing) != _contents(declared):
            raise TypeLanguageError(
                f"{declared.name!r} is declared twice: as {'::'.join(existing.path)} and as "
                f"{'::'.join(declared.path)}; give one of them a name of its own (name=…)"
            )
        self._own[declared.name] = declared
        return declared.name

    def struct(self, path: str, /, *unnamed: str, name: str | None = None, **named_fields: str) -> str:
        """Declare a composite; a trailing `_` of a field name is dropped (`from_`). Returns its name."""
        fields: tuple[FieldOf, ...] = tuple((None, parse(text)) for text in unnamed)
        fields += tuple((field.removesuffix("_"), parse(text)) for field, text in named_fields.items())
        return self._declare(path, name, Struct(fields))

    def enum(self, path: str, /, *variants: str | Mapping[int, str], name: str | None = None) -> str:
        """Declare an enum: variants counted from 0, or one mapping of index to variant. Returns its name."""
        rows: dict[int, str] = {}
        for position, variant in enumerate(variants):
            rows.update({position: variant} if isinstance(variant, str) else variant)
        body = Enum(tuple((index, *parse_variant(text), ()) for index, text in rows.items()))
        return self._declare(path, name, body)

    def alias(self, name: str, target: str) -> str:
        """Declare another name for an expression. Returns the name."""
        return self._declare(name, name, Alias(parse(target)))

    def _declare(self, path: str, name: str | None, body: Struct | Enum | Alias) -> str:
        return self.add(declaration(path, name, lambda: body))


def declaration(path: str, name: str | None, make: Callable[[], Struct | Enum | Alias]) -> Declaration:
    """Create a declaration whose path may have generic parameters: `cf_primitives::Beneficiary<Id>`."""
    head, _, generics = path.partition("<")
    segments = tuple(head.split("::"))
    parameters = _parameters(path) if generics else ()
    return Declaration(name or segments[-1], segments, parameters, make)


def _contents(declared: Declaration) -> tuple[tuple[str, ...], tuple[str, ...], Struct | Enum | Alias]:
    return declared.path, declared.parameters, declared.make()


def _parameters(path: str) -> tuple[str, ...]:
    parsed = parse(path)
    assert isinstance(parsed, TypeName)
    return tuple(argument.name for argument in parsed.arguments if isinstance(argument, TypeName))


COMMON = Catalog()
"""The declarations that every release has."""

struct, enum, alias = COMMON.struct, COMMON.enum, COMMON.alias

# Types of Rust, SCALE and Substrate's primitives.
alias("Bytes", "Vec<u8>")
enum("Option<T>", "None", "Some(T)")
enum("Result<T, E>", "Ok(T)", "Err(E)")
struct("BTreeMap<K, V>", "Vec<(K, V)>")
struct("BTreeSet<T>", "Vec<T>")
struct("Range<Idx>", start="Idx", end="Idx")
struct("bounded_collections::bounded_vec::BoundedVec<T>", "Vec<T>")
struct("bounded_collections::bounded_btree_map::BoundedBTreeMap<K, V>", "BTreeMap<K, V>")
struct("bounded_collections::weak_bounded_vec::WeakBoundedVec<T>", "Vec<T>")
struct("bounded_collections::bounded_btree_map::BoundedBTreeMap<K, V>", "BTreeMap<K, V>")
struct("bounded_collections::bounded_btree_set::BoundedBTreeSet<T>", "BTreeSet<T>")
struct("primitive_types::H160", "[u8; 20]")
struct("primitive_types::H256", "[u8; 32]")
struct("primitive_types::U256", "[u64; 4]")
struct("sp_core::crypto::AccountId32", "[u8; 32]")
struct("sp_arithmetic::per_things::Permill", "u32")
struct("sp_arithmetic::per_things::Perbill", "u32")
struct("sp_arithmetic::per_things::Percent", "u8")
struct("sp_arithmetic::fixed_point::FixedU128", "u128")
