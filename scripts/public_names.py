"""Signatures and docstrings of a package's public names, as Markdown needs them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

__all__ = ["PROGRAM", "PublicName", "own_text", "program", "signature_of"]

WIDTH = 88
"""Columns of a signature: what the site displays next to its navigation without scrolling."""
PROGRAM = re.compile(r"^ {4}[^\n]*(?:\n+ {4}[^\n]*)*", re.MULTILINE)
"""An indented program in a docstring."""
ONCE = frozenset({"from_json", "to_json", "steps", "call"})
"""Methods of many classes, which the introduction of a page describes."""
RECEIVED = frozenset({"Channel"})
"""Classes that callers receive and do not create: the arguments of their constructors are internal."""
_OURS = "cfnode."


@dataclass(frozen=True)
class PublicName:
    """One public name of a package."""

    package: ModuleType
    name: str

    @property
    def value(self) -> Any:
        """The object of the name."""
        return getattr(self.package, self.name)

    @cached_property
    def kind(self) -> str:
        """Whether it is a class, call, record, enum, error, function or alias."""
        value = self.value
        if not isinstance(value, type):
            return "function" if inspect.isfunction(value) else "alias"
        if issubclass(value, BaseException):
            return "error"
        if issubclass(value, Enum):
            return "enum"
        if is_dataclass(value):
            return "call" if hasattr(value, "steps") else "record"
        return "class"

    @property
    def signature(self) -> str:
        """The name with its arguments; the definition of an alias, the members of an enum."""
        value = self.value
        if self.kind == "alias":
            return _alias(self.package.__name__, self.name)[0]
        if self.kind == "enum":
            return "\n".join(f"{self.name}.{item.name} = {_value(item.value)}" for item in value)
        if self.kind == "error" or (self.kind == "class" and self.name in RECEIVED):
            code = getattr(value, "code", None)
            return f"class {self.name}({value.__bases__[0].__name__})" + (f"  # code: {code}" if code else "")
        return signature_of(self.name, value)

    @property
    def text(self) -> str:
        """The docstring, for a class with that of its constructor."""
        if self.kind == "alias":
            return _alias(self.package.__name__, self.name)[1]
        texts = [own_text(self.value)]
        if self.kind in ("class", "record", "error"):
            texts.append(_constructor_text(self.value))
        return "\n\n".join(text for text in texts if text)

    def members(self) -> Iterator[tuple[str, str, str]]:
        """Yield title, signature and docstring of each public method and property of a class."""
        if self.kind in ("function", "alias", "enum"):
            return
        inherited = set(dir(self.value.__base__)) if self.kind == "error" else set()
        for name in _members_of(self.value):
            if name in inherited:
                continue
            member = inspect.getattr_static(self.value, name)
            title = f"{self.name}.{name}"
            if isinstance(member, property):
                yield title, f"{name}: {member.fget.__annotations__['return']}", own_text(member)
            else:
                function = getattr(member, "__func__", member)
                yield title, signature_of(name, function), own_text(function)


def _members_of(kind: type) -> list[str]:
    """Return the public methods and properties of a class and its bases of this project, without `ONCE`."""
    names = {
        name
        for base in kind.__mro__
        if base.__module__.startswith(_OURS)
        for name, value in vars(base).items()
        if inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)
    }
    return sorted(name for name in names - ONCE if not name.startswith("_"))


def own_text(documented: object) -> str:
    """Return the docstring of an object; "" without one, also for what a dataclass generates."""
    text = getattr(documented, "__doc__", None) or ""
    is_generated = isinstance(documented, type) and text.startswith(f"{documented.__name__}(")
    return "" if is_generated else inspect.cleandoc(text)


def _constructor_text(kind: type) -> str:
    """Return the docstring of the constructor, which may be that of a base in this project."""
    bases = (base for base in kind.__mro__ if base.__module__.startswith(_OURS))
    return next((own_text(vars(base)["__init__"]) for base in bases if "__init__" in vars(base)), "")


def signature_of(name: str, value: Any) -> str:
    """Return a call of a function or a class with its arguments, on lines of their own if it is long."""
    is_class = isinstance(value, type)
    function = value.__init__ if is_class else value
    is_generated = is_class and is_dataclass(value) and "__init__" not in _written(value)
    items = list(_fields(value) if is_generated else _parameters(function))
    result = "" if is_class else f" -> {_plain(function.__annotations__.get('return', 'None'))}"
    head = "async " if inspect.iscoroutinefunction(function) else ""
    line = f"{head}{name}({', '.join(items)}){result}"
    if len(line) <= WIDTH:
        return line
    return f"{head}{name}(\n" + "".join(f"    {item},\n" for item in items) + f"){result}"


def _written(record: type) -> set[str]:
    """Return the methods that the source of a dataclass has, as opposed to generated ones."""
    return {name for name, value in vars(record).items() if getattr(value, "__doc__", None)}


def _fields(record: Any) -> Iterator[str]:
    """Yield the arguments of a dataclass: those by position, then those by name alone."""
    arguments = [field for field in fields(record) if field.init]
    yield from (_argument(field) for field in arguments if not field.kw_only)
    if named := [field for field in arguments if field.kw_only]:
        yield "*"
        yield from map(_argument, named)


def _argument(item: Field[Any]) -> str:
    if item.default is not MISSING:
        default = f" = {_value(item.default)}"
    else:
        default = "" if item.default_factory is MISSING else f" = {item.default_factory()!r}"
    return f"{item.name}: {_plain(item.type)}{default}"


def _parameters(function: Any) -> Iterator[str]:
    """Yield the arguments of a function, without `self` and what exists for error texts alone (`Never`)."""
    is_named = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls") or parameter.annotation == "Never":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_named:
            yield "*"
        is_named |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        kind = "" if parameter.annotation is parameter.empty else f": {_plain(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f" = {_value(parameter.default)}"
        yield f"{star}{parameter.name}{kind}{default}"


def _plain(annotation: object) -> str:
    """Return an annotation as callers read it: base units are whole numbers."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return re.sub(r"\bAmount\b", "int", text)


def _value(default: object) -> str:
    if isinstance(default, Enum):
        return str(default)
    if isinstance(default, str):
        return f'"{default}"'
    return "…" if callable(default) else repr(default)


@cache
def _alias(module: str, name: str) -> tuple[str, str]:
    """Return the definition of an alias or a constant and the text below it, where they are defined."""
    source = Path(str(importlib.import_module(module).__file__)).read_text()
    body = ast.parse(source).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom) and name in [alias.asname or alias.name for alias in node.names]:
            return _alias(str(node.module), name)
        if name in _assigned(node):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            text = str(after.value.value) if is_text else ""  # type: ignore[union-attr]
            return (ast.get_source_segment(source, node) or "").replace(": TypeAlias", ""), text
    raise LookupError(f"{module} neither defines nor imports {name}")


def _assigned(node: ast.stmt) -> list[str]:
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [target.id for target in targets if isinstance(target, ast.Name)]


def program(match: re.Match[str]) -> str:
    """Return an indented program of a docstring without its margin."""
    return dedent(match[0]).strip()
