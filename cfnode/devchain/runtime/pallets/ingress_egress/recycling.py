"""End of deposit channels and of boosts, and the reuse of channel addresses.

A channel whose time is over is removed. An EVM contract that was deployed, or an Assethub account, serves a
later channel. A boosted deposit that never became final is then lost to those who paid for it; a vault swap
has no channel, so it has a timeout of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import ChainInstance
from cfnode.devchain.runtime.pallets.boost_funding import BoostFunding

from .deposits import Transaction, is_boosted
from .storage import IngressEgressStorage

__all__ = [
    "Lifecycle",
    "State",
    "cancel_timeout",
    "expire_boosts",
    "lifecycle",
    "recycle_expired",
    "recycled_state",
    "start_timeout",
]

_Timeout = tuple[Transaction, tuple[int, str]]
"""The vault's name for a deposit, the height at which it is lost, and its asset."""
State = values.DeploymentStatus | values.DepositAddress | tuple[()] | int
"""State of a channel's address, by the kind of its chain."""


class Lifecycle(NamedTuple):
    """From which height of its chain on a channel counts deposits, until when, and when it is forgotten."""

    opened_at: int
    expires_at: int
    recycled_at: int


def lifecycle(pallet: IngressEgressStorage) -> Lifecycle:
    """Return the heights of a channel that opens now.

    It is listed for another lifetime after it has expired.
    """
    opened_at = pallet.tracking.height() + pallet.chain.witness_period
    lifetime = pallet.DepositChannelLifetime.get()
    expires_at = pallet.chain.after_period(opened_at + lifetime)
    return Lifecycle(opened_at, expires_at, pallet.chain.after_period(expires_at + lifetime))


def recycled_state(chain: ChainInstance, state: State) -> State | None:
    """Return the state in which a channel waits for its next owner, or None if none can use it.

    A deployed contract can take deposits again, one that was never deployed was never paid to; one that was
    being deployed counts as deployed at height 0. Accounts of Substrate chains always serve again, Bitcoin
    outputs and Solana accounts never.
    """
    if chain.is_evm:
        if state == "Undeployed":
            return None
        return values.DeploymentStatusDeployed(0) if state == "Pending" else state
    return state if chain.family.signer == "PolkadotThresholdSigner" else None


def recycle_expired(pallet: IngressEgressStorage) -> None:
    """Remove the channels whose time is over; keep the addresses that can be used again."""
    reached = _reached(pallet)
    queue = sorted(pallet.DepositChannelRecycleBlocks.get(), key=lambda entry: entry[0])
    due = [address for height, address in queue if height <= reached]
    if due:
        pallet.DepositChannelRecycleBlocks.put(queue[len(due) :])
    for address in due:
        details = pallet.DepositChannelLookup.take(address)
        if details is not None:
            _recycle(pallet, details.deposit_channel)
            _lose_boost(pallet, details.deposit_channel.asset, details.boost_status)


def start_timeout(pallet: IngressEgressStorage, transaction: Transaction, asset: str) -> None:
    """Let a boosted vault swap be lost when a channel that opens now would be removed."""
    if pallet.runtime.release.rules.boosted_vault_swaps_expire:
        timeout = (transaction, (lifecycle(pallet).recycled_at, asset))
        other_timeouts = _timeouts_without(pallet, transaction)
        pallet.BoostedVaultTransactionTimeout.put(sorted([*other_timeouts, timeout], key=_order))


def cancel_timeout(pallet: IngressEgressStorage, transaction: Transaction) -> None:
    """Remove the timeout of a boosted vault swap that is final."""
    if pallet.runtime.release.rules.boosted_vault_swaps_expire:
        pallet.BoostedVaultTransactionTimeout.put(_timeouts_without(pallet, transaction))


def expire_boosts(pallet: IngressEgressStorage) -> None:
    """Write off boosted vault swaps that were not final in time, at the boosters' loss."""
    if not pallet.runtime.release.rules.boosted_vault_swaps_expire:
        return
    reached, queue = _reached(pallet), pallet.BoostedVaultTransactionTimeout.get()
    due = [entry for entry in queue if entry[1][0] <= reached]
    if due:
        pallet.BoostedVaultTransactionTimeout.put([entry for entry in queue if entry not in due])
    for transaction, (_, asset) in due:
        _lose_boost(pallet, asset, pallet.BoostedVaultTransactions.get(transaction))
        pallet.BoostedVaultTransactions.remove(transaction)


def _timeouts_without(pallet: IngressEgressStorage, transaction: Transaction) -> list[_Timeout]:
    return [entry for entry in pallet.BoostedVaultTransactionTimeout.get() if entry[0] != transaction]


def _order(timeout: _Timeout) -> tuple[int, int] | bytes | tuple[bytes, int]:
    """Return the sort key of a timeout: entries of a map are in the order of their keys."""
    transaction = timeout[0]
    if isinstance(transaction, values.TxId):
        return transaction.block_number, transaction.extrinsic_index
    return transaction


def _reached(pallet: IngressEgressStorage) -> int:
    """Return the height that the pallet's chain has passed for certain."""
    if pallet.chain.name in pallet.runtime.release.rules.height_ends_channels:
        return pallet.tracking.height()
    processed: int = pallet.ProcessedUpTo.get()
    return processed


def _lose_boost(pallet: IngressEgressStorage, asset: str, status: values.BoostStatus[int, int]) -> None:
    if is_boosted(status):
        number = status.prewitnessed_deposit_id
        pallet.other(BoostFunding).lose_boost(asset, number)
        pallet.deposit(pallet.Event.BoostedDepositLost, prewitnessed_deposit_id=number, amount=status.amount)


def _recycle(pallet: IngressEgressStorage, channel: values.DepositChannel) -> None:
    state = recycled_state(pallet.chain, channel.state)
    if state is not None:
        pallet.DepositChannelPool.put(channel.channel_id, replace(channel, state=state))
