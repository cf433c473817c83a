"""`cfnode recover`: a failed transfer's funds, in one command.

Fetch the payload, check its signature and whether it was used, say what it does, build the transaction, show
what it costs, ask, sign, send, wait. Each step may be the last: without an EVM node the payload is explained,
without a key the transaction is not sent.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli import client
from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.recover_find import find
from cfnode.cli.sdk_errors import print_json, told_by_sdk

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import FailedCall, UnsignedTransaction, Wallet

_RECEIPT_PAUSE = 1.0
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
@click.option("--unsigned", is_flag=True, help="Print the transaction for another wallet; needs --from.")
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
    eth_rpc: str | None,
    key: Path | None,
    unsigned: bool,
    sender: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    timeout: float,
) -> None:
    """Recover the failed transfer of BROADCAST_ID on CHAIN (ethereum, arbitrum; tron: the payload only)."""
    if (broadcast_id is None) == (owner is None):
        raise Failure("give BROADCAST_ID, or --for OWNER to find it", ExitCode.USAGE)
    if as_json and key and not (yes or dry_run or unsigned):
        raise Failure("--json does not ask: add --yes, --dry-run or --unsigned", ExitCode.USAGE)
    if (unsigned or dry_run) and not (key or sender):
        raise Failure("--unsigned and --dry-run need --from ADDRESS (or --key)", ExitCode.USAGE)
    address = _address(sender) if sender else None
    from cfnode.sdk import SwapSDK

    with told_by_sdk(as_json), SwapSDK(network=network, rpc_url=node, backend_url=backend) as sdk:
        wallet = _wallet(key)
        work = _Recovery(sdk, eth_rpc, as_json, timeout)
        number = find(sdk, chain, owner or "", archive) if broadcast_id is None else broadcast_id
        work.explain(chain, number)
        address = wallet.address if wallet else address
        if eth_rpc is None or address is None or chain == "tron":
            work.finish(_hint(chain, eth_rpc))
            return
        transaction = work.prepare(address)
        if unsigned or dry_run or wallet is None:
            work.finish("Nothing was sent.", show_unsigned=unsigned)
        elif yes or click.confirm("Send it?", err=True):
            work.send(wallet, transaction)
        else:
            work.finish("Nothing was sent.")


class _Recovery:
    """The steps, and what `--json` will say of them."""

    def __init__(self, sdk: SwapSDK, eth_rpc: str | None, as_json: bool, timeout: float) -> None:
        self.sdk = sdk
        self.eth_rpc = eth_rpc
        self.as_json = as_json
        self.timeout = timeout
        self.report: dict[str, Any] = {}
        self.failed: FailedCall

    def say(self, text: str) -> None:
        """A line for people."""
        if not self.as_json:
            click.echo(text)

    def explain(self, chain: str, broadcast_id: int) -> None:
        """Fetch, check and describe the payload."""
        from cfnode.sdk.recovery import CheckContracts, FetchFailedCall, described, explained, for_tron

        self.failed = self.sdk.call(FetchFailedCall(chain, broadcast_id))
        self.report["payload"] = described(self.failed)
        for line in explained(self.failed):
            self.say(line)
        if self.eth_rpc is not None and chain != "tron":
            self.sdk.call(CheckContracts(self.failed, self.eth_rpc))
            self.say("The contracts on the chain accept the signature, and it has not been used.")
        else:
            self._check_key()
        if chain == "tron":
            self.report["tron"] = for_tron(self.failed.payload)

    def _check_key(self) -> None:
        from cfnode.sdk.recovery import KeyRotated

        if not self.failed.is_signed_by_current_key:
            raise KeyRotated(
                "key rotated: the payload is not signed by the State Chain's present key; it is being signed "
                "anew, so ask again in a minute"
            )
        self.say("The signature is the aggregate key's.")

    def prepare(self, sender: bytes) -> UnsignedTransaction:
        """Build the transaction and show what it costs."""
        from cfnode.sdk.recovery import PrepareTransaction
        from cfnode.sdk.recovery.words import units, unsigned

        assert self.eth_rpc is not None
        transaction = self.sdk.call(PrepareTransaction(self.failed, self.eth_rpc, sender))
        self.report["transaction"] = unsigned(transaction)
        self.report["highestCostWei"] = str(transaction.highest_cost)
        self.say(
            f"Sent by 0x{sender.hex()}, it takes up to {transaction.gas} gas and costs at most "
            f"{units(transaction.highest_cost, 18)} ETH."
        )
        return transaction

    def send(self, wallet: Wallet, transaction: UnsignedTransaction) -> None:
        """Sign, send once, wait for the receipt and say what became of it."""
        from cfnode.sdk.errors import TransportError
        from cfnode.sdk.recovery import SendTransaction

        assert self.eth_rpc is not None
        raw, identity = wallet.sign(transaction)
        self.report["hash"] = identity
        try:
            self.sdk.call(SendTransaction(raw, self.eth_rpc))
        except TransportError as error:
            raise Failure(
                f"{error.message}; it may have been sent, as {identity}", ExitCode.NETWORK
            ) from None
        self.say(f"Sent as {identity}.")
        self._receive(self._receipt(identity), wallet)

    def _receipt(self, identity: str) -> dict[str, Any]:
        from cfnode.cli.progress import waiting
        from cfnode.sdk.recovery import FetchReceipt

        assert self.eth_rpc is not None
        deadline = time.monotonic() + self.timeout
        with (
            told_by_sdk(self.as_json, f"interrupted; sent as {identity}, which may still come into a block"),
            waiting("waiting for a block", quiet=self.as_json),
        ):
            while (receipt := self.sdk.call(FetchReceipt(identity, self.eth_rpc))) is None:
                if time.monotonic() > deadline:
                    raise Failure(f"not in a block after {self.timeout:g} s: {identity}", ExitCode.NETWORK)
                time.sleep(_RECEIPT_PAUSE)
        return receipt

    def _receive(self, receipt: dict[str, Any], wallet: Wallet) -> None:
        from cfnode.sdk.recovery import PrepareTransaction, WouldRevert
        from cfnode.sdk.recovery.words import address_text, amount_text

        self.report["block"] = int(str(receipt["blockNumber"]), 16)
        self.report["gasUsed"] = int(str(receipt["gasUsed"]), 16)
        payload = self.failed.payload
        if int(str(receipt["status"]), 16) == 1:
            to = address_text(payload.chain, payload.transfer.recipient)
            paid = f"Done: {amount_text(payload)} paid to {to} in block {self.report['block']}"
            self.finish(f"{paid}, for {self.report['gasUsed']} gas.")
            return
        assert self.eth_rpc is not None
        self.sdk.call(PrepareTransaction(self.failed, self.eth_rpc, wallet.address))  # says why
        raise WouldRevert(
            "the transaction failed in its block, though it would go through now; the payload is still good, "
            "try again",
            "",
        )

    def finish(self, text: str, *, show_unsigned: bool = False) -> None:
        """The last words: the report as JSON, or a line."""
        if self.as_json:
            print_json(self.report)
            return
        for name in ("tron", "transaction") if show_unsigned or "tron" in self.report else ():
            if name in self.report:
                print_json(self.report[name])
        self.say(text)


def _wallet(key: Path | None) -> Wallet | None:
    if key is None:
        return None
    from cfnode.sdk.recovery import Wallet

    return Wallet.from_file(key, lambda: click.prompt("Password", hide_input=True, err=True))


def _address(text: str) -> bytes:
    digits = text.removeprefix("0x")
    try:
        if len(digits) == 40:
            return bytes.fromhex(digits)
    except ValueError:
        pass
    raise Failure(f"--from takes an address of 0x and 40 hex digits, not {text!r}", ExitCode.USAGE)


def _hint(chain: str, eth_rpc: str | None) -> str:
    if chain == "tron":
        return "Any Tron wallet that can trigger a contract takes the call above."
    if eth_rpc is None:
        return "To check it on the chain and send it: --eth-rpc URL and --key FILE."
    return "To send it: --key FILE; for another wallet: --unsigned --from ADDRESS."
