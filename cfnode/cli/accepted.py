"""Which flags of the official node does cfnode accept without effect, and which does it refuse?

A flag without meaning here is accepted, so that a command line keeps working, and is listed in one warning at
start. A flag for a function that cfnode lacks is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

VALUED = (
    "--runtime-cache-size",
    "--trie-cache-size",
    "--warm-up-trie-cache",
    "--db-cache",
    "--database",
    "--wasm-execution",
    "--wasmtime-instantiation-strategy",
    "--wasm-runtime-overrides",
    "--wasmtime-precompiled",
    "--offchain-worker",
    "--enable-offchain-indexing",
    "--telemetry-url",
    "--network-backend",
    "--node-key-type",
    "--max-parallel-downloads",
    "--max-blocks-per-request",
    "--kademlia-replication-factor",
    "--tracing-targets",
    "--tracing-receiver",
    "--pool-type",
    "--tx-ban-seconds",
    "--experimental-rpc-endpoint",
)
SWITCHES = (
    "--no-telemetry",
    "--no-mdns",
    "--discover-local",
    "--kademlia-disjoint-query-paths",
    "--ipfs-server",
    "--no-hardware-benchmarks",
    "--disable-hardware-benchmarks",
    "--enable-log-reloading",
    "--detailed-log-output",
    "--enable-evm-rpc",
    "--force-authoring",
    "--no-grandpa",
    "--unsafe-force-node-key-generation",
)
NO_PASSWORDS = "passwords of key files are not supported; a secret URI may hold one (///password)"
REFUSED = {
    "--validator": "cfnode follows the chain and serves it; it is not a validator",
    "--password": NO_PASSWORDS,
    "--password-filename": NO_PASSWORDS,
    "--password-interactive": NO_PASSWORDS,
}
IGNORED_KEY = "cfnode.ignored_flags"


def note_ignored(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Record that the flag was given."""
    if value:
        ctx.meta.setdefault(IGNORED_KEY, []).append(param.opts[0])


def refuse(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """End with the flag and the reason, exit code 2."""
    if value:
        raise click.UsageError(f"{param.opts[0]}: {REFUSED[param.opts[0]]}", ctx)


def accepted_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: add the flags of this module to a command, hidden from its help."""
    for flag in reversed(VALUED):
        command = click.option(flag, hidden=True, expose_value=False, callback=note_ignored)(command)
    for flag in reversed(SWITCHES):
        command = click.option(flag, is_flag=True, hidden=True, expose_value=False, callback=note_ignored)(
            command
        )
    for flag in REFUSED:
        switch = flag in ("--validator", "--password-interactive")
        command = click.option(flag, is_flag=switch, hidden=True, expose_value=False, callback=refuse)(
            command
        )
    return command


def ignored_flags(ctx: click.Context) -> list[str]:
    """The accepted flags that were given, in order."""
    return list(ctx.meta.get(IGNORED_KEY, []))
