"""The notation of type expressions, and its parser.

    expression := name | name '<' expression, … '>' | '(' expression, … ')' | '[' expression ';' length ']'
    fields     := '{' name ':' expression, … '}'  |  '(' expression, … ')'

The notation is Rust's, as every Substrate developer reads it: `Vec<(AccountId32, u128)>`, `[u8; 32]`,
`Option<H160>`, `Exact(Balance)`, `EthTransaction{tx_hash: [u8; 32], funder: H160}`.
`Box<T>` is the type T: it only appears in the name of a field's type, where generators of Rust code read it.
A parsed expression is a value: equal texts give equal expressions, so it is also a type's identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*(?:::\w+)*)|(\d+)|([()<>\[\]{};,:]))")


class TypeLanguageError(ValueError):
    """A type expression that cannot be read, or that names an undeclared type."""


@dataclass(frozen=True, slots=True)
class TypeName:
    """A declared type or primitive, with its arguments if it is generic."""

    name: str
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple; the empty one is the unit."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """`length` items of one type, without a length on the wire."""

    item: Expression
    length: int


Expression = TypeName | TupleOf | ArrayOf
#: A field's name (None in tuples and newtypes) and the expression of its type.
FieldOf = tuple[str | None, Expression]


@cache
def parse(text: str) -> Expression:
    """Parse a type expression. Raises TypeLanguageError, which names the text and the fault."""
    reader = _Reader(text)
    expression = reader.expression()
    reader.end()
    return expression


@cache
def parse_variant(text: str) -> tuple[str, tuple[FieldOf, ...]]:
    """Parse `Name`, `Name(A, B)` or `Name{a: A}` to (name, fields). Raises TypeLanguageError."""
    reader = _Reader(text)
    name = reader.name()
    fields = reader.fields()
    reader.end()
    return name, fields


def substitute(expression: Expression, bound: Mapping[str, Expression]) -> Expression:
    """Return the expression with each bare name in `bound` replaced."""
    if not bound:
        return expression
    if isinstance(expression, TypeName):
        if not expression.arguments:
            return bound.get(expression.name, expression)
        arguments = tuple(substitute(argument, bound) for argument in expression.arguments)
        return TypeName(expression.name, arguments)
    if isinstance(expression, TupleOf):
        return TupleOf(tuple(substitute(item, bound) for item in expression.items))
    return ArrayOf(substitute(expression.item, bound), expression.length)


def describe(expression: Expression) -> str:
    """Return the expression as text, for messages and for the type names of fields."""
    if isinstance(expression, TypeName):
        inner = ", ".join(map(describe, expression.arguments))
        return f"{expression.name}<{inner}>" if inner else expression.name
    if isinstance(expression, TupleOf):
        return "(" + ", ".join(map(describe, expression.items)) + ")"
    return f"[{describe(expression.item)}; {expression.length}]"


class _Reader:
    """A recursive descent parser of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)
        self._at = 0

    @staticmethod
    def _split(text: str) -> list[str]:
        tokens, at = [], 0
        stripped = text.rstrip()
        while at < len(stripped):
            match = _TOKEN.match(stripped, at)
            if match is None:
                raise TypeLanguageError(f"{text!r}: cannot read {stripped[at:]!r}")
            tokens.append(match[match.lastindex or 0])
            at = match.end()
        return tokens

    def expression(self) -> Expression:
        if self._accept("("):
            return TupleOf(self._list(")"))
        if self._accept("["):
            item = self.expression()
            self._expect(";")
            length = int(self._next())
            self._expect("]")
            return ArrayOf(item, length)
        name = self.name()
        return TypeName(name, self._list(">") if self._accept("<") else ())

    def fields(self) -> tuple[FieldOf, ...]:
        if self._accept("("):
            return tuple((None, expression) for expression in self._list(")"))
        if not self._accept("{"):
            return ()
        fields: list[FieldOf] = []
        while not self._accept("}"):
            name = self.name()
            self._expect(":")
            fields.append((name, self.expression()))
            self._accept(",")
        return tuple(fields)

    def name(self) -> str:
        token = self._next()
        if not (token[0].isalpha() or token[0] == "_"):
            raise TypeLanguageError(f"{self._text!r}: expected a name, found {token!r}")
        return token

    def end(self) -> None:
        if self._at != len(self._tokens):
            raise TypeLanguageError(
                f"{self._text!r}: unexpected {self._tokens[self._at]!r} after the expression"
            )

    def _list(self, close: str) -> tuple[Expression, ...]:
        items: list[Expression] = []
        while not self._accept(close):
            items.append(self.expression())
            if not self._accept(","):
                self._expect(close)
                break
        return tuple(items)

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise TypeLanguageError(f"{self._text!r}: unexpected end")
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, token: str) -> bool:
        is_next = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += is_next
        return is_next

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            actual = self._tokens[self._at] if self._at < len(self._tokens) else "the end"
            raise TypeLanguageError(f"{self._text!r}: expected {token!r}, found {actual!r}")
