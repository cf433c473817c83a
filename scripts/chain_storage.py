"""Types in the brackets of storage declarations, and the edits that write them; for `chain_values`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from chain_types import Classes, Union, merged, text

from cfnode.devchain.runtime.frame.catalogs import catalog_of
from cfnode.devchain.runtime.frame.expressions import parse, substitute
from cfnode.devchain.runtime.releases import RELEASES
from cfnode.devchain.runtime.runtime import pallets_of

IMPORTS = {
    "Any": "from typing import Any",
    "Mapping": "from collections.abc import Mapping",
    "Sequence": "from collections.abc import Sequence",
    "values": "from cfnode.devchain.runtime import values",
    "EncodedAddress": "from cfnode.core.addresses import EncodedAddress",
    "ForeignAddress": "from cfnode.core.addresses import ForeignAddress",
    "Script": "from cfnode.core.addresses import Script",
    "RuntimeCall": "from cfnode.devchain.runtime.frame.calls import RuntimeCall",
    "RuntimeEvent": "from cfnode.devchain.runtime.frame.calls import RuntimeEvent",
    "Literal": "from typing import Literal",
}
Items = dict[tuple[type[object], str], list[Union]]


def storage_edits(classes: Classes) -> Iterator[tuple[Path, str]]:
    """Yield the modules that declare storage, with the types in brackets that the expressions give."""
    by_file: dict[Path, dict[tuple[str, str], str]] = {}
    for (owner, item), types in _types(classes).items():
        path = Path(inspect.getfile(owner))
        written = ", ".join(text(union, "values.") for union in types)
        by_file.setdefault(path, {})[owner.__qualname__, item] = written
    for path, type_texts in by_file.items():
        source = path.read_text()
        rewritten = _rewritten(source, type_texts)
        if ast.dump(ast.parse(rewritten)) != ast.dump(ast.parse(source)):
            yield path, rewritten


def _types(classes: Classes) -> Items:
    """Return the types of keys and value of each item, of all chains and releases together."""
    items: Items = {}
    for release in RELEASES.values():
        for kind in pallets_of(release):
            scope = {name: parse(target) for name, target in kind.names_in(release).items()}
            for name, declared in kind.storage_items.items():
                assert declared.owner is not None
                if not declared.item.span.covers(release):
                    continue
                unions = [
                    classes.of(substitute(parse(expression), scope), catalog_of(release))
                    for expression in (*declared.item.keys, declared.item.value)
                ]
                earlier = items.get((declared.owner, name), [()] * len(unions))
                items[declared.owner, name] = [merged(a, b) for a, b in zip(earlier, unions, strict=True)]
    return items


def _rewritten(source: str, wanted: dict[tuple[str, str], str]) -> str:
    tree, lines = ast.parse(source), source.encode().splitlines(keepends=True)
    edits = []
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for node in owner.body:
            match node:
                case ast.Assign([ast.Name(name)], ast.Call(function)) if (owner.name, name) in wanted:
                    base = function.value if isinstance(function, ast.Subscript) else function
                    assert isinstance(base, ast.Name)
                    edits.append((function, f"{base.id}[{wanted[owner.name, name]}]"))
    for node, replacement in sorted(edits, key=lambda edit: -edit[0].lineno):
        first, last = node.lineno - 1, (node.end_lineno or 0) - 1
        head, tail = lines[first][: node.col_offset], lines[last][node.end_col_offset or 0 :]
        lines[first : last + 1] = [head + replacement.encode() + tail]
    return _with_imports(b"".join(lines).decode(), tree)


def _with_imports(source: str, before: ast.Module) -> str:
    imported = {
        alias.asname or alias.name
        for node in ast.walk(before)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    missing = [line for name, line in IMPORTS.items() if name in names - imported]
    head = "from __future__ import annotations\n"
    return source.replace(head, head + "\n" + "\n".join(missing) + "\n", 1) if missing else source
