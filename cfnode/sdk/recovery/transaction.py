"""Which data does a transaction of an EVM chain have, before and after it is sent?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.swaps.checksums import checksum_address

__all__ = ["PendingTransaction", "Receipt", "UnsignedTransaction"]


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """An EIP-1559 transaction for any wallet. Amounts in wei; `nonce` is the sending account's.

    `estimate` is the gas of a simulation, None without one.
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
        """The maximum cost of the gas, in wei."""
        return self.gas * self.max_fee_per_gas

    def fields(self) -> dict[str, Any]:
        """The transaction for eth-account, which requires the checksum in `to`."""
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
    """A pending transaction; fees in wei per gas."""

    hash: str
    nonce: int
    to: bytes
    data: bytes
    max_fee_per_gas: int
    max_priority_fee_per_gas: int

    def to_json(self) -> dict[str, Any]:
        """The transaction as a JSON object."""
        return {
            "hash": self.hash,
            "nonce": self.nonce,
            "to": checksum_address(self.to) if len(self.to) == 20 else None,
            "maxFeePerGas": str(self.max_fee_per_gas),
            "maxPriorityFeePerGas": str(self.max_priority_fee_per_gas),
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of a transaction: its block's number, its gas, and whether it succeeded."""

    block: int
    gas_used: int
    succeeded: bool
