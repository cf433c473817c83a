"""Sending of a signed transaction, once, and confirmation of its receipt.

A transaction is sent once. If the node already knows it, it has been sent: a lost answer, or an error of a
provider that forwarded the transaction nevertheless, is no reason to sign another.

A receipt alone proves nothing: a provider may answer with one for a transaction that no block has. So the
receipt is compared with the sender's nonce, the block, the nonce of the signature and the receiver's balance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.hashing import keccak_256
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import RpcCallError, ValidationError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.contracts import balance_of, is_used
from cfnode.sdk.recovery.errors import WrongChain
from cfnode.sdk.recovery.offered_call import FailedCall
from cfnode.sdk.recovery.payload import checked_account
from cfnode.sdk.recovery.provider import COUNT_BITS, evm_call, evm_number, optional_call, read_number
from cfnode.sdk.recovery.transaction import Receipt
from cfnode.swaps.checksums import checksum_address

__all__ = ["ConfirmReceipt", "Confirmation", "FetchReceipt", "SendTransaction"]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The chain's confirmation of a transaction that has a receipt.

    `doubt` states what contradicts the receipt, None for nothing; `rise` is by how much the receiver's
    balance grew in the block, in base units, None if unknown and for a transaction that failed.
    """

    doubt: str | None
    rise: int | None


class SendTransaction(Call[str]):
    """Send a signed transaction to the node, once; return its hash (0x hex).

    Raises the node's refusal only if the transaction is unknown to the node.
    """

    def __init__(self, raw: bytes, url: str) -> None:
        if not isinstance(raw, bytes):
            raise ValidationError.at(
                "raw", f"expected a signed transaction as bytes, not {type(raw).__name__}"
            )
        self.raw = raw
        self.url = url

    def steps(self, session: ClientSession) -> Steps[str]:
        """Send a signed transaction; return its hash, also if the node has it already."""
        identity = "0x" + keccak_256(self.raw).hex()
        try:
            yield from evm_call(session, self.url, "eth_sendRawTransaction", ["0x" + self.raw.hex()])
        except RpcCallError:
            if (yield from optional_call(session, self.url, "eth_getTransactionByHash", [identity])) is None:
                raise
        return identity


class FetchReceipt(Call[Receipt | None]):
    """Fetch the receipt of a transaction, None while it is pending."""

    def __init__(self, transaction_hash: str, url: str) -> None:
        self.transaction_hash = transaction_hash
        self.url = url

    def steps(self, session: ClientSession) -> Steps[Receipt | None]:
        """Read the receipt of a transaction; None: it is in no block yet."""
        method = "eth_getTransactionReceipt"
        receipt = yield from evm_call(session, self.url, method, [self.transaction_hash])
        if not isinstance(receipt, dict) or receipt.get("blockNumber") is None:
            return None
        names = ("blockNumber", "gasUsed", "status")
        block, gas_used, status = (
            read_number(receipt.get(name), self.url, f"{method}: {name}", COUNT_BITS) for name in names
        )
        return Receipt(block, gas_used, status == 1, str(receipt.get("blockHash")))


class ConfirmReceipt(Call[Confirmation]):
    """Confirm that the chain has what the receipt of a transaction states: a success, or a failure."""

    def __init__(
        self, failed: FailedCall, receipt: Receipt, transaction_hash: str, sender: bytes, nonce: int, url: str
    ) -> None:
        self.failed = failed
        self.receipt = receipt
        self.transaction_hash = transaction_hash
        self.sender = checked_account(sender, "sender")
        self.nonce = nonce
        self.url = url

    def steps(self, session: ClientSession) -> Steps[Confirmation]:
        """Check the receipt against the chain, and read by how much the receiver's balance grew."""
        doubt = (yield from self._doubt(session)) or None
        has_paid = doubt is None and self.receipt.succeeded
        return Confirmation(doubt, (yield from self._rise(session)) if has_paid else None)

    def _doubt(self, session: ClientSession) -> Steps[str]:
        """Return what on the chain contradicts the receipt; "" for nothing."""
        head, payload = f"there is a receipt of {self.transaction_hash}, but", self.failed.payload
        sender = checksum_address(self.sender)
        next_nonce = yield from evm_number(session, self.url, "eth_getTransactionCount", [sender, "latest"])
        if next_nonce <= self.nonce:
            return (
                f"{head} the next nonce of {sender} is {next_nonce}, and nonce {self.nonce} in no block yet"
            )
        number = self.receipt.block
        block = yield from evm_call(session, self.url, "eth_getBlockByNumber", [hex(number), False])
        if not isinstance(block, Mapping) or block.get("hash") != self.receipt.block_hash:
            return f"{head} block {number} of the chain is not the one that it names"
        hashes = block.get("transactions")
        if not isinstance(hashes, list) or self.transaction_hash not in hashes:
            return f"{head} block {number} does not contain the transaction"
        if self.receipt.succeeded and not (
            yield from is_used(session, self.url, self.failed.key_manager, payload.nonce)
        ):
            return f"{head} the key manager has not accepted the signature: nonce {payload.nonce} is unused"
        return ""

    def _rise(self, session: ClientSession) -> Steps[int | None]:
        """Return how much the receiver's balance rose in the block.

        Returns None if the node has pruned the block, or if the receiver itself has paid the gas.
        """
        payload, balances = self.failed.payload, list[int]()
        if payload.is_native and payload.transfer.recipient == self.sender:
            return None
        for number in (self.receipt.block - 1, self.receipt.block):
            try:
                balances.append(
                    (
                        yield from balance_of(
                            session, self.url, payload, payload.transfer.recipient, hex(max(number, 0))
                        )
                    )
                )
            except (RpcCallError, WrongChain):
                return None
        return balances[1] - balances[0]
