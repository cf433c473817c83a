"""`cfnode run`: the Config of a node, read from its flags; `lifetime` runs the node."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cfnode.cli import logs
from cfnode.cli.accepted import accepted_flags, check_development, development_flags, ignored_flags
from cfnode.cli.contracts import contracts
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.failures import explained, logged
from cfnode.cli.flags import PEER_PORT, GroupedCommand, run_flags
from cfnode.cli.official.flags import EXCLUDING
from cfnode.cli.options import overrides
from cfnode.cli.settings.option import loaded_file
from cfnode.devchain.config import DevConfig
from cfnode.node.config import (
    MIB,
    Config,
    NetworkConfig,
    PrometheusConfig,
    PruningConfig,
    RpcConfig,
)


def rpc_config(options: dict[str, Any]) -> RpcConfig:
    """Return the RpcConfig of the flags that begin with --rpc-."""
    cors = options["rpc_cors"]
    return RpcConfig(
        port=options["rpc_port"],
        external=options["rpc_external"] or options["unsafe_rpc_external"],
        methods=options["rpc_methods"],
        cors=None if cors is None else listed([cors]),
        max_request_size=options["rpc_max_request_size"] * MIB,
        max_response_size=options["rpc_max_response_size"] * MIB,
        max_connections=options["rpc_max_connections"],
        max_subscriptions=options["rpc_max_subscriptions_per_connection"],
        message_buffer=options["rpc_message_buffer_capacity_per_connection"],
        max_batch=0 if options["rpc_disable_batch_requests"] else options["rpc_max_batch_request_len"],
        rate_limit=options["rpc_rate_limit"],
        rate_limit_whitelist=listed(options["rpc_rate_limit_whitelisted_ips"]),
        trust_proxy_headers=options["rpc_rate_limit_trust_proxy_headers"],
        trusted_proxies=listed(options["rpc_trusted_proxies"]),
        broker_clients=listed(options["rpc_broker_clients"]),
        allowed_hosts=listed(options["rpc_allowed_hosts"]),
        auth_token_file=options["rpc_auth_token_file"],
    )


def listed(values: Sequence[str]) -> tuple[str, ...]:
    """Return the entries of a flag that may be repeated, and whose values are lists with commas."""
    return tuple(entry.strip() for value in values for entry in value.split(",") if entry.strip())


def node_key(text: str | None) -> bytes | None:
    """Return the secret of --node-key, 32 bytes; the value is never repeated in an error."""
    if text is None:
        return None
    try:
        secret = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        secret = b""
    if len(secret) != 32:
        raise CommandFailure("--node-key: give 64 hex digits", ExitCode.USAGE)
    return secret


def network_config(options: dict[str, Any]) -> NetworkConfig:
    """Return the NetworkConfig of the flags about peers.

    A development chain listens on this machine alone unless a flag names a port or an address.
    """
    port = options["port"]
    local_addresses = (f"/ip4/127.0.0.1/tcp/{PEER_PORT}", f"/ip6/::1/tcp/{PEER_PORT}")
    return NetworkConfig(
        port=PEER_PORT if port is None else port,
        listen=options["listen_addr"] or (local_addresses if options["dev"] and port is None else ()),
        public=options["public_addr"],
        boot_nodes=options["bootnodes"],
        reserved_nodes=options["reserved_nodes"],
        reserved_only=options["reserved_only"],
        in_peers=options["in_peers"],
        in_peers_light=options["in_peers_light"],
        out_peers=options["out_peers"],
        private_addresses=options["private_ip"],
        node_key=node_key(options["node_key"]),
        node_key_file=options["node_key_file"],
    )


def dev_config(options: dict[str, Any]) -> DevConfig | None:
    """Return the DevConfig of the flags that begin with --dev; None without --dev."""
    if not options["dev"]:
        return None
    return DevConfig(
        seal=options["dev_seal"],
        block_time=options["dev_block_time"],
        start_time=options["dev_start_time"],
        finality_lag=options["dev_finality_lag"],
        authorities=options["dev_authorities"],
        silent=options["dev_silent"],
        epoch_blocks=options["dev_epoch_blocks"],
        rotate_keys=options["dev_rotate_keys"],
        runtime=options["dev_runtime"],
        state_entries=options["dev_state_entries"],
        contracts=contracts(options),
        **named_accounts(options),
    )


def named_accounts(options: dict[str, Any]) -> dict[str, str | None]:
    """Return the secrets of --dev-broker and --dev-lp. Raise Failure, also for the same account twice."""
    from cfnode.core.keys import Keypair

    broker = account_secret(options["dev_broker"], "Secret of the broker")
    provider = account_secret(options["dev_lp"], "Secret of the liquidity provider")
    accounts = [Keypair.from_suri(suri).account for suri in (broker, provider) if suri is not None]
    if len(set(accounts)) < len(accounts):
        text = "--dev-broker and --dev-lp name the same account, and an account has one role: name two"
        raise CommandFailure(text, ExitCode.USAGE)
    return {"broker_suri": broker, "provider_suri": provider}


def account_secret(source: str | None, prompt: str) -> str | None:
    """Return the secret of a signing account, from a URI or a file. Raise Failure."""
    from cfnode.cli.key.secret_input import read_secret  # needed by few command lines
    from cfnode.core.keys import Keypair

    if source is None:
        return None
    secret = read_secret(source, None, prompt=prompt)
    with explained():
        Keypair.from_suri(secret)
    return secret


def base_path(path: Path | None) -> Path:
    """Return the given base path, or the default one. Raise Failure."""
    from cfnode.store.base_path import default_base_path

    with explained():
        return path or default_base_path()


def config_from(options: dict[str, Any]) -> Config:
    """Return the whole command line, without the development chain, as one frozen Config."""
    prometheus = PrometheusConfig(options["prometheus_port"], options["prometheus_external"])
    return Config(
        base_path=base_path(options["base_path"]),
        chain=options["chain"] or ("dev" if options["dev"] else "berghain"),
        name=options["name"] or "cfnode",
        sync=options["sync"] or ("full" if options["dev"] else "light-rpc"),
        checkpoint=options["checkpoint"],
        temporary=options["tmp"],
        pruning=PruningConfig(options["blocks_pruning"], options["state_pruning"]),
        keystore_path=options["keystore_path"],
        pool_limit=options["pool_limit"],
        pool_bytes=options["pool_kbytes"] * 1024,
        runtime_instances=options["max_runtime_instances"],
        rpc=rpc_config(options),
        prometheus=None if options["no_prometheus"] else prometheus,
        network=network_config(options),
    )


def name_of(ctx: click.Context, options: dict[str, Any]) -> str | None:
    """Return the node's name: that of --name, or Alice with --alice."""
    name: str | None = options["name"]
    return name or ("Alice" if "--alice" in development_flags(ctx) else None)


def check_together(ctx: click.Context, options: dict[str, Any]) -> None:
    """Raise UsageError for flags that need or exclude each other."""
    default = click.core.ParameterSource.DEFAULT
    check_development(ctx, options["dev"])
    if not options["dev"]:
        for param in ctx.command.params:
            name = param.name or ""
            if name.startswith("dev_") and ctx.get_parameter_source(name) is not default:
                raise click.UsageError(f"{param.opts[0]} needs --dev: add it", ctx)
    if options["checkpoint"] and (options["dev"] or options["sync"] == "full"):
        raise click.UsageError(
            "--checkpoint needs a downloaded state: add --sync=light-rpc or --sync=warp", ctx
        )
    if options["tmp"] and options["base_path"] and not overrides(ctx, "tmp", "base_path"):
        raise click.UsageError("--tmp creates its own base path; leave --base-path out", ctx)
    if options["node_key"] and options["node_key_file"]:
        raise click.UsageError("give --node-key or --node-key-file, not both", ctx)


@click.command(
    cls=GroupedCommand,
    excluding=EXCLUDING,
    context_settings={"auto_envvar_prefix": "CFNODE"},
    epilog="Each flag can be an environment variable (CFNODE_RUN_RPC_PORT, or shorter CFNODE_RPC_PORT) and a "
    "key of a configuration file (`cfnode config example run`). Flags of the official node that have no "
    "meaning here are accepted with one warning.",
)
@run_flags
@accepted_flags
@click.pass_context
@verbatim_examples
def run(ctx: click.Context, /, **options: Any) -> None:
    r"""Run a node until Ctrl-C or SIGTERM.

    \b
    A development chain with a broker, ready for deposit channels:
      cfnode run --dev --dev-broker //Alice
    A light-RPC node for a broker's front end:
      cfnode run --chain berghain --sync=light-rpc --rpc-methods=safe
    """
    check_together(ctx, options)
    options["name"] = name_of(ctx, options)
    try:
        logs.set_up(
            options["log"],
            rust_log=os.environ.get("RUST_LOG", ""),
            colour=False if options["disable_log_color"] else None,
            form=options["log_format"],
        )
    except logs.LogFilterError as error:
        raise click.UsageError(str(error), ctx) from None
    from cfnode.cli.lifetime import run_until_stopped

    with logged(options["log_format"] == "json"):
        if (file := loaded_file(ctx)) is not None:
            logs.log.info("Configuration file: %s", file)
        run_until_stopped(config_from(options), dev_config(options), ignored_flags(ctx))
