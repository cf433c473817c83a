"""Exit codes of the commands, and the error that ends a command with one.

A failure is reported by one line on standard error, and an exit code for scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import IO, Any

import click

from cfnode.cli.colours import marked
from cfnode.cli.verbosity import is_verbose
from cfnode.core.safe_text import without_controls


class ExitCode(IntEnum):
    """The exit codes; `docs/reference/exit-codes.md` lists them in a table."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    CONFIGURATION = 3
    STORE = 4
    NETWORK = 5
    NO_SUCH_CALL = 10
    EXPIRED = 11
    BEING_SIGNED = 12
    ALREADY_SENT = 13
    WRONG_CHAIN = 14
    KEY_ROTATED = 15
    NO_GAS_FUNDS = 16
    WOULD_REVERT = 17
    NEEDS_ARCHIVE = 18
    SEVERAL_CALLS = 19
    PENDING = 20
    BAD_PAYLOAD = 21
    TOO_EXPENSIVE = 22
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "success; also a node that stopped on SIGINT or SIGTERM",
    ExitCode.FAILURE: "failure; the line on standard error gives the reason",
    ExitCode.USAGE: "malformed command line: an unknown flag, a bad value, flags that exclude each other",
    ExitCode.CONFIGURATION: "a chain specification, key file or configuration file cannot be used as it is",
    ExitCode.STORE: "the base path or the database is in use, full, read-only, damaged, or foreign",
    ExitCode.NETWORK: "a port is in use, a node does not answer, or the time ran out",
    ExitCode.NO_SUCH_CALL: "recover: no failed call has that number or owner; the text gives the reason",
    ExitCode.EXPIRED: "recover: the payload has expired after its two epochs",
    ExitCode.BEING_SIGNED: "recover: the payload is being signed; try again in a minute",
    ExitCode.ALREADY_SENT: "recover: the vault has taken the call; the text says who has been paid",
    ExitCode.WRONG_CHAIN: "recover: the EVM node serves another chain, or other contracts",
    ExitCode.KEY_ROTATED: "recover: the contract holds another key than the signer's; try again later",
    ExitCode.NO_GAS_FUNDS: "recover: the sending account cannot pay the gas",
    ExitCode.WOULD_REVERT: "recover: contract, token or receiver would revert; the text gives the reason",
    ExitCode.NEEDS_ARCHIVE: "recover: the node has pruned the needed events; name an archive node",
    ExitCode.SEVERAL_CALLS: "recover: several calls match; the table (JSON: `candidates`) lists them",
    ExitCode.PENDING: "recover: the call or a transaction of the sender is pending (JSON: `pending`)",
    ExitCode.BAD_PAYLOAD: "recover: the payload is not a call of the vault, or not signed by the chain's key",
    ExitCode.TOO_EXPENSIVE: "recover: the gas may cost more than --max-fee, or a tenth of the payment",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C while waiting or prompting; by a second one while stopping",
}


class CommandFailure(click.ClickException):
    """Error that ends the command with `Error: <message>` and an exit code; for Ctrl-C the message alone.

    With `--json` it prints `{"error": {"code": <name>, "message": <message>}}`. `name` is by default that of
    the exit code; `members` are added to the inner object, `report` to the outer one. `raw` is a server's own
    text, which `--verbose` prints below the message.
    """

    def __init__(
        self,
        message: str,
        code: ExitCode = ExitCode.FAILURE,
        *,
        name: str | None = None,
        members: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
        raw: str = "",
    ) -> None:
        super().__init__(message)
        self.raw = raw if is_verbose() else ""
        self.exit_code = int(code)  # type: ignore[misc]  # click has one a class, we have one an error
        self.name = code.name if name is None else name
        self.members = dict(members or {})
        self.report = None if report is None else dict(report)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, and the server's own text where there is one, on standard error."""
        head = "" if self.exit_code == ExitCode.INTERRUPTED else f"{marked('Error:')} "
        click.echo(f"{head}{without_controls(self.message)}", err=True, file=file)
        if self.raw:
            click.echo(f"The server's text: {without_controls(self.raw)}", err=True, file=file)

    def to_json(self) -> dict[str, Any]:
        """Return the output of `--json`."""
        return {
            **(self.report or {}),
            "error": {"code": self.name, "message": self.message, **self.members},
        }
