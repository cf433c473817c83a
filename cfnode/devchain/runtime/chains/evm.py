"""What the EVM chains have in common: their family, their gas, their transactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.devchain.runtime import values

from .chain import AssetTerms, ChainFamily
from .costs import Costs, FeeData

__all__ = [
    "COIN",
    "EVM",
    "MAX_FETCHES",
    "MAX_TRANSFERS",
    "EvmCosts",
    "Gas",
    "GasCosts",
    "Transaction",
    "TransactionFee",
    "tokens",
]

EVM = ChainFamily(
    signer="EvmThresholdSigner",
    agg_key="evm::AggKey",
    account="H160",
    amount="u128",
    height="u64",
    channel_state="DeploymentStatus",
    fetch_id="EvmFetchId",
    deposit_details="evm::DepositDetails",
    transaction_in="H256",
    transaction_out="SchnorrVerificationComponents",
    transaction_ref="H256",
    burn_address=bytes(20),
    transaction_fee="TransactionFee",
)
COIN = b"\xee" * 20
"""Stands for the contract of an EVM chain's own coin."""
MAX_FETCHES, MAX_TRANSFERS = 20, 50
"""Limits of a batch."""
PLAIN_GAS = 200_000
"""Gas of a transaction that carries no message."""
Transaction = values.EvmTransaction | values.TronTransaction
TransactionFee = values.TransactionFee | values.TronTransactionFee


@dataclass(frozen=True, slots=True)
class Gas:
    """Units of gas, for the chain's own coin and for a token."""

    coin: int
    token: int

    def of(self, native: bool) -> int:
        """Return the units for the coin or for a token."""
        return self.coin if native else self.token


class EvmCosts(Costs):
    """Fees and transactions of an EVM chain."""

    def limit(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the gas limit of a message; on Tron its fee limit in sun."""
        raise NotImplementedError

    def bid(self, tracked: FeeData) -> tuple[int, int] | None:
        """Return the tip and the maximum fee that a transaction offers for a unit of gas, if any."""
        raise NotImplementedError

    def plain_fee(self, tracked: FeeData) -> TransactionFee:
        """Return the fee of a plain transaction."""
        raise NotImplementedError

    def transaction(
        self, replay: values.EvmReplayProtection, data: bytes, limit: int | None, function: str
    ) -> Transaction:
        """Return a transaction that calls a contract, without fees."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class GasCosts(EvmCosts):
    """Fees by units of gas."""

    fetch: Gas
    transfer: Gas
    max_message_gas: int

    def price(self, tracked: FeeData) -> int:
        """Return the price of a unit of gas."""
        raise NotImplementedError

    def ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of fetching a deposit."""
        return self.price(tracked) * self.fetch.of(native)

    def egress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of a transfer."""
        return self.price(tracked) * self.transfer.of(native)

    def message(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the cost of a transfer with a message."""
        return self.price(tracked) * self.limit(tracked, native, budget, length)

    def limit(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the gas limit of a message."""
        fixed = (90_000 if native else 120_000) + length
        return min(budget + fixed + self.first_layer(tracked), self.max_message_gas)

    def first_layer(self, tracked: FeeData) -> int:
        """Return the gas by which a message pays for the chain below."""
        return 0

    def plain_fee(self, tracked: FeeData) -> TransactionFee:
        """Return the fee of a plain transaction: 200,000 gas at the current price."""
        return values.TransactionFee(effective_gas_price=self.price(tracked), gas_used=PLAIN_GAS)

    def transaction(
        self, replay: values.EvmReplayProtection, data: bytes, limit: int | None, function: str
    ) -> Transaction:
        """Return a transaction that calls a contract, without fees."""
        return values.EvmTransaction(
            chain_id=replay.chain_id,
            max_priority_fee_per_gas=None,
            max_fee_per_gas=None,
            gas_limit=limit,
            contract=replay.contract_address,
            value=0,
            data=data,
        )


def tokens(assets: Mapping[str, AssetTerms]) -> tuple[tuple[str, bytes], ...]:
    """Return the token contracts by asset, without the chain's own coin."""
    return tuple((name, terms.token) for name, terms in assets.items() if terms.token and terms.token != COIN)
