"""Which steps does a recovery take on the command line, and what does `--json` print about them?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.output import print_json, print_text
from cfnode.cli.sdk_errors import reported

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import FailedCall, Receipt, UnsignedTransaction, Wallet

__all__ = ["Recovery"]

_RECEIPT_PAUSE = 1.0
_MAYBE_PAID = "Without --eth-rpc it is not known whether the call has been sent already: it may be paid."


class Recovery:
    """The recovery of a failed call; prints each step.

    `eth_rpc` is None without an EVM node; `timeout` is in seconds, for the receipt; `report` is the output of
    `--json`, with or without an error.
    """

    def __init__(
        self, sdk: SwapSDK, eth_rpc: str | None, as_json: bool, timeout: float, report: dict[str, Any]
    ) -> None:
        self.sdk = sdk
        self.eth_rpc = eth_rpc
        self.as_json = as_json
        self.timeout = timeout
        self.report = report
        self.failed: FailedCall

    def say(self, text: str) -> None:
        """Print a line, unless the output is JSON."""
        if not self.as_json:
            print_text(text)

    def explain(self, chain: str, broadcast_id: int) -> None:
        """Fetch, check and describe the payload."""
        from cfnode.sdk.recovery import CheckContracts, FetchFailedCall, check_key, described, explained

        self.failed = self.sdk.call(FetchFailedCall(chain, broadcast_id))
        self.report["payload"] = described(self.failed)
        for line in explained(self.failed):
            self.say(line)
        if self.eth_rpc is not None and self.failed.payload.chain != "Tron":
            self.sdk.call(CheckContracts(self.failed, self.eth_rpc))
            self.say("The contracts on the chain accept the signature, and it has not been used.")
        else:
            check_key(self.failed)
            self.say("The signature is the aggregate key's.")
            self.say(_MAYBE_PAID)

    def offer(self) -> None:
        """Print the call for a wallet that adds gas, fees and nonce itself, in the format of its chain."""
        from cfnode.sdk.recovery import bare_call, bare_gas, for_tron

        payload = self.failed.payload
        if payload.chain == "Tron":
            self.report["tron"] = for_tron(payload)
            self.finish("Any Tron wallet that can trigger a contract takes the call above.", "tron")
        else:
            self.report["transaction"] = bare_call(payload)
            self.report["gas"], text = bare_gas(payload)
            self.finish(
                f"Any wallet takes the call above; it adds gas, fees and nonce. {text}", "transaction"
            )

    def prepare(self, sender: bytes, *, replace: bool) -> UnsignedTransaction:
        """Build the transaction and print its cost."""
        from cfnode.sdk.recovery import Pending, PrepareTransaction, address_text, coin, unsigned

        assert self.eth_rpc is not None
        payload = self.failed.payload
        try:
            found = self.sdk.call(PrepareTransaction(self.failed, self.eth_rpc, sender, replace=replace))
        except Pending as error:
            self.report["pending"] = [each.to_json() for each in error.transactions]
            raise
        self.report["transaction"] = unsigned(found)
        self.report["highestCostWei"] = str(found.highest_cost)
        if payload.gas_limit is not None and found.gas > payload.gas_limit:
            self.say(
                f"The call needs {found.estimate} gas, but the engines stop at its limit of "
                f"{payload.gas_limit}: the limit is not signed, so the transaction sends more gas."
            )
        self.say(
            f"The transaction of {address_text(payload.chain, sender)} takes up to {found.gas} gas and "
            f"costs at most {coin(found.highest_cost, payload.chain)}."
        )
        return found

    def send(self, wallet: Wallet, transaction: UnsignedTransaction) -> None:
        """Sign, send once, wait for the receipt and print the outcome."""
        raw, identity = wallet.sign(transaction)
        self.report["hash"] = identity
        maybe = f"it may have been sent, as {identity}"
        with reported(f"interrupted; {maybe}", self.report):
            self._submit(raw, identity)
        with reported(
            f"interrupted; sent as {identity}, which may still be included in a block", self.report
        ):
            receipt = self._receipt(identity)
        self._report_receipt(receipt, wallet)

    def _submit(self, raw: bytes, identity: str) -> None:
        """Send the transaction; if the answer is lost, the receipt decides."""
        from cfnode.sdk import RpcCallError, TransportError
        from cfnode.sdk.recovery import SendTransaction

        assert self.eth_rpc is not None
        try:
            self.sdk.call(SendTransaction(raw, self.eth_rpc))
        except TransportError as error:
            if not error.sent:
                raise Failure(f"{error.message}; nothing was sent", ExitCode.NETWORK) from None
            self.say(f"The node did not answer ({error.message}). It may have been sent, as {identity}.")
        except RpcCallError as error:
            error.message = f"{error.message}; the node refused the transaction {identity}"
            raise
        else:
            self.say(f"Sent as {identity}.")

    def _receipt(self, identity: str) -> Receipt:
        """The receipt, once it exists; a failed request to the EVM node is repeated."""
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
                    missing = "not in a block"
                except SdkError as error:
                    missing = error.message
                time.sleep(_RECEIPT_PAUSE)
        raise Failure(f"after {self.timeout:g} s: {missing}; it was sent as {identity}", ExitCode.NETWORK)

    def _report_receipt(self, receipt: Receipt, wallet: Wallet) -> None:
        from cfnode.sdk.recovery import CheckContracts, PrepareTransaction, WouldRevert, amount_text

        self.report |= {"block": receipt.block, "gasUsed": receipt.gas_used}
        payload = self.failed.payload
        if receipt.succeeded:
            paid = f"Done: {amount_text(payload)} paid to {payload.recipient_text} in block {receipt.block}"
            self.finish(f"{paid}, for {receipt.gas_used} gas.")
            return
        assert self.eth_rpc is not None
        self.sdk.call(CheckContracts(self.failed, self.eth_rpc))
        self.sdk.call(PrepareTransaction(self.failed, self.eth_rpc, wallet.address))  # raises the reason
        raise WouldRevert(
            f"the transaction {self.report['hash']} failed in block {receipt.block}, but it would succeed "
            "now; the payload is still valid, try again",
            "",
        )

    def finish(self, text: str, *parts: str) -> None:
        """Print the end: the report as JSON, or the named parts of it and a line."""
        if self.as_json:
            print_json(self.report)
            return
        for name in parts:
            print_json(self.report[name])
        self.say(text)
