"""Parameters of each foreign chain: indices of its pallets, types, witness periods, timeouts and fees.

The chain pallets (tracking, vault, broadcaster, ingress-egress) exist once for each chain, with the same
storage, calls, events and errors, but other types and figures. A `ChainInstance` holds all of that
difference, and the pallets read it from there.

Block times are the nominal ones from which the main net's genesis took its channel lifetimes of 24 hours.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.assets import CHAINS
from cfnode.swaps.timing import BLOCK_TIMES, lifetime_blocks

from . import values

__all__ = ["CHAIN_INSTANCES", "MODULES", "ChainFamily", "ChainInstance", "TrackedData"]

TrackedData = (
    values.EthereumTrackedData
    | values.ArbitrumTrackedData
    | values.BscTrackedData
    | values.BitcoinTrackedData
    | values.SolTrackedData
    | values.PolkadotTrackedData
    | values.AssethubTrackedData
    | tuple[()]
)
"""The tracked fees of a chain; empty on Tron."""

MODULES = {
    "Ethereum": "eth",
    "Polkadot": "dot",
    "Bitcoin": "btc",
    "Arbitrum": "arb",
    "Solana": "sol",
    "Assethub": "hub",
    "Tron": "tron",
    "Bsc": "bsc",
}
"""The name of each chain in the runtime's source, in declaration order."""


@dataclass(frozen=True, slots=True)
class ChainFamily:
    """Family of chains: their threshold signer, and type expressions."""

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

    @property
    def crypto(self) -> str:
        """The scheme of its signatures, as in the names of types: `EvmCrypto`."""
        return self.signer.replace("ThresholdSigner", "Crypto")


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
)
SUBSTRATE = ChainFamily(
    signer="PolkadotThresholdSigner",
    agg_key="PolkadotAccountId",
    account="PolkadotAccountId",
    amount="u128",
    height="u32",
    channel_state="PolkadotChannelState",
    fetch_id="u64",
    deposit_details="u32",
    transaction_in="TxId",
    transaction_out="PolkadotSignature",
    transaction_ref="PolkadotTransactionId",
)
BITCOIN = ChainFamily(
    signer="BitcoinThresholdSigner",
    agg_key="btc::AggKey",
    account="ScriptPubkey",
    amount="u64",
    height="u64",
    channel_state="DepositAddress",
    fetch_id="BitcoinFetchId",
    deposit_details="Utxo",
    transaction_in="H256",
    transaction_out="H256",
    transaction_ref="H256",
)
SOLANA = ChainFamily(
    signer="SolanaThresholdSigner",
    agg_key="Address",
    account="Address",
    amount="u64",
    height="u64",
    channel_state="u8",
    fetch_id="SolanaDepositFetchId",
    deposit_details="VaultSwapOrDepositChannelId",
    transaction_in="(Address, u64)",
    transaction_out="sol::Signature",
    transaction_ref="sol::Signature",
)


@dataclass(frozen=True, slots=True)
class ChainInstance:
    """One foreign chain: indices of its pallets, type expressions, and figures.

    `witness_period`, `safety_buffer` and `broadcast_timeout` are in blocks of the chain. `tracked_data` are
    the chain's fees at genesis, of type `tracked_type`.
    """

    name: str
    family: ChainFamily
    tracking_index: int
    vault_index: int
    broadcaster_index: int
    ingress_egress_index: int
    witness_period: int
    safety_buffer: int | None
    broadcast_timeout: int
    tracked_type: str
    tracked_data: TrackedData
    tracked: bool = True

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
    def module(self) -> str:
        """The name of the chain in the runtime's source."""
        return MODULES[self.name]

    @property
    def is_evm(self) -> bool:
        """Whether its vault is a contract of the EVM kind."""
        return self.family is EVM

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
            "Transaction": "TronTransaction" if self.name == "Tron" else "evm::Transaction",
            "TransactionMetadata": f"{'Tron' if self.name == 'Tron' else 'Evm'}TransactionMetadata",
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


_SUBSTRATE_VERSION = values.DotRuntimeVersion(spec_version=1_007_001, transaction_version=26)

_INSTANCES = (
    ChainInstance(
        "Ethereum",
        EVM,
        tracking_index=18,
        vault_index=21,
        broadcaster_index=27,
        ingress_egress_index=32,
        witness_period=1,
        safety_buffer=8,
        broadcast_timeout=20,
        tracked_type="EthereumTrackedData",
        tracked_data=values.EthereumTrackedData(base_fee=2_000_000_000, priority_fee=100_000_000),
    ),
    # The authorities do not watch Polkadot any more: its height stays where genesis put it.
    ChainInstance(
        "Polkadot",
        SUBSTRATE,
        tracking_index=19,
        vault_index=22,
        broadcaster_index=28,
        ingress_egress_index=33,
        witness_period=1,
        safety_buffer=None,
        broadcast_timeout=40,
        tracked_type="PolkadotTrackedData",
        tracked_data=values.PolkadotTrackedData(median_tip=0, runtime_version=_SUBSTRATE_VERSION),
        tracked=False,
    ),
    ChainInstance(
        "Bitcoin",
        BITCOIN,
        tracking_index=20,
        vault_index=23,
        broadcaster_index=29,
        ingress_egress_index=34,
        witness_period=1,
        safety_buffer=8,
        broadcast_timeout=9,
        tracked_type="BitcoinTrackedData",
        tracked_data=values.BitcoinTrackedData(values.BitcoinFeeInfo(5_000)),
    ),
    ChainInstance(
        "Arbitrum",
        EVM,
        tracking_index=37,
        vault_index=38,
        broadcaster_index=39,
        ingress_egress_index=40,
        witness_period=24,
        safety_buffer=8,
        broadcast_timeout=480,
        tracked_type="ArbitrumTrackedData",
        tracked_data=values.ArbitrumTrackedData(base_fee=20_000_000, l1_base_fee_estimate=1),
    ),
    ChainInstance(
        "Solana",
        SOLANA,
        tracking_index=46,
        vault_index=41,
        broadcaster_index=43,
        ingress_egress_index=44,
        witness_period=15,
        safety_buffer=None,
        broadcast_timeout=600,
        tracked_type="SolTrackedData",
        tracked_data=values.SolTrackedData(100_000),
    ),
    ChainInstance(
        "Assethub",
        SUBSTRATE,
        tracking_index=48,
        vault_index=49,
        broadcaster_index=50,
        ingress_egress_index=51,
        witness_period=3,
        safety_buffer=1,
        broadcast_timeout=20,
        tracked_type="AssethubTrackedData",
        tracked_data=values.AssethubTrackedData(median_tip=0, runtime_version=_SUBSTRATE_VERSION),
    ),
    ChainInstance(
        "Tron",
        EVM,
        tracking_index=58,
        vault_index=59,
        broadcaster_index=60,
        ingress_egress_index=61,
        witness_period=1,
        safety_buffer=25,
        broadcast_timeout=40,
        tracked_type="TronTrackedData",
        tracked_data=(),
    ),
    ChainInstance(
        "Bsc",
        EVM,
        tracking_index=63,
        vault_index=64,
        broadcaster_index=65,
        ingress_egress_index=66,
        witness_period=14,
        safety_buffer=8,
        broadcast_timeout=266,
        tracked_type="BscTrackedData",
        tracked_data=values.BscTrackedData(10_000_000_000),
    ),
)

CHAIN_INSTANCES: dict[str, ChainInstance] = {instance.name: instance for instance in _INSTANCES}
"""The chains of all releases by name, in the order of the chain pallets' hooks."""
