"""`cfnode config check`: all errors of a configuration file, each with its line and its key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.options import json_option
from cfnode.cli.output import print_json
from cfnode.cli.settings.checking import faults
from cfnode.cli.settings.file import ConfigSyntaxError, Fault, read_config

__all__ = ["check"]


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def check(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Check all names and types in FILE; fails with exit code 3 if it has errors."""
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    try:
        config = read_config(file)
    except ConfigSyntaxError as error:
        raise _failure([error.fault]) from None
    if errors := faults(config, root.command, root):
        raise _failure(errors)
    count = sum(1 for _ in _values(config.tables))
    if as_json:
        print_json({"file": str(file), "values": count})
    else:
        click.echo(f"{file} is correct: {count} values")


def _failure(errors: list[Fault]) -> Failure:
    rows = [{"line": fault.line, "key": fault.key, "message": fault.text} for fault in errors]
    text = "\n".join(map(str, errors))
    return Failure(text, ExitCode.CONFIGURATION, members={"file": str(errors[0].file), "errors": rows})


def _values(table: dict[str, Any]) -> list[Any]:
    return [
        leaf for value in table.values() for leaf in (_values(value) if isinstance(value, dict) else [value])
    ]
