"""Play attacks on a node and print the figures; exit 1 if a limit is exceeded."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scripts.redteam_suite.figures import Result
from scripts.redteam_suite.load import Times
from scripts.redteam_suite.rows import ROWS, play


def arguments(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/redteam", description=__doc__)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help=f"Rows to play: {', '.join(ROWS)}. [default: all]"
    )
    parser.add_argument("--quick", action="store_true", help="Play each row for seconds instead of a minute.")
    parser.add_argument("--broker", action="store_true", help="Open 200 channels while attacks take turns.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write all figures to FILE.")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="Keep the nodes' files in DIR.")
    options = parser.parse_args(words)
    if unknown := [row for row in options.rows if row not in ROWS]:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    return options


def main(words: list[str]) -> int:
    """Play the chosen rows; print the table and return the exit code."""
    options = arguments(words)
    times = Times.quick() if options.quick else Times()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="cfnode-redteam-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.broker:
            from scripts.redteam_suite.broker import play_broker

            results.append(play_broker(folder, quick=options.quick))
        for row in [] if options.broker else options.rows or list(ROWS):
            print(f"{row}: {ROWS[row].attack} …", file=sys.stderr, flush=True)
            results.append(play(row, folder, times))
            _write(options.json, results)
    _write(options.json, results)
    show(results)
    return 0 if all(result.met for result in results) else 1


def _write(path: Path | None, results: list[Result]) -> None:
    if path is not None:
        path.write_text(json.dumps([result.as_json() for result in results], indent=1))


def show(results: list[Result]) -> None:
    """Print the table of results, and the last log lines of each missed row."""
    console = Console(width=160)
    for result in results:
        if result.log:
            console.print(
                f"row {result.row}, the node's last lines:\n{result.log}\n", markup=False, style="dim"
            )
    table = Table(
        "row", "attack", "measured (bound)", "", title="cfnode under attack, on this machine in one run"
    )
    table.columns[1].max_width = 40
    for result in results:
        lines = [f"{'' if figure.met else 'MISSED '}{figure}" for figure in result.figures]
        table.add_row(result.row, result.attack, ", ".join(lines), "met" if result.met else "MISSED")
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
