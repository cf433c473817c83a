"""JSON-RPC error codes that the code raises: the first argument of each `RpcError(…)` in the source.

Where it is a parameter (`def refused(code): return RpcError(code, …)`), the calls of that function count.
An argument that is neither a constant, a parameter nor a variable with either is an error: no code is missed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
LEFT_OUT: Final = (
    *("cfnode/sdk/", "cfnode/testing/", "cfnode/cli/", "cfnode/core/jsonrpc_client.py"),
    "cfnode/devchain/evm/",
)
"""Paths of clients, which receive codes, and of the local EVM chain, whose codes are those of EVM nodes."""
MAX_ROUNDS: Final = 5
"""Maximum length of a chain of functions that pass a code on."""

Forwarding = dict[str, int]
"""Function name, and the position of the parameter that is a code."""


class UnclearCode(Exception):
    """Error for a code that cannot be read from the source."""


def raised_codes() -> dict[int, str]:
    """Return each code, with a module that raises it. Raise UnclearCode."""
    sources = [(import_module(_module(path)), ast.parse(path.read_text())) for path in _files()]
    codes: dict[int, str] = {}
    forwarding: Forwarding = {"RpcError": 0}
    for _ in range(MAX_ROUNDS):
        previous = dict(forwarding)
        for module, tree in sources:
            for code in _codes(module, tree, previous, forwarding):
                codes.setdefault(code, module.__name__)
        if forwarding == previous:
            return codes
    raise UnclearCode(f"functions pass codes on more than {MAX_ROUNDS} times")


def _files() -> Iterator[Path]:
    for path in sorted((ROOT / "cfnode").rglob("*.py")):
        if "RpcError" in path.read_text() and not str(path.relative_to(ROOT)).startswith(LEFT_OUT):
            yield path


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _codes(module: ModuleType, tree: ast.AST, known: Forwarding, forwarding: Forwarding) -> Iterator[int]:
    for call, function in _calls(tree, None):
        if isinstance(call.func, ast.Name) and call.func.id in known:
            code = call.args[known[call.func.id]]
            position = _position(code, function)
            if function is not None and position is not None:
                forwarding[function.name] = position
            else:
                yield from (_value(value, module) for value in _alternatives(code, function))


def _calls(
    node: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[tuple[ast.Call, ast.FunctionDef | ast.AsyncFunctionDef | None]]:
    """Yield every call, with the function around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child, function
        inside = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from _calls(child, inside)


def _position(code: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> int | None:
    if function is None or not isinstance(code, ast.Name):
        return None
    names = [argument.arg for argument in function.args.args]
    return names.index(code.id) if code.id in names else None


def _alternatives(
    code: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[ast.expr]:
    """Yield both sides of `a if … else b`; for a local variable what is assigned to it."""
    if isinstance(code, ast.IfExp):
        yield from (
            alternative for side in (code.body, code.orelse) for alternative in _alternatives(side, function)
        )
        return
    assigned = [
        node.value
        for node in (ast.walk(function) if function is not None and isinstance(code, ast.Name) else ())
        if isinstance(node, ast.Assign) and any(ast.dump(target) == _stored(code) for target in node.targets)
    ]
    for value in assigned:
        yield from _alternatives(value, function)
    if not assigned:
        yield code


def _stored(name: ast.expr) -> str:
    """Return a variable as the target of an assignment."""
    assert isinstance(name, ast.Name)
    return ast.dump(ast.Name(name.id, ast.Store()))


def _value(code: ast.expr, module: ModuleType) -> int:
    """Return the value of a number, a constant of the module, or an attribute of one."""
    try:
        return int(_object(code, module))  # type: ignore[call-overload, no-any-return]
    except (AttributeError, TypeError, ValueError):
        place = f"{module.__name__}, line {code.lineno}"
        raise UnclearCode(f"{place}: RpcError's code is neither a constant nor a parameter") from None


def _object(code: ast.expr, module: ModuleType) -> object:
    if isinstance(code, ast.Name):
        return getattr(module, code.id)
    if isinstance(code, ast.Attribute):
        return getattr(_object(code.value, module), code.attr)
    return ast.literal_eval(code)
