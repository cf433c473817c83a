"""Runner of the benchmarks: prints each figure next to its target; exits with 1 when one is missed.

A module of this package offers `run()`, which returns rows (name, measured, target, met); met is None where
the figure has no target, or its yardstick is not on this machine. A module with `LONG = True` runs by name
only. `--busy N` keeps N further processes busy meanwhile, as on a machine that others use too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules

from rich.console import Console
from rich.table import Table

import scripts.benchmarks

MAX_BUSY_S = 3 * 60 * 60
"""Seconds after which a busy process ends by itself."""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run so many processes that each keep a core busy."""
    program = f"import time; end = time.monotonic() + {MAX_BUSY_S}\nwhile time.monotonic() < end: pass"
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main(arguments: list[str]) -> int:
    """Run the named modules, or all; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure figures of cfnode.")
    parser.add_argument("modules", nargs="*", help="modules of scripts/benchmarks; all that are not long")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="with N busy processes running")
    options = parser.parse_args(arguments)
    with busy(options.busy):
        return measure(options.modules)


def measure(wanted: list[str]) -> int:
    """Run modules and print the table; return the exit code."""
    module_names = [
        info.name for info in iter_modules(scripts.benchmarks.__path__) if not info.name.startswith("_")
    ]
    unknown = [name for name in wanted if name not in module_names]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(module_names)}", file=sys.stderr)
        return 2
    missed = 0
    table = Table("figure", "measured", "target", "", title="cfnode, measured on this machine in one run")
    for name in wanted or module_names:
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
