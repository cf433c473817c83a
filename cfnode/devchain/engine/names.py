"""Names of what the engine reads and calls: today's, and those of earlier releases.

The engine asks for an item by the name that it has in 2.3. A runtime that lacks it is asked for the earlier
names of the tables here, in their order; a runtime that has none of them cannot do what the engine wants.
A test compares all names and fields with the metadata of each release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cfnode.core.scale import NotInMetadataError
from cfnode.core.scale.metadata import Metadata, StorageItem

__all__ = [
    "CALLS",
    "CHAINS",
    "EVM_CHAINS",
    "FIELDS",
    "OLDER_CALLS",
    "OLDER_FIELDS",
    "OLDER_STORAGE",
    "SIGNERS",
    "STORAGE",
    "Name",
    "call_of",
    "storage_of",
]

Name = tuple[str, str]
"""A pallet, and a storage item or call of it."""

CHAINS: Final = ("Ethereum", "Polkadot", "Bitcoin")
"""The foreign chains whose transactions the engine brings to success; a release may lack one."""
EVM_CHAINS: Final = ("Ethereum",)
"""Those of them whose vault is a contract, and whose transfers can fail one by one."""
SIGNERS: Final[Mapping[str, str]] = {"Evm": "Ethereum", "Polkadot": "Polkadot", "Bitcoin": "Bitcoin"}
"""Signature schemes, each with the chain after which its pallets were named before 1.3."""


def _signer(item: str) -> Iterator[Name]:
    return ((f"{scheme}ThresholdSigner", item) for scheme in SIGNERS)


def _of_chains(pallet: str, item: str) -> Iterator[Name]:
    return ((f"{chain}{pallet}", item) for chain in CHAINS)


STORAGE: Final[tuple[Name, ...]] = (
    ("System", "Account"),
    ("System", "Number"),
    ("Timestamp", "Now"),
    ("Flip", "Account"),
    ("Environment", "RuntimeSafeMode"),
    ("Environment", "ChainflipNetworkEnvironment"),
    ("Environment", "EthereumSupportedAssets"),
    ("Governance", "Members"),
    ("Witnesser", "Votes"),
    ("Validator", "CurrentEpoch"),
    ("Validator", "HistoricalAuthorities"),
    ("Reputation", "LastHeartbeat"),
    *_signer("PendingCeremonies"),
    *_signer("PendingKeyRotation"),
    *_signer("Keys"),
    *_signer("CurrentKeyEpoch"),
    *_of_chains("Broadcaster", "AwaitingBroadcast"),
    *_of_chains("Broadcaster", "BroadcastIdCounter"),
    *_of_chains("Broadcaster", "TransactionOutIdToBroadcastId"),
    *_of_chains("ChainTracking", "CurrentChainState"),
    *_of_chains("IngressEgress", "DepositChannelLookup"),
    ("AccountRoles", "AccountRoles"),
    ("AssetBalances", "FreeBalances"),
    ("AssetBalances", "RefundAddresses"),
    ("LiquidityPools", "Pools"),
)
"""Storage that the engine reads."""

FIELDS: Final[Mapping[Name, tuple[str, ...]]] = {
    ("Witnesser", "witness_at_epoch"): ("call", "epoch_index"),
    ("Governance", "propose_governance_extrinsic"): ("call", "execution"),
    ("Governance", "call_as_sudo"): ("call",),
    ("System", "set_storage"): ("items",),
    ("Reputation", "heartbeat"): (),
    ("LiquidityPools", "new_pool"): ("base_asset", "quote_asset", "fee_hundredth_pips", "initial_price"),
    ("LiquidityPools", "set_range_order"): ("base_asset", "quote_asset", "id", "option_tick_range", "size"),
    ("LiquidityProvider", "register_lp_account"): (),
    ("LiquidityProvider", "register_liquidity_refund_address"): ("address",),
    ("LiquidityProvider", "request_liquidity_deposit_address"): ("asset",),
    ("EthereumIngressEgress", "vault_transfer_failed"): ("asset", "amount", "destination_address"),
    ("Funding", "execute_sc_call"): ("deposit_and_call", "caller", "caller_account_id", "eth_tx_hash"),
    **dict.fromkeys(_signer("signature_success"), ("ceremony_id", "signature")),
    **dict.fromkeys(_signer("report_keygen_outcome"), ("ceremony_id", "reported_outcome")),
    **dict.fromkeys(_signer("report_key_handover_outcome"), ("ceremony_id", "reported_outcome")),
    **dict.fromkeys(
        _of_chains("Broadcaster", "transaction_succeeded"),
        ("tx_out_id", "signer_id", "tx_fee", "tx_metadata", "transaction_ref"),
    ),
    **dict.fromkeys(_of_chains("Broadcaster", "transaction_failed"), ("broadcast_id",)),
    **dict.fromkeys(_of_chains("ChainTracking", "update_chain_state"), ("new_chain_state",)),
    **dict.fromkeys(_of_chains("IngressEgress", "process_deposits"), ("deposit_witnesses", "block_height")),
}
"""Calls that the engine makes, with the fields that it fills; what else a call has stays empty."""
CALLS: Final[tuple[Name, ...]] = tuple(FIELDS)

OLDER_STORAGE: Final[Mapping[Name, tuple[Name, ...]]] = {
    ("EvmThresholdSigner", "PendingCeremonies"): (("EthereumThresholdSigner", "PendingCeremonies"),),
    **{
        (f"{scheme}ThresholdSigner", "PendingKeyRotation"): ((f"{chain}Vault", "PendingVaultRotation"),)
        for scheme, chain in SIGNERS.items()
    },
    **{
        (f"{scheme}ThresholdSigner", "Keys"): ((f"{chain}Vault", "Vaults"),)
        for scheme, chain in SIGNERS.items()
    },
    **{
        (f"{scheme}ThresholdSigner", "CurrentKeyEpoch"): ((f"{chain}Vault", "CurrentVaultEpochAndState"),)
        for scheme, chain in SIGNERS.items()
    },
    ("AssetBalances", "FreeBalances"): (("LiquidityProvider", "FreeBalances"),),
    ("AssetBalances", "RefundAddresses"): (("LiquidityProvider", "LiquidityRefundAddress"),),
}
"""Storage under its earlier names, newest first."""

OLDER_CALLS: Final[Mapping[Name, tuple[Name, ...]]] = {
    ("EvmThresholdSigner", "signature_success"): (("EthereumThresholdSigner", "signature_success"),),
    **{
        (f"{scheme}ThresholdSigner", call): ((f"{chain}Vault", call),)
        for scheme, chain in SIGNERS.items()
        for call in ("report_keygen_outcome", "report_key_handover_outcome")
    },
    **{
        (f"{chain}Broadcaster", "transaction_failed"): (
            (f"{chain}Broadcaster", "transaction_signing_failure"),
        )
        for chain in CHAINS
    },
    ("Funding", "execute_sc_call"): (("Funding", "funded"),),
}
"""Calls under their earlier names, newest first."""

OLDER_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "new_pool": {"quote_asset": "pair_asset"},
    "set_range_order": {"quote_asset": "pair_asset"},
    "transaction_signing_failure": {"broadcast_id": "broadcast_attempt_id"},
}
"""Fields of calls under their earlier names: by call, from today's name to the earlier one."""


def storage_of(metadata: Metadata, pallet: str, item: str) -> StorageItem:
    """Return a storage item by today's name. Raises NotInMetadataError if the runtime lacks it."""
    for name in ((pallet, item), *OLDER_STORAGE.get((pallet, item), ())):
        try:
            return metadata.storage(*name)
        except NotInMetadataError:
            continue
    raise NotInMetadataError(f"the runtime has no storage item {pallet}.{item}, and no earlier form of it")


def call_of(metadata: Metadata, pallet: str, name: str) -> Name:
    """Return a call by today's name, as the runtime names it. Raises NotInMetadataError."""
    for candidate in ((pallet, name), *OLDER_CALLS.get((pallet, name), ())):
        if metadata.has_call(*candidate):
            return candidate
    raise NotInMetadataError(f"the runtime has no call {pallet}.{name}, and no earlier form of it")
