"""What does a transaction of an EVM chain hold, before and after it is sent?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.sdk.addresses import checksum_address

__all__ = ["PendingTransaction", "Receipt", "UnsignedTransaction"]


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """An EIP-1559 transaction for any wallet. Amounts in wei; `nonce` is the sending account's.

    `estimate` is the gas that a simulation took, None where there was none.
    """

    chain_id: int
    to: bytes
    data: bytes
    nonce: int
    gas: int
    max_fee_per_gas: int
    max_priority_fee_per_gas: int
    estimate: int | None = None

    @property
    def highest_cost(self) -> int:
        """What the gas costs at most, in wei."""
        return self.gas * self.max_fee_per_gas

    def fields(self) -> dict[str, Any]:
        """As eth-account takes it; `to` has its checksum, or it would be refused."""
        return {
            "type": 2,
            "chainId": self.chain_id,
            "to": checksum_address(self.to),
            "value": 0,
            "data": "0x" + self.data.hex(),
            "nonce": self.nonce,
            "gas": self.gas,
            "maxFeePerGas": self.max_fee_per_gas,
            "maxPriorityFeePerGas": self.max_priority_fee_per_gas,
        }


@dataclass(frozen=True, slots=True)
class PendingTransaction:
    """A transaction that waits for its block; fees in wei for one gas."""

    hash: str
    nonce: int
    to: bytes
    data: bytes
    max_fee_per_gas: int
    max_priority_fee_per_gas: int

    def to_json(self) -> dict[str, Any]:
        """For people and programs."""
        return {
            "hash": self.hash,
            "nonce": self.nonce,
            "to": checksum_address(self.to) if len(self.to) == 20 else None,
            "maxFeePerGas": str(self.max_fee_per_gas),
            "maxPriorityFeePerGas": str(self.max_priority_fee_per_gas),
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a transaction: its block's number, the gas it took, whether it went through."""

    block: int
    gas_used: int
    succeeded: bool
