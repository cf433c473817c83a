"""Steps of a recovery on the command line, and the report that `--json` prints about them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.output import print_json, print_text
from cfnode.cli.sdk_errors import reported

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import Confirmation, FailedCall, Payload, Receipt, UnsignedTransaction, Wallet

__all__ = ["Recovery"]

_RECEIPT_POLL_S = 1.0
_ANY_FEE_WEI = 2**256 - 1
"""Maximum fee in wei, for a transaction that is not sent."""
_CHECKED = (
    "The contracts on the chain accept the signature, and it has not been used.",
    "In a simulation the call succeeds.",
)
_UNASKED = (
    "The signature is the aggregate key's.",
    "Without --eth-rpc this command cannot check whether the call was already sent and paid.",
)


class Recovery:
    """Recovery of a failed call, which prints each step.

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
        self.flags: tuple[str, ...] = ()
        """The options with which a printed command uses the same services."""
        self.owner = ""
        """The value of --for; "" for a call that was chosen by its number."""
        self.archive: tuple[str, ...] = ()
        """The option of the archive node with which a printed command finds the owner's call again."""
        self.is_verbose = False
        self.is_unsigned = False
        self.prints_command = True
        """Whether to print the command that sends the call: not if this command sends or prints the call."""
        self.failed: FailedCall
        self._is_sent = False
        self.excess = ""
        """Why the transaction may cost too much; "" for one that does not."""

    def say(self, text: str) -> None:
        """Print a line, unless the output is JSON."""
        if not self.as_json:
            print_text(text)

    def explain(self, chain: str, broadcast_id: int) -> None:
        """Fetch, check and describe the payload of a call on offer."""
        from cfnode.sdk.recovery import FetchFailedCall

        self._explain(self.sdk.call(FetchFailedCall(chain, broadcast_id)))

    def explain_call(self, call: Payload) -> None:
        """Check and describe a call that was found; one on offer is fetched with its deadline."""
        from cfnode.sdk.recovery import FetchKeys

        if call.is_offered:
            self.explain(call.chain.lower(), call.broadcast_id)
        else:
            self._explain(self.sdk.call(FetchKeys(call)))

    def _explain(self, failed: FailedCall) -> None:
        from cfnode.sdk.recovery import (
            BadPayload,
            CheckContracts,
            RecoveryError,
            SimulateCall,
            check_key,
            described,
            explained,
            underway,
            unlisted,
        )

        self.failed, payload = failed, failed.payload
        self.report["payload"] = described(failed)
        asks, left_out = self.eth_rpc is not None and payload.chain != "Tron", tuple[str, ...]()
        try:
            if asks and self.eth_rpc is not None:
                self.sdk.call(CheckContracts(failed, self.eth_rpc))
                left_out = self.sdk.call(SimulateCall(failed, self.eth_rpc))
            else:
                check_key(failed)
        except BadPayload:
            raise
        except RecoveryError:
            self._say_summary()
            raise
        self._say_summary()
        self._say_command()
        if left_out:
            self.report["leftOut"] = list(left_out)
        details = explained(failed) if self.is_verbose else ()
        for line in (
            *(f"Warning: {text}." for text in left_out),
            *underway(failed),
            *unlisted(failed),
            *details,
            *(_CHECKED if asks else _UNASKED),
        ):
            self.say(line)

    def _say_summary(self) -> None:
        from cfnode.cli.tables import print_record
        from cfnode.sdk.recovery import summary

        if not self.as_json:
            print_record(summary(self.failed))

    def _say_command(self) -> None:
        """Print the command that sends the call, complete but for what only the sender knows."""
        from cfnode.cli.tables import print_command

        payload = self.failed.payload
        if not self.prints_command or payload.chain == "Tron":
            return
        by_owner = self.owner and self._words("--for", self.owner, *self.archive)  # which of a batch it is
        has_own_number = payload.broadcast_id and payload.is_offered
        command = by_owner if by_owner and not has_own_number else self._by_number(payload)
        command = f"{command}{'' if self.eth_rpc else ' --eth-rpc=URL'} --key=FILE"
        self.report["command"] = command
        if not self.as_json:
            print_command("\nSend it", command)
            self.say("")

    def command(self, payload: Payload) -> str | None:
        """Return the command that selects a call by its number; None for one without."""
        return self._by_number(payload) if payload.broadcast_id else None

    def _by_number(self, payload: Payload) -> str:
        return self._words(payload.chain.lower(), str(payload.broadcast_id))

    def _words(self, *words: str) -> str:
        return " ".join(("cfnode recover", *words, *self.flags))

    def offer(self, *, prints_report: bool) -> None:
        """Print the call for a wallet that adds gas, fees and nonce itself, in the format of its chain."""
        from cfnode.sdk.recovery import bare_call, bare_gas, for_tron

        payload = self.failed.payload
        if payload.chain == "Tron":
            self.report["tron"] = for_tron(payload)
            text, name = "Any Tron wallet that can trigger a contract takes the call above.", "tron"
        else:
            self.report["transaction"] = bare_call(payload)
            self.report["gas"], advice = bare_gas(payload)
            text = f"Any wallet takes the call above; it adds gas, fees and nonce. {advice}"
            name = "transaction"
        self.finish(text, name, prints_report=prints_report)

    def prepare(
        self, sender: bytes, max_fee: int | None, *, replace: bool, refuses: bool
    ) -> UnsignedTransaction:
        """Build the transaction and print its cost.

        With `refuses`, one that costs too much is an error, and one whose call is on its way already.
        """
        from cfnode.sdk.recovery import address_text, coin, underway, unsigned, wallet_fields

        if refuses and self.failed.is_on_its_way:
            raise CommandFailure(f"{' '.join(underway(self.failed))} Nothing was sent.", ExitCode.PENDING)
        transaction = self._prepared(sender, max_fee, replace=replace)
        self.report["transaction"] = unsigned(transaction)
        self.report["highestCostWei"] = str(transaction.highest_cost)
        if self.excess and refuses:
            raise CommandFailure(f"{self.excess}; nothing was sent", ExitCode.TOO_EXPENSIVE)
        payload = self.failed.payload
        if payload.gas_limit is not None and (transaction.estimate or 0) > payload.gas_limit:
            self.say(
                f"The call needs {transaction.estimate} gas, but the engines stop at its limit of "
                f"{payload.gas_limit}: the limit is not signed, so the transaction sends more gas."
            )
        self.say(
            f"The transaction of {address_text(payload.chain, sender)} takes up to {transaction.gas} gas and "
            f"costs at most {coin(transaction.highest_cost, payload.chain)}."
        )
        if self.is_unsigned:
            self.say(wallet_fields(transaction))
        if self.excess:
            self.report["tooExpensive"] = self.excess
            self.say(f"Warning: {self.excess}.")
        return transaction

    def _prepared(self, sender: bytes, max_fee: int | None, *, replace: bool) -> UnsignedTransaction:
        """Return the transaction; set `excess` if it may cost too much."""
        from cfnode.sdk.recovery import Pending, PrepareTransaction, TooExpensive

        assert self.eth_rpc is not None
        try:
            return self.sdk.call(
                PrepareTransaction(self.failed, self.eth_rpc, sender, replace=replace, max_fee=max_fee)
            )
        except Pending as error:
            self.report["pending"] = [transaction.to_json() for transaction in error.transactions]
            raise
        except TooExpensive as error:
            self.excess = f"{error.message} (--max-fee AMOUNT allows more)"
            return error.transaction

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
            receipt, confirmation = self._receipt(identity, wallet.address, transaction.nonce)
        self._report_receipt(receipt, confirmation, wallet)

    def _submit(self, raw: bytes, identity: str) -> None:
        """Send the transaction; if the answer is lost, the receipt decides."""
        from cfnode.sdk import RpcCallError, TransportError
        from cfnode.sdk.recovery import SendTransaction

        assert self.eth_rpc is not None
        try:
            self.sdk.call(SendTransaction(raw, self.eth_rpc))
        except TransportError as error:
            if not error.sent:
                raise CommandFailure(
                    f"{error.message}; nothing was sent", ExitCode.NETWORK, name=error.code
                ) from None
            self.say(f"The node did not answer ({error.message}). It may have been sent, as {identity}.")
        except RpcCallError as error:
            error.message = f"{error.message}; the node refused the transaction {identity}"
            raise
        else:
            self._is_sent = True
            self.say(f"Sent as {identity}.")

    def _receipt(self, identity: str, sender: bytes, nonce: int) -> tuple[Receipt, Confirmation]:
        """Return the receipt, once the chain agrees with it.

        A failed request to the EVM node is repeated.
        """
        from cfnode.cli.progress import waiting
        from cfnode.sdk import SdkError
        from cfnode.sdk.recovery import ConfirmReceipt, FetchReceipt

        assert self.eth_rpc is not None
        deadline, missing = time.monotonic() + self.timeout, "not in a block"
        with waiting("waiting for a block", quiet=self.as_json):
            while True:
                try:
                    receipt = self.sdk.call(FetchReceipt(identity, self.eth_rpc))
                    missing = "not in a block"
                    if receipt is not None:
                        check = ConfirmReceipt(self.failed, receipt, identity, sender, nonce, self.eth_rpc)
                        confirmation = self.sdk.call(check)
                        if confirmation.doubt is None:
                            return receipt, confirmation
                        missing = confirmation.doubt
                except SdkError as error:
                    missing = error.message
                if (time_left := deadline - time.monotonic()) <= 0:
                    break
                time.sleep(min(_RECEIPT_POLL_S, time_left))
        sent_text = "it was sent" if self._is_sent else "it may have been sent"
        text = f"after {self.timeout:g} s: {missing}; {sent_text} as {identity}"
        raise CommandFailure(text, ExitCode.NETWORK, name="TIMEOUT")

    def _report_receipt(self, receipt: Receipt, confirmation: Confirmation, wallet: Wallet) -> None:
        from cfnode.sdk.recovery import CheckContracts, PrepareTransaction, WouldRevert

        self.report |= {"blockNumber": receipt.block, "gasUsed": receipt.gas_used}
        payload = self.failed.payload
        if receipt.succeeded:
            done = f"Done: {_outcome(payload, confirmation)} in block {receipt.block}"
            self.finish(f"{done}, for {receipt.gas_used} gas.{_without_rise(payload, confirmation)}")
            return
        assert self.eth_rpc is not None
        self.sdk.call(CheckContracts(self.failed, self.eth_rpc))
        self.sdk.call(  # raises the reason
            PrepareTransaction(self.failed, self.eth_rpc, wallet.address, max_fee=_ANY_FEE_WEI)
        )
        raise WouldRevert(
            f"the transaction {self.report['hash']} failed in block {receipt.block}, but it would succeed "
            "now; the payload is still valid, try again",
            "",
        )

    def finish(self, text: str, *parts: str, prints_report: bool = True) -> None:
        """Print the end: the report as JSON, unless an error will print it, or its named parts and a line."""
        if self.as_json:
            if prints_report:
                print_json(self.report)
            return
        for name in parts:
            print_json(self.report[name])
        self.say(text)


def _outcome(payload: Payload, confirmation: Confirmation) -> str:
    """Return what a transaction has done; a batch is accepted also if a receiver rejects its transfer."""
    from cfnode.sdk.recovery import amount_text, subject

    if payload.is_whole_batch:
        return f"{subject(payload)} is"
    amount, has_grown = amount_text(payload), (confirmation.rise or 0) >= payload.transfer.amount
    if payload.is_batch and not has_grown:
        return f"the batch with {amount} for {payload.recipient_text} is"
    return f"{amount} paid to {payload.recipient_text}"


def _without_rise(payload: Payload, confirmation: Confirmation) -> str:
    """Explain why the receiver's balance has not grown by the payment; "" if it has, or if unknown."""
    if payload.is_whole_batch:
        return (
            " Each receiver that took its transfer has been paid; one that rejected it gets a call of its "
            "own in some minutes: cfnode recover --for RECEIVER."
        )
    if confirmation.rise is None or confirmation.rise >= payload.transfer.amount:
        return ""
    if payload.is_batch:
        return (
            " The receiver's balance has not grown: it forwarded the funds, or rejected them. After a "
            "rejection a new call pays it in some minutes: run the same command again then."
        )
    return " The receiver's balance has not grown by that: it forwarded or spent funds in the same block."
