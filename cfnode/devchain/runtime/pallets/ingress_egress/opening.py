"""Opening of deposit channels.

The owner pays the fee, and the channel gets an address: kept back for the account, left over from an old
channel, or newly derived. The action for a deposit is stored with it. The channel counts deposits for
`DepositChannelLifetime` blocks of its chain, and is listed for as long again (`recycling`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip

from .deposits import Account
from .derivation import derive, is_fresh
from .recycling import lifecycle
from .storage import IngressEgressStorage

__all__ = ["ChannelOpening", "next_channel_id", "open_channel"]

MAX_U64 = 2**64 - 1


@dataclass(frozen=True, slots=True)
class ChannelOpening:
    """Result of opening a channel; `address` is an account of the chain, heights are the chain's own."""

    channel_id: int
    address: Account
    expires_at: int
    opening_fee: int


def open_channel(
    pallet: IngressEgressStorage,
    owner: bytes,
    asset: str,
    action: values.ChannelAction[bytes, values.CheckedCcm, Account],
    boost_fee: int,
) -> ChannelOpening:
    """Open a channel for `owner`, who pays the opening fee from liquid FLIP.

    A deposit triggers `action`.
    """
    pallet.ensure(pallet.chain.name not in pallet.runtime.release.left, pallet.Error.ChainDeprecated)
    pallet.ensure(_may_open(pallet), pallet.Error.DepositChannelCreationDisabled)
    opening_fee = pallet.ChannelOpeningFee.get()
    pallet.other(Flip).burn_liquid(owner, opening_fee)
    pallet.deposit(pallet.Event.ChannelOpeningFeePaid, fee=opening_fee)

    channel = _allocate(pallet, owner, asset)
    opened_at, expires_at, recycled_at = lifecycle(pallet)
    _recycle_at(pallet, expires_at if pallet.chain.closed_by_election else recycled_at, channel.address)
    pallet.DepositChannelLookup.put(
        channel.address,
        values.DepositChannelDetails(
            owner=owner,
            deposit_channel=channel,
            opened_at=opened_at,
            expires_at=expires_at,
            action=action,
            boost_fee=boost_fee,
            boost_status="NotBoosted",
            is_marked_for_rejection=False,
        ),
    )
    return ChannelOpening(channel.channel_id, channel.address, expires_at, opening_fee)


def next_channel_id(pallet: IngressEgressStorage) -> int:
    """Take the next channel id of the chain; the first is 1."""
    last_id: int = pallet.ChannelIdCounter.get()
    pallet.ensure(last_id < MAX_U64, pallet.Error.ChannelIdsExhausted)
    pallet.ChannelIdCounter.put(last_id + 1)
    return last_id + 1


def _may_open(pallet: IngressEgressStorage) -> bool:
    member = f"ingress_egress_{pallet.chain.name.lower()}"
    return pallet.other(EnvironmentStorage).safe_mode(member, "deposit_channel_creation_enabled")


def _allocate(pallet: IngressEgressStorage, owner: bytes, asset: str) -> values.DepositChannel:
    """Return a channel for the account: the first kept back for it, once enough are kept back."""
    limit = pallet.MaximumPreallocatedChannels.get(pallet.other(AccountRoles).role(owner) or "Unregistered")
    channels = [entry for entry in pallet.PreallocatedChannels.get(owner) if is_fresh(pallet, entry)]
    while len(channels) <= limit:
        channel = _from_pool(pallet)
        if channel is None:
            if not _is_made_in_advance(pallet):
                break
            channel = _generate(pallet, asset)
        channels.append(channel)
    channel = channels.pop(0) if channels else _generate(pallet, asset)
    if channels:
        pallet.PreallocatedChannels.put(owner, channels)
    else:
        pallet.PreallocatedChannels.remove(owner)
    # The address stays that of the asset for which the channel was made.
    return replace(channel, asset=asset)


def _is_made_in_advance(pallet: IngressEgressStorage) -> bool:
    """Return whether addresses are derived before they are asked for; an EVM contract costs gas to deploy."""
    return not pallet.chain.is_evm or pallet.chain.name in pallet.runtime.release.rules.contracts_in_advance


def _from_pool(pallet: IngressEgressStorage) -> values.DepositChannel | None:
    for channel_id, channel in pallet.DepositChannelPool.items():
        pallet.DepositChannelPool.remove(channel_id)
        if is_fresh(pallet, channel):
            return channel
    return None


def _generate(pallet: IngressEgressStorage, asset: str) -> values.DepositChannel:
    channel_id = next_channel_id(pallet)
    address, state = derive(pallet, channel_id, asset)
    return values.DepositChannel(channel_id=channel_id, address=address, asset=asset, state=state)


def _recycle_at(pallet: IngressEgressStorage, height: int, address: Account) -> None:
    pallet.DepositChannelRecycleBlocks.mutate(lambda queue: [*queue, (height, address)])
