"""The `cfnode` command group, which imports only the module of the requested command.

Importing takes most of a short command's time, so each command is in a module of its own; `--version` and
`--help` import none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode import __version__
from cfnode.cli.failures import ended
from cfnode.cli.groups import CommandGroup
from cfnode.cli.settings.option import JSON_FLAGS, WANTS_JSON, configured, leading_file

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "run": ("cfnode.cli.run:run", "Run a node: light-RPC, or a whole development chain with --dev."),
    "key": ("cfnode.cli.key:key", "Generate, inspect, insert and list keys."),
    "rpc": ("cfnode.cli.rpc:rpc", "Call one JSON-RPC method of a running node."),
    "dev": ("cfnode.cli.dev:dev", "Control a running development chain: deposits, prices, failures, time."),
    "swap": ("cfnode.cli.swap:swap", "Quote a swap, open its deposit channel, follow it."),
    "lp": ("cfnode.cli.lp:lp", "Deposits, balances, orders, fills and withdrawals of a liquidity provider."),
    "recover": ("cfnode.cli.recover:recover", "Recover the funds of a failed transfer."),
    "ledger": (
        "cfnode.cli.ledger:ledger",
        "Keep the books of what happens on the chain: channels, swaps, fees, payouts.",
    ),
    "service": (
        "cfnode.cli.service:service",
        "Serve quotes, statuses and channels to swap SDKs, from a node and the books.",
    ),
    "status": (
        "cfnode.cli.status:status",
        "Print the status of a node and its broker: sync, peers, finality, FLIP, channels.",
    ),
    "wait": ("cfnode.cli.wait:wait", "Wait until a node answers, is synced, or has reached a block."),
    "export-chain-spec": (
        "cfnode.cli.chain:export_chain_spec",
        "Print the chain specification as JSON.",
    ),
    "export-state": (
        "cfnode.cli.export_state:export_state",
        "Write a node's final state as a raw chain specification, to fork it.",
    ),
    "build-spec": (
        "cfnode.cli.build_spec:build_spec",
        "Replace the authorities of a chain specification, to author the chain on this machine.",
    ),
    "inspect-runtime": (
        "cfnode.cli.inspect_runtime:inspect_runtime",
        "Print the runtime of a chain specification or of a node.",
    ),
    "chain-info": (
        "cfnode.cli.chain_info:chain_info",
        "Print the first, the best and the last final block of a chain's database, as JSON.",
    ),
    "purge-chain": ("cfnode.cli.chain:purge_chain", "Delete a chain's database, but not its keys."),
    "config": ("cfnode.cli.config:config", "Print, check or begin a configuration file."),
    "completion": ("cfnode.cli.completion:completion", "Print the completion script of a shell."),
}
ALIAS = "chainflip-node"
"""The name of the official binary, under which this program is installed as well."""
COMPLETE = "_CFNODE_COMPLETE"
"""The variable by which a shell's script asks for completions; click derives this name from the program's."""
_OWN_FLAGS = ("-h", "--help", "-V", "--version")


class LazyGroup(CommandGroup):
    """A group with the names and one-line help of its commands, which imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return configured(command, (cmd_name,))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; raise UsageError with advice for one that only the official node has."""
        if args[0] not in COMMANDS:
            from cfnode.cli.official.subcommands import MISSING  # needed by few command lines

            if args[0] in MISSING:
                raise click.UsageError(f"cfnode has no command {args[0]!r}: {MISSING[args[0]]}.", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note whether `--json` is among the options, in case parsing them fails, and a leading `--config`.

        Flags alone mean `run`: the official binary takes its flags without a subcommand.
        """
        options = args[: args.index("--")] if "--" in args else args
        ctx.meta[WANTS_JSON] = not set(JSON_FLAGS).isdisjoint(options)
        arguments = leading_file(ctx, args)
        is_file_alone = bool(args) and not arguments and not ctx.resilient_parsing
        if is_file_alone or (arguments and arguments[0].startswith("-") and arguments[0] not in _OWN_FLAGS):
            arguments = ["run", *arguments]
        return super().parse_args(ctx, arguments)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the matching commands or flags; for a flag also those of `run`."""
        completions = super().shell_complete(ctx, incomplete)
        run = self.get_command(ctx, "run") if incomplete.startswith("-") else None
        return (
            completions
            if run is None
            else completions + run.shell_complete(click.Context(run, parent=ctx), incomplete)
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the one place that prints the errors of all commands."""
        with ended(lambda: bool(ctx.meta[WANTS_JSON])):
            try:
                return super().invoke(ctx)
            except click.UsageError as error:
                from cfnode.cli.usage import with_next_step  # needed by malformed command lines

                raise with_next_step(error, ctx) from None


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A light-RPC node for the Chainflip State Chain.\n\n"
    "\b\n"
    "A whole chain on this machine:   cfnode run --dev\n"
    "A node for a broker's front end: cfnode run --sync=light-rpc --chain=berghain",
    epilog="`cfnode COMMAND --help` explains a command. Flags alone mean `run`, as with the official node. "
    "Variables and a configuration file may set each flag: `cfnode config --help`.",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli() -> None:
    """Run the command that the first argument names."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process (exit codes: docs/reference/exit-codes.md)."""
    if COMPLETE in os.environ:
        import cfnode.cli.completion  # noqa: F401  # how bash separates the words of a line
    name = ALIAS if Path(sys.argv[0]).name == ALIAS else "cfnode"
    cli.main(None if arguments is None else list(arguments), prog_name=name)


__all__ = ["cli", "main"]
