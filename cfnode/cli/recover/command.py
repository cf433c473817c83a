"""What does a person type to recover a failed transfer, and how far does the command go?

Fetch the payload, check its signature and whether it was used, say what it does, build the transaction, say
what it costs, ask, sign, send, wait. Each step may be the last: without an EVM node the payload is explained,
without a key the transaction is not sent. The logic is in `cfnode.sdk.recovery`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.options import json_option, timeout_option
from cfnode.cli.recover.choosing import choose, find_batch
from cfnode.cli.recover.steps import Recovery
from cfnode.cli.recover.unlocking import Signer, key_file
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import backend_option, network_option, sdk_node_option
from cfnode.cli.values import OneOf

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK

_CHAINS = ("ethereum", "arbitrum", "tron")


@click.command(
    epilog="Examples:  cfnode recover --for 6739624-Bitcoin-34009   |   "
    "cfnode recover ethereum 123 --eth-rpc https://… --key key.json   |   "
    "cfnode recover arbitrum 7 --eth-rpc https://… --unsigned --from 0x…"
)
@click.argument("chain", type=OneOf(_CHAINS), required=False)
@click.argument("broadcast_id", type=click.IntRange(0, 2**32 - 1), required=False)
@click.option(
    "--for",
    "owner",
    metavar="OWNER",
    help="Find the call: by the swap's depositChannelId or id, an address (the receiver's, the deposit's), "
    "a transaction (the deposit's, or of the batch that failed), or a State Chain account (cF…).",
)
@click.option(
    "--archive", metavar="URL", help="A State Chain archive node, for what --node has no states of."
)
@network_option
@backend_option
@sdk_node_option
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
@click.option(
    "--from", "sender", metavar="ADDRESS", help="The sending account, with --unsigned or --dry-run."
)
@click.option("--dry-run", is_flag=True, help="Do everything but sign and send.")
@click.option("--replace", is_flag=True, help="Replace the sender's pending transaction of this call.")
@click.option("--yes", is_flag=True, help="Send without asking.")
@json_option
@timeout_option(300.0, least=1, text="Seconds for the receipt.")
def recover(
    chain: str | None,
    broadcast_id: int | None,
    owner: str | None,
    archive: str | None,
    network: str,
    backend: str | None,
    node: str | None,
    as_json: bool,
    timeout: float,
    **sending: Any,
) -> None:
    """Recover the failed transfer of BROADCAST_ID on CHAIN (ethereum, arbitrum; tron: the payload only).

    With --for, both may be left out.
    """
    from cfnode.sdk import SwapSDK

    wish, report = Sending(**sending), dict[str, Any]()
    with (
        reported(report=report),
        SwapSDK(network=network, rpc_url=node, backend_url=backend) as sdk,
    ):
        _check(chain, broadcast_id, owner, archive, wish, as_json)
        sender = _sender(wish)
        signer = None if wish.key is None else Signer(key_file(wish.key), wish.password_file)
        work = Recovery(sdk, wish.eth_rpc, as_json, timeout, report)
        if owner is not None:
            chain, broadcast_id = choose(work, owner, chain, archive)
        assert chain is not None and broadcast_id is not None
        _explain(work, sdk, chain, broadcast_id, archive)
        _take(work, wish, signer, sender)


@dataclass(frozen=True)
class Sending:
    """What is to be done with the payload, as the flags say it."""

    eth_rpc: str | None
    key: Path | None
    password_file: Path | None
    sender: str | None
    unsigned: bool
    dry_run: bool
    replace: bool
    yes: bool

    @property
    def asks(self) -> bool:
        """Whether a person will be asked before anything is sent."""
        return self.key is not None and not (self.yes or self.dry_run or self.unsigned)


def _check(
    chain: str | None,
    broadcast_id: int | None,
    owner: str | None,
    archive: str | None,
    wish: Sending,
    as_json: bool,
) -> None:
    """A command that could not do what it says does nothing: Failure(USAGE)."""
    is_tron = chain == "tron"
    rules = (
        (
            (broadcast_id is None) == (owner is None),
            "give CHAIN and BROADCAST_ID, or --for OWNER to find them",
        ),
        (archive and owner is None, "--archive is where --for looks: add --for OWNER"),
        (is_tron and (wish.eth_rpc or wish.key), "on tron the payload is printed, for a Tron wallet"),
        (wish.key and not wish.eth_rpc, "--key is for sending: it needs --eth-rpc URL"),
        (wish.key and wish.sender, "--from says who sends without --key"),
        (wish.dry_run and not wish.eth_rpc, "--dry-run needs --eth-rpc URL"),
        (wish.replace and not wish.eth_rpc, "--replace needs --eth-rpc URL"),
        (
            (wish.dry_run or (wish.unsigned and wish.eth_rpc)) and not (wish.key or wish.sender),
            "with --eth-rpc, --unsigned and --dry-run need --from ADDRESS (or --key)",
        ),
        (as_json and wish.asks, "--json does not ask: add --yes, --dry-run or --unsigned"),
    )
    for is_broken, words in rules:
        if is_broken:
            raise Failure(words, ExitCode.USAGE)


def _explain(work: Recovery, sdk: SwapSDK, chain: str, number: int, archive: str | None) -> None:
    """Explain the call of that number; a batch leads to the call of its failed transfer."""
    from cfnode.sdk.recovery import IsBatch

    try:
        work.explain(chain, number)
    except IsBatch as batch:
        work.explain(*find_batch(work, chain, number, archive, batch))


def _take(work: Recovery, wish: Sending, signer: Signer | None, sender: bytes | None) -> None:
    """Go as far with the payload as the flags say."""
    payload = work.failed.payload
    if payload.chain == "Tron" or (wish.unsigned and wish.eth_rpc is None):
        work.offer()
        return
    if wish.eth_rpc is None:
        work.finish("To check it on the chain and send it: --eth-rpc URL and --key FILE.")
        return
    address = sender if signer is None else signer.address()
    if address is None:
        work.finish("To send it: --key FILE; for another wallet: --unsigned --from ADDRESS.")
        return
    transaction = work.prepare(address, replace=wish.replace)
    if wish.unsigned:
        work.finish("Nothing was sent.", "transaction")
    elif signer is None or wish.dry_run or not (wish.yes or click.confirm("Send it?", err=True)):
        work.finish("Nothing was sent.")
    else:
        work.send(signer.wallet(), transaction)


def _sender(wish: Sending) -> bytes | None:
    """The 20 bytes of --from; a wrong checksum is a mistake in typing."""
    if wish.sender is None:
        return None
    from cfnode.sdk import ValidationError
    from cfnode.sdk.recovery.owner import evm_address

    form = "--from takes an address of 0x and 40 hex digits"
    try:
        found = evm_address(wish.sender)
    except ValidationError as error:
        raise Failure(f"{form}: {error.message}", ExitCode.USAGE) from None
    if found is None:
        raise Failure(f"{form}, not {wish.sender!r:.90}", ExitCode.USAGE)
    return found.raw
