"""`cfnode recover`: the recovery of a failed transfer, in steps as far as the options allow.

The steps: fetch the payload, check its signature and that it is unused, describe it, build the transaction,
print its cost, ask, sign, send, wait. Each step may be the last: without an EVM node the payload is only
described, without a key the transaction is not sent. The logic is in `cfnode.sdk.recovery`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import json_option, timeout_option
from cfnode.cli.recover.choosing import choose, find_by_number
from cfnode.cli.recover.steps import Recovery
from cfnode.cli.recover.unlocking import Signer, key_file
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import (
    backend_option,
    client,
    eth_rpc_option,
    network_option,
    repeated_options,
    sdk_node_option,
)
from cfnode.cli.values import OneOf, Units, WholeNumber, atoms
from cfnode.cli.verbosity import is_verbose
from cfnode.core.assets import chains_of, gas_asset

_CHAINS = tuple(chain.lower() for chain in (*chains_of("evm"), *chains_of("tron")))


@click.command(
    epilog="Examples:  cfnode recover --for 6739624-Bitcoin-34009   |   "
    "cfnode recover ethereum 123 --eth-rpc https://… --key key.json   |   "
    "cfnode recover ethereum 123 --unsigned --eth-rpc https://… --from 0x…"
)
@click.argument("chain", type=OneOf(_CHAINS), required=False)
@click.argument("broadcast_id", type=WholeNumber(0, 2**32 - 1), required=False)
@click.option(
    "--for",
    "owner",
    metavar="OWNER",
    help="Find the call by the swap's depositChannelId or id, an address (of the receiver or the deposit), "
    "a transaction (of the deposit or the failed batch), or a State Chain account (cF…).",
)
@click.option(
    "--archive", metavar="URL", help="State Chain archive node, for blocks whose states --node has pruned."
)
@network_option
@backend_option
@sdk_node_option
@eth_rpc_option("Node of the EVM chain, to check the call and to send it.")
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Sender's key: keystore JSON (prompts for its password) or a file with the key in hex.",
)
@click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File whose first line is the keystore's password, instead of a prompt.",
)
@click.option(
    "--unsigned",
    is_flag=True,
    help="Print the transaction for another wallet: complete with --eth-rpc and --from, else the bare call.",
)
@click.option("--from", "sender", metavar="ADDRESS", help="Sending account, for --unsigned or --dry-run.")
@click.option(
    "--max-fee",
    type=Units(),
    metavar="AMOUNT",
    help="Maximum cost of the gas, in the chain's coin: above it, ask, and with --yes refuse.  [default: a "
    "tenth of the payment's value]",
)
@click.option("--dry-run", is_flag=True, help="Do everything except sign and send.")
@click.option("--replace", is_flag=True, help="Replace the sender's pending transaction of this call.")
@click.option("--yes", is_flag=True, help="Send without asking.")
@json_option
@timeout_option(300.0, minimum=1, text="Maximum seconds to wait for the receipt.")
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
    """Recover the failed transfer of BROADCAST_ID on CHAIN (ethereum, arbitrum, bsc; tron: the payload only).

    With --for, both may be left out.
    """
    options, report = Sending(**sending), dict[str, Any]()
    with (
        reported(report=report),
        client(network, node, backend) as sdk,
    ):
        _check(chain, broadcast_id, owner, archive, options, as_json)
        sender = _sender(options)
        signer = None if options.key is None else Signer(key_file(options.key), options.password_file)
        recovery = Recovery(sdk, options.eth_rpc, as_json, timeout, report)
        services = (
            ("--network", network),
            ("--node", node),
            ("--backend", backend),
            ("--eth-rpc", options.eth_rpc),
        )
        recovery.flags, recovery.owner = repeated_options(services), owner or ""
        recovery.archive = repeated_options([("--archive", archive)])
        recovery.is_verbose, recovery.is_unsigned = is_verbose(), options.unsigned
        recovery.prints_command = not (options.sends or options.unsigned)
        if owner is not None:
            recovery.explain_call(choose(recovery, owner, chain, archive))
        else:
            assert chain is not None and broadcast_id is not None
            _explain(recovery, chain, broadcast_id, archive)
        _proceed(recovery, options, signer, sender)


@dataclass(frozen=True)
class Sending:
    """Flags that decide what to do with the payload."""

    eth_rpc: str | None
    key: Path | None
    password_file: Path | None
    sender: str | None
    max_fee: Decimal | None
    unsigned: bool
    dry_run: bool
    replace: bool
    yes: bool

    @property
    def sends(self) -> bool:
        """Whether the command sends the transaction, if it is not declined."""
        return self.key is not None and not (self.dry_run or self.unsigned)

    @property
    def prompts(self) -> bool:
        """Whether the command prompts before it sends anything."""
        return self.sends and not self.yes


def _check(
    chain: str | None,
    broadcast_id: int | None,
    owner: str | None,
    archive: str | None,
    options: Sending,
    as_json: bool,
) -> None:
    """Raise Failure(USAGE) for options that contradict each other or miss another one."""
    is_tron = chain == "tron"
    rules = (
        (
            (broadcast_id is None) == (owner is None),
            "give CHAIN and BROADCAST_ID, or --for OWNER to find them",
        ),
        (archive and owner is None, "--archive needs --for OWNER"),
        (
            is_tron and (options.eth_rpc or options.key),
            "cfnode sends nothing on Tron: it prints the payload for a Tron wallet",
        ),
        (options.key and not options.eth_rpc, "--key needs --eth-rpc URL"),
        (options.key and options.sender, "--from names the sender without --key: leave one of them out"),
        (options.dry_run and not options.eth_rpc, "--dry-run needs --eth-rpc URL"),
        (options.replace and not options.eth_rpc, "--replace needs --eth-rpc URL"),
        (options.max_fee is not None and not options.eth_rpc, "--max-fee needs --eth-rpc URL"),
        (
            (options.dry_run or (options.unsigned and options.eth_rpc))
            and not (options.key or options.sender),
            "with --eth-rpc, --unsigned and --dry-run need --from ADDRESS (or --key)",
        ),
        (as_json and options.prompts, "--json does not prompt: add --yes, --dry-run or --unsigned"),
    )
    for is_broken, text in rules:
        if is_broken:
            raise CommandFailure(text, ExitCode.USAGE)


def _explain(recovery: Recovery, chain: str, number: int, archive: str | None) -> None:
    """Describe the call with that number; for a batch, the call of its failed transfer.

    A call that the State Chain has given up is searched, too: the vault may still take it.
    """
    from cfnode.sdk.recovery import Expired, IsBatch

    try:
        recovery.explain(chain, number)
    except (Expired, IsBatch) as error:
        recovery.explain_call(find_by_number(recovery, chain, number, archive, error))


def _proceed(recovery: Recovery, options: Sending, signer: Signer | None, sender: bytes | None) -> None:
    """Do as much with the payload as the flags request."""
    payload = recovery.failed.payload
    if payload.chain == "Tron" or (options.unsigned and options.eth_rpc is None):
        is_refused = options.key is not None and not options.unsigned
        recovery.offer(prints_report=not is_refused)
        if is_refused:
            raise CommandFailure("nothing was sent: send the call above from a Tron wallet", ExitCode.USAGE)
        return
    if options.eth_rpc is None:
        recovery.finish("Nothing was sent.")
        return
    address = sender if signer is None else signer.address()
    if address is None:
        recovery.finish("Nothing was sent. For another wallet: --unsigned --from ADDRESS.")
        return
    decimals = gas_asset(payload.chain).decimals
    max_fee = None if options.max_fee is None else atoms(options.max_fee, decimals, "--max-fee")
    transaction = recovery.prepare(
        address, max_fee, replace=options.replace, refuses=options.sends and options.yes
    )
    if options.unsigned:
        recovery.finish("Nothing was sent.", "transaction")
    elif signer is None or not options.sends or not (options.yes or _confirmed(recovery)):
        recovery.finish("Nothing was sent.")
    else:
        recovery.send(signer.wallet(), transaction)


def _confirmed(recovery: Recovery) -> bool:
    """Return whether the person wants the transaction to be sent; only `y` means so."""
    is_doubtful = bool(recovery.excess) or recovery.failed.is_on_its_way
    return click.confirm("Send it nevertheless?" if is_doubtful else "Send it?", default=False, err=True)


def _sender(options: Sending) -> bytes | None:
    """Return the 20 bytes of --from. Raise Failure, also for a wrong checksum: it is a typing error."""
    if options.sender is None:
        return None
    from cfnode.sdk import ValidationError
    from cfnode.sdk.recovery.owner import evm_address

    form = "--from takes an address of 0x and 40 hex digits"
    try:
        address = evm_address(options.sender)
    except ValidationError as error:
        raise CommandFailure(f"{form}: {error.message}", ExitCode.USAGE) from None
    if address is None:
        raise CommandFailure(f"{form}, not {options.sender!r:.90}", ExitCode.USAGE)
    return address.raw
