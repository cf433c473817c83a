"""How does a deposit channel open, and how does it end?

‹Chain›IngressEgress (pallet_cf_ingress_egress). Opening a channel takes the fee, finds an address (kept back
for the account, left over from an old channel, or newly derived), and writes down what is to happen with a
deposit. The channel counts deposits for `DepositChannelLifetime` blocks of its chain, is listed for as long
again, and is then recycled: an EVM contract that was deployed, or an Assethub account, serves a later
channel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import Origin, call, constant, migration
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.boost_funding import BoostFunding
from cfnode.devchain.runtime.pallets.chain_pallet import per_chain
from cfnode.devchain.runtime.pallets.environment import Environment
from cfnode.devchain.runtime.pallets.flip import Flip

from .batching import join_outputs, send_batches, send_messages
from .boost_delay import process_prewitnessed
from .delay import process_delayed
from .deposits import Account, Transaction, is_boosted
from .derivation import derive, is_fresh
from .egress import ScheduledEgress, schedule_egress
from .fallback import broadcast_aborted, review_failed_calls
from .governance import IngressEgressGovernance
from .parameters import CHANNEL_OPENING_FEE, DUST_LIMITS, MINIMUM_DEPOSITS
from .recycling import recycled_state
from .rejection import expire_marks, mark_channel, mark_transaction, send_rejected
from .upgrades import name_deposits_by_block

__all__ = ["INGRESS_EGRESS", "IngressEgress", "OpenedChannel", "ScheduledEgress"]

MAX_CHANNEL_ID = 2**64 - 1
# A contract costs gas to deploy, so no addresses are made in advance there.
NEVER_IN_ADVANCE = frozenset({"Ethereum", "Arbitrum", "Tron", "Bsc"})


@dataclass(frozen=True, slots=True)
class OpenedChannel:
    """What opening a channel gives; `address` is an account of the chain, heights are the chain's own."""

    channel_id: int
    address: Account
    expires_at: int
    opening_fee: int


class IngressEgress(IngressEgressGovernance):
    """Deposit channels and scheduled transfers of one chain."""

    def genesis(self, config: DevGenesis) -> None:
        self.DepositChannelLifetime.put(self.chain.lifetime)
        self.ChannelOpeningFee.put(CHANNEL_OPENING_FEE)
        if self.chain.safety_margin is not None:
            self.WitnessSafetyMargin.put(self.chain.safety_margin)
        for known in self.runtime.release.assets_of(self.chain.name):
            self.MinimumDeposit.put(known.name, MINIMUM_DEPOSITS[self.chain.name][known.name])
        for asset, amount in DUST_LIMITS.get(self.chain.name, {}).items():
            self.EgressDustLimit.put(asset, amount)

    @migration("2.3.0")
    def name_deposits(self) -> None:
        """Deposits on Assethub get other names."""
        if self.chain.name == "Assethub":
            name_deposits_by_block(self)

    def on_initialize(self, number: int) -> None:
        """Take the deposits that have waited for this block."""
        process_prewitnessed(self, number)
        process_delayed(self, number)

    # Rejecting

    @call(12, tx_id="TransactionInId")
    def mark_transaction_for_rejection(self, origin: Origin, tx_id: Transaction) -> None:
        """Refuse a transaction's deposits on the caller's channels. Brokers."""
        mark_transaction(self, self.other(AccountRoles).ensure_broker(origin), tx_id)

    @call(14, deposit_address="Account")
    def mark_deposit_channel_for_rejection(self, origin: Origin, deposit_address: Account) -> None:
        """Refuse all further deposits on a channel of the caller's. Brokers."""
        mark_channel(self, self.other(AccountRoles).ensure_broker(origin), deposit_address)

    # Opening

    def open_channel(
        self,
        owner: bytes,
        asset: str,
        action: values.ChannelAction[bytes, values.CheckedCcm, Account],
        boost_fee: int,
    ) -> OpenedChannel:
        """Open a channel for `owner`, who pays the opening fee from liquid FLIP.

        A deposit triggers `action`.
        """
        self.ensure(self.chain.name not in self.runtime.release.left, self.Error.ChainDeprecated)
        self.ensure(self._may_open(), self.Error.DepositChannelCreationDisabled)
        opening_fee = self.ChannelOpeningFee.get()
        self.other(Flip).burn_liquid(owner, opening_fee)
        self.deposit(self.Event.ChannelOpeningFeePaid, fee=opening_fee)

        channel = self._allocate(owner, asset)
        opened_at = self.tracking.height() + self.chain.witness_period
        lifetime = self.DepositChannelLifetime.get()
        expires_at = self.chain.after_period(opened_at + lifetime)
        self._recycle_at(self._recycle_height(expires_at, lifetime), channel.address)
        self.DepositChannelLookup.put(
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
        return OpenedChannel(channel.channel_id, channel.address, expires_at, opening_fee)

    def next_channel_id(self) -> int:
        """Take the next channel id of the chain; the first is 1."""
        last: int = self.ChannelIdCounter.get()
        self.ensure(last < MAX_CHANNEL_ID, self.Error.ChannelIdsExhausted)
        self.ChannelIdCounter.put(last + 1)
        return last + 1

    def _may_open(self) -> bool:
        member = f"ingress_egress_{self.chain.name.lower()}"
        return self.other(Environment).safe_mode(member, "deposit_channel_creation_enabled")

    def _allocate(self, owner: bytes, asset: str) -> values.DepositChannel:
        """A channel for the account: the first kept back for it, after the store has been filled up."""
        limit = self.MaximumPreallocatedChannels.get(self.other(AccountRoles).role(owner) or "Unregistered")
        kept = [each for each in self.PreallocatedChannels.get(owner) if is_fresh(self, each)]
        while len(kept) <= limit:
            channel = self._from_pool()
            if channel is None:
                if not self._is_made_in_advance():
                    break
                channel = self._generate(asset)
            kept.append(channel)
        channel = kept.pop(0) if kept else self._generate(asset)
        if kept:
            self.PreallocatedChannels.put(owner, kept)
        else:
            self.PreallocatedChannels.remove(owner)
        # The address stays that of the asset for which the channel was made.
        return replace(channel, asset=asset)

    def _is_made_in_advance(self) -> bool:
        on_tron = self.chain.name == "Tron" and self.runtime.release.rules.tron_addresses_in_advance
        return on_tron or self.chain.name not in NEVER_IN_ADVANCE

    def _from_pool(self) -> values.DepositChannel | None:
        for channel_id, channel in self.DepositChannelPool.items():
            self.DepositChannelPool.remove(channel_id)
            if is_fresh(self, channel):
                return channel
        return None

    def _generate(self, asset: str) -> values.DepositChannel:
        channel_id = self.next_channel_id()
        address, state = derive(self, channel_id, asset)
        return values.DepositChannel(channel_id=channel_id, address=address, asset=asset, state=state)

    # The end of a channel

    def _recycle_height(self, expires_at: int, lifetime: int) -> int:
        """A channel is listed for another lifetime; on Solana an election closes it when it expires."""
        return expires_at if self.chain.name == "Solana" else self.chain.after_period(expires_at + lifetime)

    def _recycled_up_to(self) -> int:
        """Channels of Assethub and Solana go by the chain's height, others by what has been witnessed."""
        if self.chain.name in ("Assethub", "Solana"):
            return self.tracking.height()
        processed: int = self.ProcessedUpTo.get()
        return processed

    def _recycle_at(self, height: int, address: Account) -> None:
        self.DepositChannelRecycleBlocks.mutate(lambda queue: [*queue, (height, address)])

    def on_idle(self, number: int) -> None:
        """Forget the channels whose time is over, and marks; keep the addresses that can be used again."""
        reached = self._recycled_up_to()
        queue = sorted(self.DepositChannelRecycleBlocks.get(), key=lambda entry: entry[0])
        due = [address for height, address in queue if height <= reached]
        if due:
            self.DepositChannelRecycleBlocks.put(queue[len(due) :])
        for address in due:
            details = self.DepositChannelLookup.take(address)
            if details is not None:
                self._recycle(details.deposit_channel)
                self._report_lost_boost(details)
        if self.Constant.AllowTransactionReports:
            expire_marks(self, number)

    def _report_lost_boost(self, details: values.DepositChannelDetails) -> None:
        status = details.boost_status
        if is_boosted(status):
            number = status.prewitnessed_deposit_id
            self.other(BoostFunding).lose_boost(details.deposit_channel.asset, number)
            self.deposit(self.Event.BoostedDepositLost, prewitnessed_deposit_id=number, amount=status.amount)

    def _recycle(self, channel: values.DepositChannel) -> None:
        state = recycled_state(self.chain, channel.state)
        if state is not None:
            self.DepositChannelPool.put(channel.channel_id, replace(channel, state=state))

    def on_finalize(self, number: int) -> None:
        """Send what waits. Everything up to a safe distance below the chain's height has been witnessed."""
        if not self.chain.tracked:
            return
        send_batches(self)
        join_outputs(self)
        send_messages(self)
        if self.chain.is_evm:
            review_failed_calls(self)
        send_rejected(self)
        safe = self.tracking.height() - (self.chain.safety_buffer or 0)
        processed = self.chain.period_start(max(0, safe))
        if processed > self.ProcessedUpTo.get():
            self.ProcessedUpTo.put(processed)

    def on_broadcast_aborted(self, chain: str, broadcast_id: int) -> None:
        if chain == self.chain.name:
            broadcast_aborted(self, broadcast_id)

    # Egress

    def schedule_egress(
        self,
        asset: str,
        amount: int,
        destination: Account,
        ccm: values.CheckedCcmDeposit | None = None,
    ) -> ScheduledEgress:
        """Queue a transfer of `amount` less the fee. BelowEgressDustLimit if too little would arrive."""
        return schedule_egress(self, asset, amount, destination, ccm)


INGRESS_EGRESS = per_chain(IngressEgress, lambda chain: chain.ingress_egress_index)


class _NoReports(IngressEgress.Constant):
    AllowTransactionReports = constant("bool", False)


for _name in ("Polkadot", "Assethub"):  # brokers cannot report transactions there
    INGRESS_EGRESS[_name].Constant = _NoReports  # type: ignore[misc]
