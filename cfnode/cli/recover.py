"""`cfnode recover`: a failed transfer's funds, in one command.

Fetch the payload, check its signature and whether it was used, say what it does, build the transaction, show
what it costs, ask, sign, send, wait. Each step may be the last: without an EVM node the payload is explained,
without a key the transaction is not sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli import client
from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.recover_find import find
from cfnode.cli.recover_steps import Recovery
from cfnode.cli.sdk_errors import told_by_sdk

if TYPE_CHECKING:
    from cfnode.sdk.recovery import Wallet

_CHAINS = ("ethereum", "arbitrum", "tron")


@click.command(
    epilog="Examples:  cfnode recover ethereum 123   |   "
    "cfnode recover ethereum 123 --eth-rpc https://… --key key.json   |   "
    "cfnode recover arbitrum 7 --eth-rpc https://… --unsigned --from 0x…"
)
@click.argument("chain", type=click.Choice(_CHAINS, case_sensitive=False))
@click.argument("broadcast_id", type=click.IntRange(0, 2**32 - 1), required=False)
@click.option(
    "--for",
    "owner",
    metavar="OWNER",
    help="Find the broadcast: by the address to be paid, the swap's depositChannelId, id or transaction, "
    "or a State Chain account (cF…).",
)
@click.option(
    "--archive", metavar="URL", help="An archive node for --for, where --node has no states any more."
)
@click.option("--network", default="mainnet", show_default=True, help="Whose swap service --for may ask.")
@click.option("--backend", metavar="URL", help="A swap service for --for, in place of the network's own.")
@click.option(
    "--node", default=client.DEFAULT_URL, show_default=True, help="A State Chain node's HTTP address."
)
@click.option("--eth-rpc", metavar="URL", help="A node of the EVM chain: check there, and send.")
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The sender's key: keystore JSON (asks for its password) or a file with the key in hex.",
)
@click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file whose first line is the keystore's password, in place of the question.",
)
@click.option(
    "--unsigned",
    is_flag=True,
    help="Print the transaction for another wallet: with --eth-rpc and --from complete, else the bare call.",
)
@click.option("--from", "sender", metavar="ADDRESS", help="Who will send it, with --unsigned or --dry-run.")
@click.option("--dry-run", is_flag=True, help="Do everything but sign and send.")
@click.option("--yes", is_flag=True, help="Send without asking.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds for the receipt.",
)
def recover(
    chain: str,
    broadcast_id: int | None,
    owner: str | None,
    archive: str | None,
    network: str,
    backend: str | None,
    node: str,
    as_json: bool,
    timeout: float,
    **sending: Any,
) -> None:
    """Recover the failed transfer of BROADCAST_ID on CHAIN (ethereum, arbitrum; tron: the payload only)."""
    from cfnode.sdk import SwapSDK

    wish = Sending(**sending)
    with told_by_sdk(as_json), SwapSDK(network=network, rpc_url=node, backend_url=backend) as sdk:
        _check(chain, broadcast_id, owner, archive, wish, as_json)
        wallet = _wallet(wish)
        work = Recovery(sdk, wish.eth_rpc, as_json, timeout)
        number = find(sdk, chain, owner or "", archive) if broadcast_id is None else broadcast_id
        work.explain(chain, number)
        _take(work, wish, wallet)


@dataclass(frozen=True)
class Sending:
    """What is to be done with the payload, as the flags say it."""

    eth_rpc: str | None
    key: Path | None
    password_file: Path | None
    sender: str | None
    unsigned: bool
    dry_run: bool
    yes: bool

    @property
    def asks(self) -> bool:
        """Whether a person will be asked before anything is sent."""
        return self.key is not None and not (self.yes or self.dry_run or self.unsigned)


def _check(
    chain: str, broadcast_id: int | None, owner: str | None, archive: str | None, wish: Sending, as_json: bool
) -> None:
    """A command that could not do what it says does nothing: Failure(USAGE)."""
    rules = (
        ((broadcast_id is None) == (owner is None), "give BROADCAST_ID, or --for OWNER to find it"),
        (archive and owner is None, "--archive is where --for looks: add --for OWNER"),
        (chain == "tron" and (wish.eth_rpc or wish.key), "on tron the payload is shown, for a Tron wallet"),
        (wish.key and not wish.eth_rpc, "--key is for sending: it needs --eth-rpc URL"),
        (wish.key and wish.sender, "--from says who sends without --key"),
        (wish.dry_run and not wish.eth_rpc, "--dry-run needs --eth-rpc URL"),
        (
            (wish.dry_run or (wish.unsigned and wish.eth_rpc)) and not (wish.key or wish.sender),
            "with --eth-rpc, --unsigned and --dry-run need --from ADDRESS (or --key)",
        ),
        (as_json and wish.asks, "--json does not ask: add --yes, --dry-run or --unsigned"),
    )
    for is_broken, words in rules:
        if is_broken:
            raise Failure(words, ExitCode.USAGE)


def _take(work: Recovery, wish: Sending, wallet: Wallet | None) -> None:
    """Go as far with the payload as the flags say."""
    address = wallet.address if wallet else _address(wish.sender)
    if work.failed.payload.chain == "Tron" or (wish.unsigned and wish.eth_rpc is None):
        work.offer()
    elif wish.eth_rpc is None:
        work.finish("To check it on the chain and send it: --eth-rpc URL and --key FILE.")
    elif address is None:
        work.finish("To send it: --key FILE; for another wallet: --unsigned --from ADDRESS.")
    else:
        transaction = work.prepare(address)
        if wish.unsigned:
            work.finish("Nothing was sent.", "transaction")
        elif wallet is None or wish.dry_run or not (wish.yes or click.confirm("Send it?", err=True)):
            work.finish("Nothing was sent.")
        else:
            work.send(wallet, transaction)


def _wallet(wish: Sending) -> Wallet | None:
    if wish.key is None:
        return None
    from cfnode.sdk.recovery import Wallet

    def password() -> str:
        if wish.password_file is not None:
            return wish.password_file.read_text().splitlines()[0]
        return str(click.prompt("Password", hide_input=True, err=True))

    return Wallet.from_file(wish.key, password)


def _address(text: str | None) -> bytes | None:
    """The 20 bytes of an account; a wrong checksum is a mistake in typing."""
    if text is None:
        return None
    from cfnode.sdk.addresses import evm_account

    if (account := evm_account(text)) is None:
        raise Failure(f"--from takes an address of 0x and 40 hex digits, not {text!r}", ExitCode.USAGE)
    return account
