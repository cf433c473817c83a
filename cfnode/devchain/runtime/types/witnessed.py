"""Types of a chain's witnessed events: deposits, vault swaps and broadcasts (runtime 2.2)."""

from __future__ import annotations

from cfnode.devchain.runtime.chains import CHAIN_INSTANCES, ChainInstance
from cfnode.devchain.runtime.frame.types import Catalog, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import channels, deposits, egress  # noqa: F401  (the declarations below name theirs)

__all__ = ["TRON_FEES"]

TRON_FEES = (
    "fee",
    "energy_usage",
    "energy_fee",
    "origin_energy_usage",
    "energy_usage_total",
    "net_usage",
    "net_fee",
    "energy_penalty_total",
)
_HOOKS = "state_chain_runtime::chainflip::witnessing::pallet_hooks"

struct("cf_chains::evm::TransactionFee", effective_gas_price="u128", gas_used="u128")
struct(
    "cf_chains::tron::TronTransactionFee",
    **{name: "u64" if name == "fee" else "Option<u64>" for name in TRON_FEES},
)


def _declare_chain(catalog: Catalog, chain: ChainInstance) -> None:
    name, names = chain.name, chain.names
    catalog.struct(
        f"pallet_cf_broadcast::pallet::TransactionConfirmation{name}",
        tx_out_id=names["TransactionOutId"],
        signer_id=names["Account"],
        tx_fee=chain.family.transaction_fee,
        tx_metadata=names["TransactionMetadata"] if chain.is_evm else "()",
        transaction_ref=names["TransactionRef"],
    )
    if not chain.is_evm:
        return
    catalog.struct(
        f"pallet_cf_ingress_egress::pallet::TransferFailedWitness{name}",
        asset=names["ChainAsset"],
        amount=names["Amount"],
        destination_address=names["Account"],
    )
    catalog.struct(
        f"pallet_cf_vaults::VaultKeyRotatedExternally{name}",
        new_public_key=chain.family.agg_key,
        block_number=names["Height"],
        tx_id=names["TransactionInId"],
    )
    catalog.enum(
        f"{_HOOKS}::EvmVaultContractEvent{name}",
        f"VaultDeposit{name}(VaultDepositWitness{name})",
        f"TransferFailed{name}(TransferFailedWitness{name})",
    )
    catalog.enum(
        f"{_HOOKS}::EvmKeyManagerEvent{name}",
        f"SignatureAccepted{name}(TransactionConfirmation{name})",
        f"AggKeySetByGovKey{name}(VaultKeyRotatedExternally{name})",
        f"SetWhitelistedCallHash{name}([u8; 32])",
    )


def _variant(name: str) -> str:
    is_evm = CHAIN_INSTANCES[name].is_evm
    if not CHAIN_INSTANCES[name].has_vault_swaps:
        return (
            f"{name}{{deposits: Vec<(u64, DepositWitness{name})>,"
            f" broadcasts: Vec<(u64, TransactionConfirmation{name})>}}"
        )
    vault = f"EvmVaultContractEvent{name}" if is_evm else f"VaultDepositWitness{name}"
    broadcast = f"EvmKeyManagerEvent{name}" if is_evm else f"TransactionConfirmation{name}"
    return (
        f"{name}{{deposits: Vec<(u64, DepositWitness{name})>, vault_deposits: Vec<(u64, {vault})>,"
        f" broadcasts: Vec<(u64, {broadcast})>}}"
    )


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    names = release.rules.witnessed_chains
    for name in names:
        _declare_chain(catalog, release.chains[name])
    path = "state_chain_runtime::runtime_apis::custom_api::types::RawWitnessedEvents"
    catalog.enum(path, *map(_variant, names))
