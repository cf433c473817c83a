"""Generate docs/reference from the code, or (--check) report pages that differ from the code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
sys.path.insert(0, str(ROOT))


def commands(command: click.Command, path: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """(command line, its help) for a command and all below it."""
    with click.Context(
        command, info_name=path.rsplit(" ", 1)[-1], parent=parent, max_content_width=100
    ) as ctx:
        ctx.terminal_width = 100
        yield path, command.get_help(ctx)
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                below = command.get_command(ctx, name)
                assert below is not None
                yield from commands(below, f"{path} {name}", ctx)


def cli_page() -> str:
    """Every command's `--help`."""
    from cfnode.cli import cli

    parts = ["# Command line\n\nGenerated from `--help`.\n"]
    for path, text in commands(cli, "cfnode", None):
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"## {path}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def rpc_page() -> str:
    """Every JSON-RPC method with its parameters."""
    from cfnode.devchain.methods.rows import SECTION
    from cfnode.rpc.reference import page

    return page(SECTION)


def exit_codes_page() -> str:
    """What each exit code means."""
    from cfnode.cli.exits import MEANINGS, ExitCode

    rows = "\n".join(f"| {int(code)} | {MEANINGS[code]} |" for code in ExitCode)
    head = "# Exit codes\n\nGenerated from the code; every command ends with one of these.\n"
    return f"{head}\n| code | meaning |\n|---|---|\n{rows}\n"


def metrics_page() -> str:
    """Every metric with its type, labels, unit and help, as declared; the node exports no others."""
    from cfnode.node.metrics.declared import SECTIONS

    parts = [
        "# Metrics\n\nGenerated from the code. At `/metrics` on port 9615 (`--prometheus-port`) "
        "in Prometheus' text format. Every metric has the label `chain`, the id of "
        "the chain specification, except those of the process. A histogram `name` has the series "
        "`name_bucket`, `name_sum` and `name_count`.\n"
    ]
    for section in SECTIONS:
        rows = "\n".join(
            f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} "
            f"| {each.unit} | {each.text} |"
            for each in section.metrics
        )
        head = "| name | type | labels | unit | meaning |\n|---|---|---|---|---|"
        parts.append(f"## {section.title}\n\n{section.condition}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


WRITERS: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "rpc.md": rpc_page,
    "exit-codes.md": exit_codes_page,
    "metrics.md": metrics_page,
}


def main(check: bool) -> int:
    """Write all pages; with `check`, only compare. The exit code."""
    stale = []
    for name, write in WRITERS.items():
        page = PAGES / name
        text = write()
        if check and (not page.exists() or page.read_text() != text):
            stale.append(name)
        elif not check:
            page.write_text(text)
    if stale:
        print(f"docs/reference: {', '.join(stale)} differ from the code; run python scripts/reference.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
