"""Run the benchmarks and print each figure next to its target; exit 1 when one is missed.

A module of this package offers `run()`, which gives rows (name, measured, target, met); met is None where the
figure has no target, or its yardstick is not on this machine. A module with `LONG = True` runs by name only.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules

from rich.console import Console
from rich.table import Table

import scripts.benchmarks


def main(wanted: list[str]) -> int:
    """Run the modules named, or all; the exit code."""
    known = [each.name for each in iter_modules(scripts.benchmarks.__path__) if not each.name.startswith("_")]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    missed = 0
    table = Table("figure", "measured", "target", "", title="cfnode, measured on this machine in one run")
    for name in wanted or known:
        module = import_module(f"scripts.benchmarks.{name}")
        if not wanted and getattr(module, "LONG", False):
            continue
        print(f"{name} …", file=sys.stderr, flush=True)
        for figure, measured, target, met in module.run():
            table.add_row(figure, measured, target, {True: "met", False: "MISSED", None: ""}[met])
            missed += met is False
    Console(width=140).print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
