"""How does a deposit channel end, and can its address serve another one?

A channel whose time is over is forgotten. An EVM contract that was deployed, or an Assethub account, serves a
later channel.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import ChainInstance
from cfnode.devchain.runtime.pallets.boost_funding import BoostFunding

from .deposits import is_boosted
from .storage import IngressEgressStorage

__all__ = ["State", "recycle_expired", "recycled_state"]

State = values.DeploymentStatus | values.DepositAddress | tuple[()] | int
"""What a channel remembers about its address, by the kind of its chain."""


def recycled_state(chain: ChainInstance, state: State) -> State | None:
    """The state in which the channel waits for its next owner, or None if it is gone for good.

    A deployed contract can take deposits again, one that was never deployed was never paid to; one that was
    being deployed counts as deployed since ever. Accounts of Substrate chains always serve again, Bitcoin
    outputs and Solana accounts never.
    """
    if chain.family.signer == "EvmThresholdSigner":
        if state == "Undeployed":
            return None
        return values.DeploymentStatusDeployed(0) if state == "Pending" else state
    return state if chain.family.signer == "PolkadotThresholdSigner" else None


def recycle_expired(pallet: IngressEgressStorage) -> None:
    """Forget the channels whose time is over; keep the addresses that can be used again."""
    reached = _recycled_up_to(pallet)
    queue = sorted(pallet.DepositChannelRecycleBlocks.get(), key=lambda entry: entry[0])
    due = [address for height, address in queue if height <= reached]
    if due:
        pallet.DepositChannelRecycleBlocks.put(queue[len(due) :])
    for address in due:
        details = pallet.DepositChannelLookup.take(address)
        if details is not None:
            _recycle(pallet, details.deposit_channel)
            _report_lost_boost(pallet, details)


def _recycled_up_to(pallet: IngressEgressStorage) -> int:
    """Channels of Assethub and Solana go by the chain's height, others by what has been witnessed."""
    if pallet.chain.name in ("Assethub", "Solana"):
        return pallet.tracking.height()
    processed: int = pallet.ProcessedUpTo.get()
    return processed


def _report_lost_boost(pallet: IngressEgressStorage, details: values.DepositChannelDetails) -> None:
    status = details.boost_status
    if is_boosted(status):
        number = status.prewitnessed_deposit_id
        pallet.other(BoostFunding).lose_boost(details.deposit_channel.asset, number)
        pallet.deposit(pallet.Event.BoostedDepositLost, prewitnessed_deposit_id=number, amount=status.amount)


def _recycle(pallet: IngressEgressStorage, channel: values.DepositChannel) -> None:
    state = recycled_state(pallet.chain, channel.state)
    if state is not None:
        pallet.DepositChannelPool.put(channel.channel_id, replace(channel, state=state))
