"""Transactions of an EVM chain: unsigned, pending, and the receipt of a sent one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.swaps.checksums import checksum_address

__all__ = ["PendingTransaction", "Receipt", "UnsignedTransaction"]


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """A transaction for any wallet. Amounts in wei; `nonce` is the sending account's.

    `estimate` is the gas of a simulation, None without one. `is_legacy`: for a chain without EIP-1559, with
    `max_fee_per_gas` as its gas price.
    """

    chain_id: int
    to: bytes
    data: bytes
    nonce: int
    gas: int
    max_fee_per_gas: int
    max_priority_fee_per_gas: int
    estimate: int | None = None
    is_legacy: bool = False

    @property
    def highest_cost(self) -> int:
        """The maximum cost of the gas, in wei."""
        return self.gas * self.max_fee_per_gas

    def fields(self) -> dict[str, Any]:
        """Return the transaction for eth-account, which requires the checksum in `to`."""
        fields = {
            "chainId": self.chain_id,
            "to": checksum_address(self.to),
            "value": 0,
            "data": "0x" + self.data.hex(),
            "nonce": self.nonce,
            "gas": self.gas,
        }
        if self.is_legacy:
            return fields | {"gasPrice": self.max_fee_per_gas}
        return fields | {
            "type": 2,
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
        """Return the transaction as a JSON object."""
        return {
            "hash": self.hash,
            "nonce": self.nonce,
            "to": checksum_address(self.to) if len(self.to) == 20 else None,
            "maxFeePerGas": str(self.max_fee_per_gas),
            "maxPriorityFeePerGas": str(self.max_priority_fee_per_gas),
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of a transaction: its block's number and hash, its gas, and whether it succeeded."""

    block: int
    gas_used: int
    succeeded: bool
    block_hash: str = ""
