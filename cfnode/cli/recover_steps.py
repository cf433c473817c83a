"""The steps of a recovery on the command line, and what `--json` says of them in the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.sdk_errors import print_json, told_by_sdk

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import FailedCall, Receipt, UnsignedTransaction, Wallet

__all__ = ["Recovery"]

_RECEIPT_PAUSE = 1.0


class Recovery:
    """A failed call on its way to its receiver, each step told as it is taken.

    `eth_rpc` is None where nothing is asked of the EVM chain; `timeout` is seconds for the receipt.
    """

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
        from cfnode.sdk.recovery import CheckContracts, FetchFailedCall, described, explained

        self.failed = self.sdk.call(FetchFailedCall(chain, broadcast_id))
        self.report["payload"] = described(self.failed)
        for line in explained(self.failed):
            self.say(line)
        if self.eth_rpc is not None:
            self.sdk.call(CheckContracts(self.failed, self.eth_rpc))
            self.say("The contracts on the chain accept the signature, and it has not been used.")
        else:
            self._check_key()

    def _check_key(self) -> None:
        from cfnode.sdk.recovery import KeyRotated

        if not self.failed.is_signed_by_current_key:
            raise KeyRotated(
                "key rotated: the payload is not signed by the State Chain's present key; it is being signed "
                "anew, so ask again in a minute"
            )
        self.say("The signature is the aggregate key's.")

    def offer(self) -> None:
        """The call for a wallet that adds gas, fees and nonce itself, in the form of its chain."""
        from cfnode.sdk.recovery import bare_call, for_tron

        payload = self.failed.payload
        if payload.chain == "Tron":
            self.report["tron"] = for_tron(payload)
            self.finish("Any Tron wallet that can trigger a contract takes the call above.", "tron")
        else:
            self.report["transaction"] = bare_call(payload)
            self.finish("Any wallet takes the call above; it adds gas, fees and nonce.", "transaction")

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
        maybe = f"it may have been sent, as {identity}"
        with told_by_sdk(self.as_json, f"interrupted; {maybe}"):
            try:
                self.sdk.call(SendTransaction(raw, self.eth_rpc))
            except TransportError as error:
                raise Failure(f"{error.message}; {maybe}", ExitCode.NETWORK) from None
        self.say(f"Sent as {identity}.")
        with told_by_sdk(self.as_json, f"interrupted; sent as {identity}, which may still come into a block"):
            receipt = self._receipt(identity)
        self._receive(receipt, wallet)

    def _receipt(self, identity: str) -> Receipt:
        """The receipt, once there is one; an EVM node that is gone for a moment is asked again."""
        from cfnode.cli.progress import waiting
        from cfnode.sdk import SdkError
        from cfnode.sdk.recovery import FetchReceipt

        assert self.eth_rpc is not None
        deadline, missing = time.monotonic() + self.timeout, "not in a block"
        with waiting("waiting for a block", quiet=self.as_json):
            while time.monotonic() < deadline:
                try:
                    if (receipt := self.sdk.call(FetchReceipt(identity, self.eth_rpc))) is not None:
                        return receipt
                except SdkError as error:
                    missing = error.message
                time.sleep(_RECEIPT_PAUSE)
        raise Failure(f"after {self.timeout:g} s: {missing}; it was sent as {identity}", ExitCode.NETWORK)

    def _receive(self, receipt: Receipt, wallet: Wallet) -> None:
        from cfnode.sdk.recovery import PrepareTransaction, WouldRevert
        from cfnode.sdk.recovery.words import address_text, amount_text

        self.report |= {"block": receipt.block, "gasUsed": receipt.gas_used}
        payload = self.failed.payload
        if receipt.succeeded:
            to = address_text(payload.chain, payload.transfer.recipient)
            paid = f"Done: {amount_text(payload)} paid to {to} in block {receipt.block}"
            self.finish(f"{paid}, for {receipt.gas_used} gas.")
            return
        assert self.eth_rpc is not None
        self.sdk.call(PrepareTransaction(self.failed, self.eth_rpc, wallet.address))  # says why
        raise WouldRevert(
            "the transaction failed in its block, though it would go through now; the payload is still good, "
            "try again",
            "",
        )

    def finish(self, text: str, *shown: str) -> None:
        """The last words: the report as JSON, or the parts of it that are `shown`, and a line."""
        if self.as_json:
            print_json(self.report)
            return
        for name in shown:
            print_json(self.report[name])
        self.say(text)
