"""The rules of each release: what its pallets do differently from those of other releases.

`Rules` names all rules; each release below has those in which it differs from the release before. Pallets
read `self.runtime.release.rules`, and nothing else compares versions. Storage items, calls, events and errors
of only some releases have a span in their declaration (`frame.span`); the chains and assets of a release are
in `releases`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["R2_2_3", "R2_2_9", "R2_3_0", "Rules", "TronEnergy"]


@dataclass(frozen=True, slots=True)
class TronEnergy:
    """Energy with which fees on Tron are estimated, beyond that of a batch: what each part of it takes."""

    fetch_token: int
    transfer: int
    transfer_token: int
    message: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules of pallets that differ between releases."""

    # Foreign chains

    tron_energy: TronEnergy
    contracts_in_advance: frozenset[str]
    """The EVM chains on which deposit addresses are reserved for accounts before they ask for them."""
    tron_refund_multiple: int
    """The least refund on Tron, in multiples of its fee, after an upgrade to the release."""
    refund_multiples_can_be_set: bool
    """Whether the least refund, in multiples of its fee, is in the state, by chain."""
    used_marks_stay: bool
    """Whether a mark that refused a deposit refuses those of its transaction until the next block."""
    rejections_below_dust_fail: bool
    """Whether a rejected deposit of which no more than dust is left is not sent back."""
    height_ends_channels: frozenset[str]
    """The chains whose channels end by the chain's height; others by what has been witnessed."""
    boosted_vault_swaps_expire: bool
    """Whether a boosted vault swap that does not become final is lost at a height, as a channel's deposit."""
    witnessed_chains: tuple[str, ...]
    """The chains whose witnessed events the runtime API returns, in the order of their variants."""

    # Accounts

    addresses_lie_with_balances: bool
    """Whether refund addresses, and those to which brokers are bound, are in the pallet of balances."""
    withdrawal_whitelists: bool
    """Whether an account may list the addresses for its assets; a change waits for its timelock."""
    bound_brokers_are_checked_first: bool
    """Whether a bound broker withdraws to no other address on Ethereum, even if it owns nothing."""
    withdrawals_share_checks: bool
    """Whether fees of brokers and affiliates share checks: safe mode, funds, and the address."""
    pending_swaps_bind_providers: bool
    """Whether a liquidity provider keeps its role as long as a swap on the chain is its own."""
    balances_can_fund: bool
    """Whether a liquidity provider may fund its account with FLIP of its balance."""

    # Authorities

    fees_can_be_rewards: bool
    """Whether fees are kept for the authorities, from the epoch on that governance names."""
    validators_limit_bids: bool
    """Whether a validator may limit its bid."""
    funding_moves_flip: bool
    """Whether FLIP from the vault is due to the gateway at once, not when the account's swap is done."""

    # Pools

    quotes_go_by_legs: bool
    """Whether a quote takes the network fee between the legs of a swap; otherwise from the input."""
    limit_orders_have_minimums: bool
    """Whether an asset has a least amount that may be left in a limit order which sells it."""
    lending_pools_owe_network: bool
    """Whether the lending pool owes the network's part of a boost's fee; otherwise it is taken at once."""


R2_2_3 = Rules(
    tron_energy=TronEnergy(65_000, 10_000, 75_000, 40_000),
    contracts_in_advance=frozenset({"Tron"}),
    tron_refund_multiple=100,
    refund_multiples_can_be_set=False,
    used_marks_stay=False,
    rejections_below_dust_fail=False,
    height_ends_channels=frozenset({"Assethub", "Solana"}),
    boosted_vault_swaps_expire=False,
    witnessed_chains=("Bitcoin", "Ethereum", "Arbitrum", "Tron"),
    addresses_lie_with_balances=False,
    withdrawal_whitelists=False,
    bound_brokers_are_checked_first=True,
    withdrawals_share_checks=False,
    pending_swaps_bind_providers=False,
    balances_can_fund=False,
    fees_can_be_rewards=False,
    validators_limit_bids=False,
    funding_moves_flip=False,
    quotes_go_by_legs=False,
    limit_orders_have_minimums=False,
    lending_pools_owe_network=True,
)

R2_2_9 = replace(
    R2_2_3,
    tron_energy=TronEnergy(66_000, 15_000, 80_000, 45_000),
    contracts_in_advance=frozenset(),
    tron_refund_multiple=15,
    refund_multiples_can_be_set=True,
    used_marks_stay=True,
    quotes_go_by_legs=True,
)

R2_3_0 = replace(
    R2_2_9,
    rejections_below_dust_fail=True,
    height_ends_channels=frozenset({"Solana"}),
    boosted_vault_swaps_expire=True,
    witnessed_chains=(*R2_2_9.witnessed_chains, "Bsc", "Assethub"),
    addresses_lie_with_balances=True,
    withdrawal_whitelists=True,
    bound_brokers_are_checked_first=False,
    withdrawals_share_checks=True,
    pending_swaps_bind_providers=True,
    balances_can_fund=True,
    fees_can_be_rewards=True,
    validators_limit_bids=True,
    funding_moves_flip=True,
    limit_orders_have_minimums=True,
    lending_pools_owe_network=False,
)
