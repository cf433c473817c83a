"""How a command ends: one line on standard error that names what was wrong, and an exit code for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import IO, Any

import click


class ExitCode(IntEnum):
    """The exit codes; `docs/reference/exit-codes.md` says the same in a table."""

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
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done; also a node that was asked to stop (SIGINT, SIGTERM) and did",
    ExitCode.FAILURE: "it failed; the line on standard error says why",
    ExitCode.USAGE: "the command line is wrong: an unknown flag, a bad value, flags that exclude each other",
    ExitCode.CONFIGURATION: "a chain specification or a key file cannot be used as it is",
    ExitCode.STORE: "the base path or the database: in use elsewhere, full, read-only, damaged, not ours",
    ExitCode.NETWORK: "a port is taken, a node does not answer, the time was up",
    ExitCode.NO_SUCH_CALL: "recover: nothing of that number or owner has failed; the text says why",
    ExitCode.EXPIRED: "recover: the payload's two epochs are over",
    ExitCode.BEING_SIGNED: "recover: the payload is being signed (anew); ask again in a minute",
    ExitCode.ALREADY_SENT: "recover: somebody has sent it; the receiver has been paid",
    ExitCode.WRONG_CHAIN: "recover: the EVM node serves another chain, or other contracts",
    ExitCode.KEY_ROTATED: "recover: another key signed than the contract holds; fetch it again later",
    ExitCode.NO_GAS_FUNDS: "recover: the sending account cannot pay the gas",
    ExitCode.WOULD_REVERT: "recover: the contract, the token or the receiver would refuse; the text says why",
    ExitCode.NEEDS_ARCHIVE: "recover: the node has forgotten the events that tell: name an archive node",
    ExitCode.SEVERAL_CALLS: "recover: several calls may be meant; the table (JSON: `candidates`) has them",
    ExitCode.PENDING: "recover: a transaction of the sender waits for its block (JSON: `pending`)",
    ExitCode.BAD_PAYLOAD: "recover: the node offers no call of the vault, or no key of the chain signed it",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C while it waited or asked, or a second one while a node ends",
}


class Failure(click.ClickException):
    """Ends the command with `Error: <message>` and the given exit code.

    With `--json` the same is an object: `{"error": {"code": <name>, "message": <message>}}`. `name` is that
    of the exit code unless given; `members` go into the inner object, those of `report` into the outer one.
    """

    def __init__(
        self,
        message: str,
        code: ExitCode = ExitCode.FAILURE,
        *,
        name: str | None = None,
        members: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.exit_code = int(code)  # type: ignore[misc]  # click has one a class, we have one an error
        self.name = code.name if name is None else name
        self.members = dict(members or {})
        self.report = None if report is None else dict(report)

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"Error: {self.message}", err=True, file=file)

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            **(self.report or {}),
            "error": {"code": self.name, "message": self.message, **self.members},
        }
