"""The form of a foreign chain: its family, its assets, its transactions and its figures.

The chain pallets (tracking, vault, broadcaster, ingress-egress) exist once for each chain, with the same
storage, calls, events and errors, but other types and figures. A `ChainInstance` holds all of that
difference, and the pallets read it from there: no pallet asks for the name of a chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cfnode.core.assets import CHAINS, vault_swap_chains
from cfnode.swaps.timing import BLOCK_TIMES, lifetime_blocks

from .contracts import EvmAddresses
from .costs import Costs, TrackedData

__all__ = ["DOLLAR", "AssetTerms", "ChainFamily", "ChainInstance", "Retries"]

DOLLAR = 10**6
"""Microdollars of a dollar."""


@dataclass(frozen=True, slots=True)
class AssetTerms:
    """Figures of an asset, in its smallest unit; `price` is in microdollars for a whole unit.

    `token` is its contract, of 20 bytes (EVM) or 32 (Solana); an EVM chain's own coin has 20 times 0xee.
    Governance has set the main net's minimum deposits after genesis; these are of their size.
    `minimum_limit_order` is what the main net's upgrade to 2.3.0 sets.
    """

    minimum_deposit: int = 10 * DOLLAR
    minimum_limit_order: int = 5 * DOLLAR
    price: int = DOLLAR
    token: bytes | None = None
    dust_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ChainFamily:
    """Family of chains: their threshold signer, and type expressions.

    `burn_address` stands for a missing refund address.
    """

    signer: str
    agg_key: str
    account: str
    amount: str
    height: str
    channel_state: str
    fetch_id: str
    deposit_details: str
    transaction_in: str
    transaction_out: str
    transaction_ref: str
    burn_address: bytes | tuple[str, bytes]
    transaction_fee: str
    transaction: str = "evm::Transaction"
    transaction_metadata: str = "EvmTransactionMetadata"

    @property
    def crypto(self) -> str:
        """The scheme of its signatures, as in the names of types: `EvmCrypto`."""
        return self.signer.replace("ThresholdSigner", "Crypto")


class Retries:
    """Delays before a broadcast that has failed is attempted again, in blocks of the State Chain.

    It is attempted again in the next block, and after many failures every ten blocks.
    """

    def after_failure(self, failures: int) -> int:
        """Return the blocks until the next attempt after so many failures."""
        return _SLOW if failures > _MANY else 1

    def without_nominee(self, failures: int) -> int:
        """Return the blocks until the next attempt when no authority could be asked."""
        return _SLOW


_MANY, _SLOW = 10, 10
_RETRIES = Retries()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainInstance:
    """One foreign chain: indices of its pallets, type expressions, and figures.

    `module` is its name in the runtime's source. `witness_period`, `safety_buffer` and `broadcast_timeout`
    are in blocks of the chain; so is `safe_mode_heights`, by which safe mode puts off timeouts: about a
    minute, on Bitcoin ten. `tracked_data` are the chain's fees at genesis, of type `tracked_type`. `assets`
    stand in the order of the chain's own enum. A batch has up to `max_fetches` and `max_transfers`, if any.
    """

    name: str
    module: str
    family: ChainFamily
    tracking_index: int
    vault_index: int
    broadcaster_index: int
    ingress_egress_index: int
    witness_period: int
    safety_buffer: int | None
    broadcast_timeout: int
    safe_mode_heights: int = 0
    tracked_type: str
    tracked_data: TrackedData
    costs: Costs
    assets: Mapping[str, AssetTerms] = field(hash=False)
    contracts: EvmAddresses | None = None
    retries: Retries = _RETRIES
    max_fetches: int | None = None
    max_transfers: int | None = None
    tracked: bool = True
    """Whether the authorities watch the chain; otherwise its height stays where genesis put it."""
    takes_reports: bool = True
    """Whether brokers can report transactions there."""
    closed_by_election: bool = False
    """Whether an election closes a channel when it expires."""
    fetches_coin: bool = False
    """Whether a deployed deposit contract has to be asked for the chain's coin; others pass it on."""
    hides_failed_coins: bool = False
    """Whether the vault emits no event when it could not pay the chain's coin."""

    @property
    def block_time(self) -> int:
        """Milliseconds between two of its blocks."""
        return BLOCK_TIMES[self.name].nominal

    @property
    def safety_margin(self) -> int | None:
        """Blocks that have to follow that of a deposit; None if no block has to."""
        return CHAINS[self.name].safety_margin

    @property
    def lifetime(self) -> int:
        """Blocks of the chain for which a deposit channel counts deposits: those of a day."""
        return lifetime_blocks(self.name)

    @property
    def has_vault_swaps(self) -> bool:
        """Whether its vault takes swaps."""
        return self.name in vault_swap_chains()

    @property
    def is_evm(self) -> bool:
        """Whether its vault is a contract of the EVM kind."""
        return self.family.signer == "EvmThresholdSigner"

    @property
    def names(self) -> dict[str, str]:
        """The meaning of the chain-bound names in the pallets' type expressions."""
        return {
            "Account": self.family.account,
            "Amount": self.family.amount,
            "Height": self.family.height,
            "AggKey": self.family.agg_key,
            "VaultActivationStatus": f"VaultActivationStatus{self.family.crypto}",
            "ChainAsset": f"{self.module}::Asset",
            "ChainState": f"ChainState{self.name}<{self.name}>",
            "DepositChannel": f"DepositChannel{self.name}",
            "DepositChannelDetails": f"DepositChannelDetails{self.name}",
            "FetchOrTransfer": f"FetchOrTransfer{self.name}<{self.name}>",
            "PalletConfigUpdate": f"PalletConfigUpdate{self.name}",
            "CrossChainMessage": f"CrossChainMessage{self.name}<{self.name}>",
            "DepositDetails": self.family.deposit_details,
            "DepositWitness": f"DepositWitness{self.name}",
            "PendingPrewitnessedDepositEntry": f"PendingPrewitnessedDepositEntry{self.name}",
            "VaultDepositWitness": f"VaultDepositWitness{self.name}",
            "DepositAction": f"DepositAction{self.name}",
            "DepositFailedDetails": f"DepositFailedDetails{self.name}",
            "TransactionRejectionDetails": f"TransactionRejectionDetails{self.name}",
            "BroadcastAction": f"BroadcastAction<{self.family.account}>",
            "ScheduledEgressDetails": f"ScheduledEgressDetails{self.name}<{self.name}>",
            "Api": f"{self.name}Api",
            "BroadcastData": f"BroadcastData{self.name}",
            "Transaction": self.family.transaction,
            "TransactionMetadata": self.family.transaction_metadata,
            "TransactionInId": self.family.transaction_in,
            "TransactionOutId": self.family.transaction_out,
            "TransactionRef": self.family.transaction_ref,
        }

    def height_at(self, now: int) -> int:
        """Return the height at a Unix time in milliseconds: nominal blocks since 1970, in whole periods."""
        return self.period_start(now // self.block_time)

    def period_start(self, height: int) -> int:
        """Return the first block of the witness period in which a height lies."""
        return height - height % self.witness_period

    @property
    def max_amount(self) -> int:
        """The maximum amount of its number type."""
        return (1 << int(self.family.amount.removeprefix("u"))) - 1

    @property
    def last_height(self) -> int:
        """The maximum height of its number type."""
        return (1 << int(self.family.height.removeprefix("u"))) - 1

    def after_period(self, height: int) -> int:
        """Return the first block of the witness period after that of `height`, at most `last_height`."""
        return min(self.period_start(height) + self.witness_period, self.last_height)
