"""How is a signed transaction sent, and what is its outcome?

It is sent once. If the node already knows it, it has been sent: a lost answer, or an error of a provider that
forwarded the transaction nevertheless, is no reason to sign another.
"""

from __future__ import annotations

from cfnode.core.hashing import keccak_256
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.provider import evm_call, optional_call, read_number
from cfnode.sdk.recovery.transaction import Receipt

__all__ = ["FetchReceipt", "SendTransaction"]


class SendTransaction(Call[str]):
    """Send a signed transaction to the node, once; returns its hash (0x hex).

    Raises the node's refusal only if the transaction is unknown to the node.
    """

    def __init__(self, raw: bytes, url: str) -> None:
        self.raw = raw
        self.url = url

    def steps(self, session: Session) -> Steps[str]:
        identity = "0x" + keccak_256(self.raw).hex()
        try:
            yield from evm_call(session, self.url, "eth_sendRawTransaction", ["0x" + self.raw.hex()])
        except RpcCallError:
            if (yield from optional_call(session, self.url, "eth_getTransactionByHash", [identity])) is None:
                raise
        return identity


class FetchReceipt(Call[Receipt | None]):
    """The receipt of a transaction, None while it is pending."""

    def __init__(self, transaction_hash: str, url: str) -> None:
        self.transaction_hash = transaction_hash
        self.url = url

    def steps(self, session: Session) -> Steps[Receipt | None]:
        found = yield from evm_call(session, self.url, "eth_getTransactionReceipt", [self.transaction_hash])
        if not isinstance(found, dict) or found.get("blockNumber") is None:
            return None
        names = ("blockNumber", "gasUsed", "status")
        block, gas_used, status = (read_number(found.get(name), self.url) for name in names)
        return Receipt(block, gas_used, status == 1)
