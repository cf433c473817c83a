"""A refusal in the words of a server, which only `--verbose` prints, below what it means."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.verbosity import verbose_option

REPLACED = "\N{REPLACEMENT CHARACTER}"
MEANING = "Error: the node refused the call\n"


@pytest.mark.parametrize(
    ("line", "text"),
    [((), MEANING), (("--verbose",), f"{MEANING}The server's text: Module error,{REPLACED} index 3\n")],
)
def test_the_text_of_a_server_is_printed_on_demand(line: tuple[str, ...], text: str) -> None:
    """Print a server's own text only with --verbose, without its control characters."""

    @click.command
    @verbose_option
    def refused() -> None:
        raise CommandFailure("the node refused the call", ExitCode.NETWORK, raw="Module error,\x1b index 3")

    result = CliRunner().invoke(refused, line)
    assert (result.exit_code, result.stdout, result.stderr) == (ExitCode.NETWORK, "", text)
