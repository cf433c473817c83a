"""The `cf_monitoring_*` methods: the figures that operators watch (Chainflip's MonitoringRuntimeApi)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from cfnode.rpc.cf.accounts import info_v2
from cfnode.rpc.cf.method import Given, method
from cfnode.rpc.convert import ACCOUNT, listed
from cfnode.rpc.table import Method, Param

API: Final = "MonitoringRuntimeApi"
MAX_ACCOUNTS: Final = 10


def _row(
    name: str,
    doc: str,
    function: str | None = None,
    *,
    params: Sequence[Param] = (),
    bare: bool = False,
    then: Callable[[Any, Given], Any] | None = None,
) -> Method:
    return method(
        f"cf_monitoring_{name}",
        doc,
        params=params,
        api=API,
        function=function or f"cf_{name}",
        bare=bare,
        then=then,
    )


def _auction(result: list[Any], given: Given) -> dict[str, Any]:
    names = "auction_outcome", "operators_info", "new_validators", "current_mab"
    return dict(zip(names, result, strict=True))


METHODS: Final = (
    _row("authorities", "How many authorities and backups there are and are online."),
    _row("external_chains_block_height", "The block heights that the chain knows."),
    _row("btc_utxos", "The unspent Bitcoin outputs of the vault."),
    _row("dot_aggkey", "The aggregate key on Polkadot."),
    _row("suspended_validators", "How many validators are suspended, by offence."),
    _row("epoch_state", "Epoch and rotation."),
    _row("redemptions", "Redemptions that are pending; the amount is a number.", bare=True),
    _row("pending_broadcasts", "Broadcasts under way.", "cf_pending_broadcasts_count"),
    _row("pending_tss_ceremonies", "Signing ceremonies under way.", "cf_pending_tss_ceremonies_count"),
    _row("pending_swaps", "Swaps that wait.", "cf_pending_swaps_count"),
    _row("open_deposit_channels", "Open deposit channels.", "cf_open_deposit_channels_count"),
    _row("fee_imbalance", "What was paid for fees against what was taken for them."),
    _row("build_version", "The runtime's name and version."),
    _row("rotation_broadcast_ids", "The broadcasts that activate new keys."),
    _row("sol_nonces", "Solana's durable nonces, free and in use."),
    _row("sol_aggkey", "The aggregate key on Solana."),
    _row("sol_onchain_key", "The key that Solana's program has."),
    _row("data", "All of these in one.", "cf_monitoring_data"),
    _row(
        "accounts_info",
        "Validator information of up to ten accounts.",
        params=(Param("accounts", listed(ACCOUNT, MAX_ACCOUNTS)),),
        then=lambda result, given: [info_v2(entry) for entry in result],
    ),
    _row("simulate_auction", "How the next auction would end now.", "cf_simulate_auction", then=_auction),
)
