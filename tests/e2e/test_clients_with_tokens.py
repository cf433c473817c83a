"""A node that requires bearer tokens, and its clients: the SDK's, its subscriptions, every command."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.credentials import node_token
from cfnode.cli.settings.names import commands_below
from cfnode.sdk import AsyncSwapSDK, BadStatus, FillOrKillParams, RpcCallError, SwapSDK
from cfnode.sdk.networks import NETWORKS
from cfnode.sdk.subscriptions import subscription
from tests.process import NodeProcess, running_node
from tests.sdk.place import RECEIVER as EVM
from tests.sdk.place import REFUND
from tests.support.loops import LOOPS, Run

TOKENS = {name: f"token-of-{name}-0123456789abcdef" for name in ("watch", "shop", "ops")}
GROUPS = {"watch": "read", "shop": "broker", "ops": "broker,lp,admin"}
SWAP = ("BTC", "ETH", "0.1")
PROVIDER = "--lp-account=5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"
"""//Bob."""
COMMANDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("rpc",): ("system_name",),
    ("status",): (),
    ("wait",): ("--block=1", "--timeout=20"),
    ("inspect-runtime",): (),
    ("export-state",): ("--dev", "--output={folder}/state.json"),
    ("swap", "quote"): (*SWAP, "--backend={url}"),
    ("swap", "request"): (
        *(*SWAP, "--slippage=5", f"--to={EVM}", f"--refund={REFUND}"),
        *("--backend={url}", "--broker={url}"),
    ),
    ("swap", "status"): ("{channel}", "--backend={url}"),
    ("swap", "watch"): ("{done}", "--backend={url}"),
    ("recover",): ("--for={channel}", "--backend={url}"),
    ("ledger", "run"): ("--database=sqlite:///{folder}/books.sqlite", "--first-block=1", "--once"),
    ("ledger", "check"): ("--database=sqlite:///{folder}/books.sqlite",),
    ("service", "run"): ("--database=sqlite:///{folder}/books.sqlite", "--check"),
    ("lp", "register"): (),
    ("lp", "refund-address"): ("Ethereum", EVM),
    ("lp", "deposit"): ("ETH",),
    ("lp", "withdraw"): ("ETH", "0.01", EVM),
    ("lp", "balances"): (PROVIDER,),
    ("lp", "orders"): (PROVIDER,),
    ("lp", "book"): ("ETH",),
    ("lp", "set-limit"): ("ETH", "sell", "0.1", "--price=9000", "--id=1", PROVIDER),
    ("lp", "set-range"): ("ETH", "--tick", "-196600", "-195000", "--liquidity=1000000", "--id=2", PROVIDER),
    ("lp", "cancel"): ("ETH", "buy", PROVIDER),
    ("lp", "fills"): (PROVIDER,),
    ("dev", "seal"): (),
}
"""A command line of each command that calls a node; the commands of `dev` share one client."""
ENDS = {("recover",): 10, ("lp", "register"): 1}
"""The exit codes that are not 0: there is nothing to recover, and the account is registered already."""


@dataclass
class Place:
    """The node, and a file for each token."""

    node: NodeProcess
    folder: Path
    channel: str = ""
    done: str = ""

    def file(self, name: str) -> Path:
        """Return the file of a token."""
        return self.folder / name

    def run(self, path: tuple[str, ...], *flags: str, **variables: str) -> Result:
        """Return a command for this node."""
        values = {"url": self.node.url, "folder": self.folder, "channel": self.channel, "done": self.done}
        line = [*path, *(argument.format(**values) for argument in COMMANDS[path]), f"--node={self.node.url}"]
        network = ["--network=dev"] if path[0] in ("swap", "recover") else []
        return CliRunner().invoke(cli, [*line, *network, *flags], env=variables)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Yield a node whose every method needs a token; a channel of its broker, and a swap that is complete."""
    folder = tmp_path_factory.mktemp("place")
    for name, token in TOKENS.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(f"{token}\n")
    (folder / "all").touch(mode=0o600)
    (folder / "all").write_text("".join(f"{name} {GROUPS[name]} {TOKENS[name]}\n" for name in TOKENS))
    flags = ("--dev", "--dev-seal=instant", "--dev-broker=//Alice", "--dev-lp=//Bob")
    with running_node(folder, *flags, f"--rpc-auth-token-file={folder}/all") as node:
        new_place = Place(node, folder)
        with client(new_place, "ops", "ops") as sdk:
            assert new_place.run(("dev", "seal"), f"--token-file={new_place.file('ops')}").exit_code == 0
            fund_provider(new_place)
            new_place.channel = open_channel(sdk)
            new_place.done = open_channel(sdk, pays=True)
        for _ in range(8):
            assert new_place.run(("dev", "seal"), f"--token-file={new_place.file('ops')}").exit_code == 0
        yield new_place


def fund_provider(place: Place) -> None:
    """Fund the provider by a deposit."""

    def call(method: str, *params: str) -> Any:
        line = ["rpc", method, *params, f"--node={place.node.url}", f"--token-file={place.file('ops')}"]
        done = CliRunner().invoke(cli, line)
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    call("lp_register_liquidity_refund_address", "Ethereum", EVM)
    opened = call("lp_request_liquidity_deposit_address_v2", "ETH")
    call("dev_deposit", opened["response"]["deposit_address"], "ETH", hex(10**18))


def client(place: Place, node: str, broker: str) -> SwapSDK:
    """Return a client with the tokens of those lines."""
    url = place.node.url
    own = {"url": url, "token_file": place.file(broker)}
    return SwapSDK(network="dev", rpc_url=url, backend_url=url, rpc_token_file=place.file(node), broker=own)


def open_channel(sdk: SwapSDK, *, pays: bool = False) -> str:
    """Open a channel, pay into it if asked for, and return its id."""
    terms = FillOrKillParams(REFUND, 100, min_price="0")
    channel = sdk.request_deposit_address("Bitcoin", "BTC", "Ethereum", "ETH", EVM, 10_000_000, terms)
    if pays:
        sdk.dev_deposit(channel)
    return channel.deposit_channel_id


def test_every_command_that_calls_a_node_takes_a_token() -> None:
    """Offer a token to every command that calls a node, and play one of each here."""
    with click.Context(cli) as ctx:
        flags_by_path = {
            path: {opt for param in command.params for opt in param.opts}
            for path, command in commands_below(cli, ctx)
        }
    with_node = {path for path, flags in flags_by_path.items() if "--node" in flags}
    assert with_node == {path for path, flags in flags_by_path.items() if "--token-file" in flags}
    assert {path for path in with_node if path[0] != "dev"} | {("dev", "seal")} == set(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_command_sends_the_token_of_its_file(place: Place, path: tuple[str, ...]) -> None:
    """Send the token of a command's file, and print it nowhere."""
    done = place.run(path, f"--token-file={place.file('ops')}")
    assert done.exit_code == ENDS.get(path, 0), done.output
    assert "token" not in done.output


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_command_without_a_token_says_what_to_do(place: Place, path: tuple[str, ...]) -> None:
    """Say what to do without a token or with an unknown one, which is not repeated."""
    for variables in ({}, {"CFNODE_TOKEN": "an-unknown-token-0123456789"}):
        done = place.run(path, **variables)
        assert done.exit_code == 5, done.output
        assert "--token-file" in done.output
        assert "an-unknown-token" not in done.output


def test_the_more_explicit_source_of_a_token_counts(place: Place, tmp_path: Path) -> None:
    """Prefer the more explicit source of a token, and refuse a token within a configuration file."""
    watch, ops, unknown = (str(place.file(name)) for name in ("watch", "ops", "all"))
    path = ("rpc",)
    assert place.run(path, CFNODE_TOKEN_FILE=watch).exit_code == 0
    assert place.run(path, CFNODE_TOKEN=TOKENS["watch"], CFNODE_TOKEN_FILE=unknown).exit_code == 0
    assert place.run(path, f"--token-file={ops}", CFNODE_TOKEN="an-unknown-token-0123456789").exit_code == 0
    config = tmp_path / "config.toml"
    config.write_text(f'token-file = "{watch}"\n')
    assert place.run(path, f"--config={config}").exit_code == 0
    config.write_text('token = "0123456789abcdef0123456789"\n')
    done = place.run(path, f"--config={config}")
    assert (done.exit_code, "0123456789abcdef" in done.output) == (3, False)


def test_a_file_that_is_no_token_is_an_error_without_its_content(place: Place) -> None:
    """Refuse a file that is no token without a word of its content."""
    done = place.run(("rpc",), f"--token-file={place.file('all')}")
    assert done.exit_code == 3
    assert "--token-file: " in done.output
    assert "contains no bearer token; write the token alone" in done.output
    assert not any(token in done.output for token in TOKENS.values())


def test_a_method_that_the_token_does_not_open_names_the_group(place: Place) -> None:
    """Name the group that a method requires, in commands and the SDK."""
    done = place.run(("dev", "seal"), f"--token-file={place.file('watch')}")
    assert done.exit_code == 1
    assert "a token of the group admin is required" in done.output
    assert "give it by --token-file FILE, or set CFNODE_TOKEN" in done.output
    with client(place, "watch", "watch") as sdk, pytest.raises(RpcCallError) as refused:
        open_channel(sdk)
    assert "a token of the group broker is required" in refused.value.message


def test_a_token_of_the_environment_is_for_no_public_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the environment's token to no public node: it would leak there."""
    monkeypatch.setenv("CFNODE_TOKEN", TOKENS["ops"])
    assert node_token("http://127.0.0.1:9944") == TOKENS["ops"]
    for network in NETWORKS.values():
        assert (node_token(network.rpc_url) is None) is (network.name != "dev")


def test_a_token_for_a_public_node_is_refused(place: Place) -> None:
    """Refuse a token for a public node, and a broker's token without a broker."""
    line = ["swap", "quote", *SWAP, "--network=mainnet", f"--backend={place.node.url}"]
    done = CliRunner().invoke(cli, [*line, f"--token-file={place.file('watch')}"])
    assert (done.exit_code, "a public node gets no token" in done.output) == (2, True)
    done = CliRunner().invoke(cli, [*line, f"--broker-token-file={place.file('watch')}"])
    assert (done.exit_code, "--broker-token-file needs --broker URL" in done.output) == (2, True)


def test_node_and_broker_have_tokens_of_their_own(place: Place) -> None:
    """Send node and broker tokens of their own."""
    flags = (f"--broker-token-file={place.file('shop')}", "--json")
    done = place.run(("swap", "request"), *flags, f"--token-file={place.file('watch')}")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["depositChannelId"].split("-")[1] == "Bitcoin"


@LOOPS
def test_the_async_client_and_a_subscription_send_it(
    loop: Run, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """Send the token with the async client and a subscription, and log it nowhere."""
    caplog.set_level(logging.DEBUG)
    url = place.node.url

    async def scenario() -> None:
        options = {"network": "dev", "rpc_url": url, "backend_url": url}
        async with AsyncSwapSDK(**options, rpc_token_file=place.file("watch")) as sdk:
            assert (await sdk.get_swap_limits()).minimum_swap_amounts["Ethereum"]["ETH"] > 0
            assert await sdk.get_status_v2(place.channel)
        async with AsyncSwapSDK(**options) as sdk:
            with pytest.raises(BadStatus) as refused:
                await sdk.get_swap_limits()
        assert refused.value.status == 401
        async with subscription(url, "chain_subscribeNewHeads", token_file=place.file("watch")) as heads:
            assert "number" in await anext(heads)
        with pytest.raises(BadStatus) as refused:
            async with subscription(url.replace("http", "ws"), "chain_subscribeNewHeads"):
                raise AssertionError("refused above")
        assert refused.value.status == 401

    loop(scenario)
    assert not any(token in caplog.text + place.node.log for token in TOKENS.values())
