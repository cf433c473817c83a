"""Write the classes of the chain's values, or (--check) report that they differ.

The development runtime declares its types once, in the notation of scale-info. Pallets handle values of them
as frozen dataclasses, which are written here into `cfnode/devchain/runtime/values`: one for a struct with
named fields, one for each variant with fields of an enum, whose name is the union of them. A variant without
fields is a string. What is declared for each chain or release is one class, its fields of all their types.

The types in brackets of storage declarations (`Map[bytes, int](…)`) are written from their expressions too.
`chain_families` names the types that have classes; values of all others are dicts and tuples.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "cfnode" / "devchain" / "runtime"
VALUES = RUNTIME / "values"
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "scripts"))


class _StandIn(ModuleType):
    """Module in place of the package that is written here, which may be missing or outdated."""

    FORMS: dict[str, Any] = {}  # noqa: RUF012

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self.FORMS[f"StandIn_{name}"] = type(name, (_Value,), {})
        setattr(self, name, made)
        return made


class _Value:
    """Value of any class."""

    def __init__(self, *values: Any, **named: Any) -> None:
        self.__dict__.update(named)

    def __class_getitem__(cls, arguments: Any) -> type:
        return cls


sys.modules["cfnode.devchain.runtime.values"] = _StandIn("cfnode.devchain.runtime.values")

from chain_families import FAMILIES  # noqa: E402
from chain_storage import storage_edits  # noqa: E402
from chain_types import Classes, PythonClass, PythonEnum  # noqa: E402

HEAD = '''"""Frozen dataclasses of the chain's values: {what}.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

'''
INIT = '''"""Frozen dataclasses of all of the chain's values, and the forms of their declared types.

There is a dataclass for each struct, and for each variant with fields of an enum, whose name is the union of
them. `FORMS` has the Python form of each declaration; each module has the forms of its own classes. Written
by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

'''


def main() -> None:
    """Write everything, or fail if something differs."""
    wanted = {VALUES / name: _formatted(text) for name, text in _modules(Classes(FAMILIES))}
    wanted |= {path: _formatted(text, path) for path, text in storage_edits(Classes(FAMILIES))}
    stale = [path for path in VALUES.glob("*.py") if path not in wanted]
    differing = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv and (stale or differing):
        names = ", ".join(str(path.relative_to(ROOT)) for path in (*stale, *differing))
        sys.exit(f"{names}: not what the declarations give; run scripts/chain_values.py")
    for path in stale:
        path.unlink()
    for path in differing:
        path.write_text(wanted[path])


def _modules(classes: Classes) -> Iterator[tuple[str, str]]:
    """Yield the modules of the package by file name: one for each family, and the package's own."""
    for family in FAMILIES:
        yield f"{family}.py", _family(classes, family)
    yield "__init__.py", _face(list(FAMILIES))


def _face(families: list[str]) -> str:
    """Return the text of the package's own module: all names, and the forms of all families."""
    imports = "from collections.abc import Mapping\n\nfrom cfnode.core.scale import PythonForm\n\n"
    imports += f"from . import {', '.join(families)}\n"
    imports += "".join(f"from .{family} import *  # noqa: F403\n" for family in families)
    rows = "".join(f"    **{family}.FORMS,\n" for family in families)
    return f"{INIT}{imports}\nFORMS: Mapping[str, PythonForm] = {{\n{rows}}}\n"


def _family(classes: Classes, family: str) -> str:
    """Return the text of a family's module."""
    parts, names = [], []
    for key in FAMILIES[family]:
        defined = classes.defined(key)
        if isinstance(defined, PythonEnum):
            parts += [*map(_class, defined.variants), f"{defined.name}: TypeAlias = {defined.union}\n"]
            names += [variant.name for variant in defined.variants]
        else:
            parts.append(_class(defined))
        names.append(defined.name)
    body = "\n\n".join(parts)
    variables = "".join(
        f'{name} = TypeVar("{name}", covariant=True)\n' for name in classes.variables(FAMILIES[family])
    )
    head = HEAD.format(what=family.replace("_", " "))
    head += f"{_imports(classes, family)}__all__ = {sorted(names)!r}\n\n"
    return f"{head}{variables}\n\n{body}\n\n{_forms(classes, family)}"


def _imports(classes: Classes, family: str) -> str:
    text = (
        "from collections.abc import Mapping, Sequence\nfrom dataclasses import dataclass\n"
        "from typing import Any, Generic, Literal, TypeAlias, TypeVar\n\n"
        "from cfnode.core.addresses import EncodedAddress, ForeignAddress, Script\n"
        "from cfnode.core.scale import PythonForm\n\n"
    )
    earlier = list(FAMILIES)[: list(FAMILIES).index(family)]
    for other, names in classes.used(family).items():
        if other not in earlier:
            sys.exit(f"{family} uses {', '.join(names)} of {other}, which has to come before it")
        text += f"from .{other} import {', '.join(names)}\n"
    return text


def _class(made: PythonClass) -> str:
    generic = f"(Generic[{', '.join(made.parameters)}])" if made.parameters else ""
    named = ", kw_only=True" if len(made.fields) > 1 else ""
    lines = [
        f"@dataclass(frozen=True, slots=True{named})",
        f"class {made.name}{generic}:",
        f'    """{made.doc}"""',
        "",
    ]
    lines += [f"    {name}: {text}" for name, text in made.fields]
    return "\n".join(lines) + "\n"


def _forms(classes: Classes, family: str) -> str:
    """Return the text of `FORMS`: the class of each declaration's values, for a family."""
    rows = []
    for declared, form in sorted(classes.forms(FAMILIES[family]).items()):
        if not isinstance(form, str):
            form = "{" + ", ".join(f'"{variant}": {name}' for variant, name in form.items()) + "}"
        rows.append(f'    "{declared}": {form},\n')
    return f"FORMS: Mapping[str, PythonForm] = {{\n{''.join(rows)}}}\n"


def _formatted(text: str, path: Path = VALUES / "new.py") -> str:
    """Return a text as ruff formats it, without unused imports."""
    for arguments in (["check", "--fix", "--select", "I,F401", "--quiet", "-"], ["format", "-"]):
        command = ["ruff", *arguments, "--stdin-filename", str(path)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
        text = done.stdout or sys.exit(f"{path.name}: {done.stderr}\n{text}")
    return text


if __name__ == "__main__":
    main()
