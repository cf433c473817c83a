"""Types and values of safe mode (`Environment.RuntimeSafeMode`): a struct of switches for each pallet."""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES, ChainInstance
from cfnode.devchain.runtime.frame.expressions import Expression, TypeName
from cfnode.devchain.runtime.frame.item import OwnersRuntime
from cfnode.devchain.runtime.frame.types import Catalog, Enum, Struct, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release


def _switches(crate: str, *names: str, path: str = "PalletSafeMode", name: str | None = None) -> str:
    """Declare a struct of switches, and return its name."""
    type_name = name or f"{crate.removeprefix('pallet_cf_')}::PalletSafeMode"
    return struct(f"{crate}::{path}", name=type_name, **dict.fromkeys(names, "bool"))


_RUNTIME = "state_chain_runtime"
_WITNESSING = "chainflip::witnessing"

enum("cf_traits::safe_mode::SafeModeSet<T>", "Green", "Red", "Amber(BTreeSet<T>)")
_switches("pallet_cf_emissions", "emissions_sync_enabled")
_switches("pallet_cf_funding", "redeem_enabled")
_switches(
    "pallet_cf_swapping",
    "swaps_enabled",
    "withdrawals_enabled",
    "broker_registration_enabled",
    "deposit_enabled",
)
_switches(
    "pallet_cf_validator", "authority_rotation_enabled", "start_bidding_enabled", "stop_bidding_enabled"
)
_switches("pallet_cf_pools", "range_order_update_enabled", "limit_order_update_enabled")
_switches(
    "pallet_cf_trading_strategy",
    "strategy_updates_enabled",
    "strategy_closure_enabled",
    "strategy_execution_enabled",
)
struct(
    "pallet_cf_lending_pools::PalletSafeMode",
    name="lending_pools::PalletSafeMode",
    add_boost_funds_enabled="bool",
    stop_boosting_enabled="bool",
    borrowing="SafeModeSet<Asset>",
    add_lender_funds="SafeModeSet<Asset>",
    withdraw_lender_funds="SafeModeSet<Asset>",
    liquidations_enabled="bool",
)
_switches("pallet_cf_reputation", "reporting_enabled")
_switches("pallet_cf_asset_balances", "reconciliation_enabled")
_switches("pallet_cf_threshold_signature", "slashing_enabled")
_switches("pallet_cf_broadcast", "retry_enabled", "egress_witnessing_enabled")
_switches(
    "pallet_cf_ingress_egress",
    "boost_deposits_enabled",
    "deposit_channel_creation_enabled",
    "deposit_channel_witnessing_enabled",
    "vault_deposit_witnessing_enabled",
)
_switches(
    _RUNTIME,
    "oracle_price_elections",
    path=f"{_WITNESSING}::generic_elections::GenericElectionsSafeMode",
    name="GenericElectionsSafeMode",
)
_switches(
    _RUNTIME,
    "state_chain_gateway_witnessing",
    "key_manager_witnessing",
    "sc_utils_witnessing",
    path=f"{_WITNESSING}::ethereum_elections::EthereumElectionsSafeMode",
    name="EthereumElectionsSafeMode",
)


def _elections(chains: Mapping[str, ChainInstance]) -> list[str]:
    """Return the EVM chains with elections for their key manager alone; Ethereum's have more."""
    return [name for name, chain in chains.items() if chain.is_evm and name != "Ethereum"]


for _chain in _elections(CHAIN_INSTANCES):
    _switches(
        _RUNTIME,
        "key_manager_witnessing",
        path=f"{_WITNESSING}::{_chain.lower()}_elections::{_chain}ElectionsSafeMode",
        name=f"{_chain}ElectionsSafeMode",
    )

enum(
    "pallet_cf_witnesser::PalletSafeMode<CallPermission>",
    "CodeGreen",
    "CodeRed",
    "CodeAmber(CallPermission)",
    name="witnesser::PalletSafeMode",
)

enum("pallet_cf_environment::SafeModeUpdate", "CodeRed", "CodeGreen", "CodeAmber(RuntimeSafeMode)")

_WITNESSED = ("broadcast", "chain_tracking", "ingress_egress", "vault")


def _witnesser_switches(release: Release) -> list[str]:
    """Return the switches of witnesses' subjects, chain by chain."""
    return [
        f"{chain.lower()}_{subject}"
        for chain, instance in release.chains.items()
        for subject in (("broadcast", "vault") if instance.closed_by_election else _WITNESSED)
    ]


def boards_of_chains(release: Release) -> list[str]:
    """Return the chains, lower case, in the order of boards and counts: Bitcoin is before Polkadot."""
    other_chains = [chain.lower() for chain in release.chains if chain not in ("Ethereum", "Bitcoin")]
    return ["ethereum", "bitcoin", *other_chains]


def _boards(release: Release) -> dict[str, str]:
    """Return the boards of `RuntimeSafeMode`, in order, by member name."""
    chains = boards_of_chains(release)
    return {
        "emissions": "emissions::PalletSafeMode",
        "funding": "funding::PalletSafeMode",
        "swapping": "swapping::PalletSafeMode",
        "liquidity_provider": "lp::PalletSafeMode",
        "validator": "validator::PalletSafeMode",
        "pools": "pools::PalletSafeMode",
        "trading_strategies": "trading_strategy::PalletSafeMode",
        "lending_pools": "lending_pools::PalletSafeMode",
        "reputation": "reputation::PalletSafeMode",
        "asset_balances": "asset_balances::PalletSafeMode",
        **{
            f"threshold_signature_{key}": "threshold_signature::PalletSafeMode"
            for key in ("evm", "bitcoin", "polkadot", "solana")
        },
        **{f"broadcast_{chain}": "broadcast::PalletSafeMode" for chain in chains},
        "witnesser": "witnesser::PalletSafeMode<WitnesserCallPermission>",
        **{f"ingress_egress_{chain}": "ingress_egress::PalletSafeMode" for chain in chains},
        "elections_generic": "GenericElectionsSafeMode",
        "ethereum_elections": "EthereumElectionsSafeMode",
        **{f"{chain.lower()}_elections": f"{chain}ElectionsSafeMode" for chain in _elections(release.chains)},
    }


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    provider = ("deposit_enabled", "withdrawal_enabled", "internal_swaps_enabled")
    added_members = ("flip_to_on_chain_balance_enabled",) if release.rules.balances_can_fund else ()
    members = dict.fromkeys((*provider, *added_members), "bool")
    catalog.struct("pallet_cf_lp::PalletSafeMode", name="lp::PalletSafeMode", **members)
    switches = ("governance", "funding", "swapping", *_witnesser_switches(release))
    path = "state_chain_runtime::safe_mode::WitnesserCallPermission"
    catalog.struct(path, **dict.fromkeys(switches, "bool"))
    catalog.struct("state_chain_runtime::safe_mode::__inner::RuntimeSafeMode", **_boards(release))


def all_green(runtime: OwnersRuntime) -> values.RuntimeSafeMode:
    """Return the value of `RuntimeSafeMode` with everything switched on."""
    return _all(runtime.types.catalog, on=True)


def all_red(runtime: OwnersRuntime) -> values.RuntimeSafeMode:
    """Return the value of `RuntimeSafeMode` with everything switched off."""
    return _all(runtime.types.catalog, on=False)


def _all(catalog: Catalog, *, on: bool) -> values.RuntimeSafeMode:
    safe_mode = _value(catalog, TypeName("RuntimeSafeMode"), on=on)
    assert isinstance(safe_mode, values.RuntimeSafeMode)
    return safe_mode


def _value(catalog: Catalog, expression: Expression, *, on: bool) -> object:
    if expression == TypeName("bool"):
        return on
    assert isinstance(expression, TypeName)
    declaration = catalog.get(expression.name)
    assert declaration is not None
    body = declaration.make()
    if isinstance(body, Struct):
        form = values.FORMS[expression.name]
        assert isinstance(form, type)
        return form(**{str(name): _value(catalog, field, on=on) for name, field in body.fields})
    assert isinstance(body, Enum)
    names = [name for _, name, _, _ in body.variants]
    return next(name for name in names if name.endswith("Green" if on else "Red"))
