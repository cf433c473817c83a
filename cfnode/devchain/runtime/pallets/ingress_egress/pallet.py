"""Ingress-egress pallets of the foreign chains: their hooks, and the calls of brokers.

‹Chain›IngressEgress (pallet_cf_ingress_egress). Other pallets open a channel (`opening`) or queue a transfer
(`egress`); what was seen on the chain comes in by `delay` and `boost_delay`.
"""

from __future__ import annotations

from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import Origin, call, migration, part
from cfnode.devchain.runtime.frame.calls import Arguments
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.chain_pallet import ChainPallet, per_chain

from .batching import join_outputs, send_batches, send_messages
from .boost_delay import process_prewitnessed
from .delay import process_delayed
from .deposits import Account, Transaction
from .fallback import broadcast_aborted, review_failed_calls
from .governance import IngressEgressGovernance
from .recycling import expire_boosts, recycle_expired
from .rejection import expire_marks, mark_channel, mark_transaction, send_rejected
from .storage import INGRESS_EGRESS, IngressEgressStorage
from .upgrades import name_deposits_by_block

__all__ = ["INGRESS_EGRESS_PALLETS", "IngressEgress"]

CHANNEL_OPENING_FEE = 0  # in FLIP


class IngressEgress(ChainPallet):
    """Deposit channels and scheduled transfers of one chain."""

    crate = "pallet_cf_ingress_egress"

    storage = part(IngressEgressStorage)
    governance = part(IngressEgressGovernance, storage)

    def genesis(self, config: DevGenesis) -> None:
        """Store channel lifetime, fees, minimum deposits and dust limits of the chain."""
        self.storage.DepositChannelLifetime.put(self.chain.lifetime)
        self.storage.ChannelOpeningFee.put(CHANNEL_OPENING_FEE)
        if self.chain.safety_margin is not None:
            self.storage.WitnessSafetyMargin.put(self.chain.safety_margin)
        for asset in self.runtime.release.assets_of(self.chain.name):
            terms = self.chain.assets[asset.name]
            self.storage.MinimumDeposit.put(asset.name, terms.minimum_deposit)
            if terms.dust_limit is not None:
                self.storage.EgressDustLimit.put(asset.name, terms.dust_limit)

    @migration("2.3.0")
    def name_deposits(self) -> None:
        """Name the pending deposits on Assethub by block and extrinsic."""
        if self.chain.family.deposit_details == "TxId":
            name_deposits_by_block(self.storage)

    def on_initialize(self, number: int) -> None:
        """Process the deposits that have waited for this block."""
        process_prewitnessed(self.storage, number)
        process_delayed(self.storage, number)

    def on_idle(self, number: int) -> None:
        """Remove the channels, boosts and marks whose time is over; keep addresses that can be used again."""
        recycle_expired(self.storage)
        expire_boosts(self.storage)
        if self.storage.Constant.AllowTransactionReports:
            expire_marks(self.storage, number)

    def on_finalize(self, number: int) -> None:
        """Send what is queued, and set the height up to which the chain has been witnessed.

        That height lies a safe distance below the chain's.
        """
        if not self.chain.tracked:
            return
        send_batches(self.storage)
        join_outputs(self.storage)
        send_messages(self.storage)
        if self.chain.is_evm:
            review_failed_calls(self.storage)
        send_rejected(self.storage)
        safe_height = self.storage.tracking.height() - (self.chain.safety_buffer or 0)
        processed = self.chain.period_start(max(0, safe_height))
        if processed > self.storage.ProcessedUpTo.get():
            self.storage.ProcessedUpTo.put(processed)

    def on_broadcast_aborted(self, chain: str, broadcast_id: int) -> None:
        """Offer an aborted broadcast of this chain to its user, if it carries a message."""
        if chain == self.chain.name:
            broadcast_aborted(self.storage, broadcast_id)

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        """Raise ScaleError if an argument is longer than its bound."""
        self.governance.check_bounds(arguments)

    # Rejecting

    @call(12, tx_id="TransactionInId")
    def mark_transaction_for_rejection(self, origin: Origin, tx_id: Transaction) -> None:
        """Refuse a transaction's deposits on the caller's channels. Brokers."""
        mark_transaction(self.storage, self.other(AccountRoles).ensure_broker(origin), tx_id)

    @call(14, deposit_address="Account")
    def mark_deposit_channel_for_rejection(self, origin: Origin, deposit_address: Account) -> None:
        """Refuse all further deposits on a channel of the caller's. Brokers."""
        mark_channel(self.storage, self.other(AccountRoles).ensure_broker(origin), deposit_address)


INGRESS_EGRESS_PALLETS = per_chain(IngressEgress, lambda chain: chain.ingress_egress_index, INGRESS_EGRESS)
"""Ingress-egress pallets by chain, in the order of their hooks."""
