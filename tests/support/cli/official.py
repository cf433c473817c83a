"""The flags of the official node in every spelling; `cfnode run` with them, without starting anything."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cfnode.cli import cli
from cfnode.cli.official.flags import Flag, Takes

__all__ = ["RUN", "parsed", "spellings"]

NODE = "/ip4/127.0.0.1/tcp/30333/p2p/12D3KooWFD3YMDyQocSQBAx6VCcUruYihi6xYufduzf321FnvvoY"
OTHER_NODE = "/dns/boot.example/tcp/30333/p2p/12D3KooWBKtzynqDDgZD7K8xqBPqUrZxi4rULABv6C1rzgpX3ySz"
VALUES: dict[str, tuple[str, ...]] = {
    "--chain": ("dev",),
    "--base-path": ("/nowhere",),
    "--keystore-path": ("/nowhere/keystore",),
    "--name": ("node-1",),
    "--rpc-cors": ("all",),
    "--rpc-rate-limit-whitelisted-ips": ("10.0.0.0/8", "192.168.1.1"),
    "--log": ("info", "grandpa=ERROR"),
    "--listen-addr": ("/ip4/127.0.0.1/tcp/0", "/ip6/::1/tcp/0/ws"),
    "--public-addr": ("/ip4/127.0.0.1/tcp/1", "/dns/a.example/tcp/2"),
    "--bootnodes": (NODE, OTHER_NODE),
    "--reserved-nodes": (NODE, OTHER_NODE),
    "--node-key": ("11" * 32,),
    "--node-key-file": ("/nowhere/key",),
    "--blocks-pruning": ("archive",),
    "--state-pruning": ("1000",),
    "--telemetry-url": ("wss://telemetry.example/submit 0",),
    "--key-type": ("lqpr",),
    "--network": ("polkadot",),
    "--experimental-rpc-endpoint": ("listen-addr=127.0.0.1:9944,methods=safe",),
}


def _run_command() -> click.Command:
    with click.Context(cli) as ctx:
        command = cli.get_command(ctx, "run")
    assert command is not None
    return command


RUN = _run_command()


def parsed(*arguments: str) -> click.Context:
    """Return the context of `cfnode run` with these arguments; nothing is started."""
    return RUN.make_context("run", list(arguments))


def cases(flag: Flag) -> tuple[str, ...]:
    """Return sample values of a flag, with those in other cases."""
    values = flag.values or VALUES.get(flag.name, ("7",))
    others = (case(value) for value in values for case in (str.upper, str.title))
    return (*values, *others) if flag.in_any_case else values


def spellings(flag: Flag) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (arguments, the values that they give) in each way of writing a flag."""
    for name in flag.spellings:
        if flag.takes is Takes.NOTHING:
            yield [name], []
            continue
        if flag.takes is Takes.OPTIONAL:
            yield [name], [flag.missing]
        for value in cases(flag):
            yield [name, value], [value]
            yield [f"{name}={value}"], [value]
            if name == flag.short:
                yield [f"{name}{value}"], [value]
        if flag.takes is Takes.SEVERAL:
            values = list(cases(flag))
            yield [name, *values], values
            yield [part for value in values for part in (name, value)], values
