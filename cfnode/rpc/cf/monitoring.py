"""The `cf_monitoring_*` methods: the figures that operators watch (Chainflip's MonitoringRuntimeApi)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from cfnode.rpc.cf.accounts import info_v2
from cfnode.rpc.cf.method import Arguments, method
from cfnode.rpc.table.convert import ACCOUNT, listed
from cfnode.rpc.table.rows import Method, Param

API: Final = "MonitoringRuntimeApi"
MAX_ACCOUNTS_PER_CALL: Final = 10


def _row(
    name: str,
    doc: str,
    function: str | None = None,
    *,
    params: Sequence[Param] = (),
    plain_numbers: bool = False,
    reshape: Callable[[Any, Arguments], Any] | None = None,
) -> Method:
    return method(
        f"cf_monitoring_{name}",
        doc,
        params=params,
        api=API,
        function=function or f"cf_{name}",
        plain_numbers=plain_numbers,
        reshape=reshape,
    )


def _auction(result: list[Any], arguments: Arguments) -> dict[str, Any]:
    names = "auction_outcome", "operators_info", "new_validators", "current_mab"
    return dict(zip(names, result, strict=True))


METHODS: Final = (
    _row("authorities", "The number of authorities and backups, and how many of them are online."),
    _row("external_chains_block_height", "The State Chain's block heights of the foreign chains."),
    _row("btc_utxos", "The unspent Bitcoin outputs of the vault."),
    _row("dot_aggkey", "The aggregate key on Polkadot."),
    _row("suspended_validators", "The number of suspended validators by offence."),
    _row("epoch_state", "Epoch and rotation."),
    _row("redemptions", "Pending redemptions; the amount is a number.", plain_numbers=True),
    _row("pending_broadcasts", "The number of pending broadcasts.", "cf_pending_broadcasts_count"),
    _row(
        "pending_tss_ceremonies",
        "The number of pending signing ceremonies.",
        "cf_pending_tss_ceremonies_count",
    ),
    _row("pending_swaps", "The number of pending swaps.", "cf_pending_swaps_count"),
    _row("open_deposit_channels", "The number of open deposit channels.", "cf_open_deposit_channels_count"),
    _row("fee_imbalance", "The difference between fees withheld and fees paid, by chain."),
    _row("build_version", "The runtime's name and version."),
    _row("rotation_broadcast_ids", "The broadcasts that activate new keys."),
    _row("sol_nonces", "Solana's durable nonces, free and in use."),
    _row("sol_aggkey", "The aggregate key on Solana."),
    _row("sol_onchain_key", "The key that is set in Solana's program."),
    _row("data", "All of these in one.", "cf_monitoring_data"),
    _row(
        "accounts_info",
        "Validator information of up to ten accounts.",
        params=(Param("accounts", listed(ACCOUNT, MAX_ACCOUNTS_PER_CALL)),),
        reshape=lambda result, arguments: [info_v2(entry) for entry in result],
    ),
    _row("simulate_auction", "The outcome of an auction now.", "cf_simulate_auction", reshape=_auction),
)
