"""How does a deposit channel open, and how does it end?

‹Chain›IngressEgress (pallet_cf_ingress_egress). Opening a channel takes the fee, finds an address (kept back
for the account, left over from an old channel, or newly derived), and writes down what is to happen with a
deposit. The channel counts deposits for `DepositChannelLifetime` blocks of its chain, is listed for as long
again, and is then recycled: an EVM contract that was deployed, or an Assethub account, serves a later
channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import gas_asset
from cfnode.runtime.dev.frame import ErrorSet, EventSet, Map, Value, event
from cfnode.runtime.dev.pallets.account_roles import AccountRoles
from cfnode.runtime.dev.pallets.chain_pallet import ChainPallet, per_chain
from cfnode.runtime.dev.pallets.chain_tracking import CHAIN_TRACKING, ChainTracking
from cfnode.runtime.dev.pallets.environment import Environment
from cfnode.runtime.dev.pallets.flip import Flip

from .batching import send_batches, send_messages
from .derivation import derive
from .fallback import review_failed_calls
from .fees import egress_estimate, withhold
from .parameters import CHANNEL_OPENING_FEE, DUST_LIMITS, MINIMUM_DEPOSITS
from .recycling import recycled_state

__all__ = ["INGRESS_EGRESS", "IngressEgress", "OpenedChannel", "ScheduledEgress"]

MAX_CHANNEL_ID = 2**64 - 1
DEPRECATED = frozenset({"Polkadot"})
# A contract costs gas to deploy, so nobody makes addresses in advance there.
NEVER_IN_ADVANCE = frozenset({"Ethereum", "Arbitrum"})


@dataclass(frozen=True, slots=True)
class OpenedChannel:
    """What opening a channel gives; `address` is an account of the chain, heights are the chain's own."""

    channel_id: int
    address: Any
    expires_at: int
    opening_fee: int


@dataclass(frozen=True, slots=True)
class ScheduledEgress:
    """What scheduling a transfer gives: its id, what will arrive, and the fee in the egress asset."""

    egress_id: tuple[str, int]
    amount: int
    fee: int


class IngressEgress(ChainPallet):
    """Deposit channels and scheduled transfers of one chain."""

    crate = "pallet_cf_ingress_egress"

    DepositChannelLookup = Map("Twox64Concat", "Account", "DepositChannelDetails", optional=True)
    ChannelIdCounter = Value("u64")
    EgressIdCounter = Value("u64")
    ScheduledEgressFetchOrTransfer = Value("Vec<FetchOrTransfer>")
    ScheduledEgressCcm = Value("Vec<CrossChainMessage>")
    DisabledEgressAssets = Map("Twox64Concat", "ChainAsset", "()", optional=True)
    DepositChannelPool = Map("Twox64Concat", "u64", "DepositChannel", optional=True)
    MinimumDeposit = Map("Twox64Concat", "ChainAsset", "Amount")
    EgressDustLimit = Map("Twox64Concat", "ChainAsset", "u128", default=1)
    DepositChannelLifetime = Value("Height")
    FailedForeignChainCalls = Map("Twox64Concat", "u32", "Vec<FailedForeignChainCall>")
    DepositChannelRecycleBlocks = Value("Vec<(Height, Account)>")
    WitnessSafetyMargin = Value("Height", optional=True)
    ChannelOpeningFee = Value("u128")
    BoostDelayBlocks = Value("u32")
    IngressDelayBlocks = Value("u32")
    PrewitnessedDepositIdCounter = Value("PrewitnessedDepositId")
    ProcessedUpTo = Value("Height")
    BroadcastActions = Map("Twox64Concat", "u32", "BroadcastAction", optional=True)
    MaximumPreallocatedChannels = Map("Twox64Concat", "AccountRole", "u8")
    PreallocatedChannels = Map("Twox64Concat", "AccountId32", "Vec<DepositChannel>")

    class Event(EventSet):
        DepositFinalised = event(
            0,
            deposit_address="Option<Account>",
            asset="ChainAsset",
            amount="Amount",
            block_height="Height",
            deposit_details="DepositDetails",
            ingress_fee="Amount",
            max_boost_fee_bps="u16",
            action="DepositAction",
            channel_id="Option<u64>",
            origin_type="DepositOriginType",
        )
        CcmBroadcastRequested = event(2, broadcast_id="u32", egress_id="EgressId")
        BatchBroadcastRequested = event(5, broadcast_id="u32", egress_ids="Vec<EgressId>")
        TransferFallbackRequested = event(
            7,
            asset="ChainAsset",
            amount="Amount",
            destination_address="Account",
            broadcast_id="u32",
            egress_details="Option<ScheduledEgressDetails>",
        )
        CcmBroadcastFailed = event(8, broadcast_id="u32")
        FailedForeignChainCallResigned = event(9, broadcast_id="u32", threshold_signature_id="u32")
        FailedForeignChainCallExpired = event(10, broadcast_id="u32")
        DepositFetchesScheduled = event(4, channel_id="u64", asset="ChainAsset")
        DepositFailed = event(
            6, block_height="Height", reason="DepositFailedReason", details="DepositFailedDetails"
        )
        AssetEgressStatusChanged = event(1, asset="ChainAsset", disabled="bool")
        ChannelOpeningFeePaid = event(13, fee="u128")

    class Error(ErrorSet):
        InvalidDepositAddress = (
            "The deposit address is not valid. It may have expired or may never have been issued."
        )
        AssetMismatch = "A deposit was made using the wrong asset."
        ChannelIdsExhausted = "Channel ID has reached maximum"
        MissingPolkadotVault = "Polkadot's Vault Account does not exist in storage."
        MissingBitcoinVault = "Bitcoin's Vault key does not exist for the current epoch."
        BitcoinChannelIdTooLarge = "Channel ID is too large for Bitcoin address derivation"
        BelowEgressDustLimit = "The amount is below the minimum egress amount."
        SolanaAddressDerivationError = "Solana address derivation error."
        MissingSolanaApiEnvironment = (
            "Solana's Environment variables cannot be loaded via the SolanaEnvironment."
        )
        DepositChannelCreationDisabled = "Disabled due to safe mode for the chain"
        InvalidCcm = "CCM parameters from a vault swap failed validity check."
        UnsupportedChain = "Unsupported chain"
        TransactionAlreadyPrewitnessed = (
            "Transaction cannot be reported after being pre-witnessed or boosted."
        )
        MissingAssethubVault = "Assethub's Vault Account does not exist in storage."
        ChainDeprecated = "The Chain is deprecated, support is being phased out."
        CannotMarkChannel = "A channel is marked by an invalid account (not owner and not whitelisted)"

    def genesis(self, config: Any) -> None:
        self.DepositChannelLifetime.put(self.chain.lifetime)
        self.ChannelOpeningFee.put(CHANNEL_OPENING_FEE)
        if self.chain.safety_margin is not None:
            self.WitnessSafetyMargin.put(self.chain.safety_margin)
        for asset, amount in MINIMUM_DEPOSITS[self.chain.name].items():
            self.MinimumDeposit.put(asset, amount)
        for asset, amount in DUST_LIMITS.get(self.chain.name, {}).items():
            self.EgressDustLimit.put(asset, amount)

    @property
    def tracking(self) -> ChainTracking:
        """The tracking pallet of the same chain."""
        return self.other(CHAIN_TRACKING[self.chain.name])

    # Opening

    def open_channel(self, owner: bytes, asset: str, action: Any, boost_fee: int) -> OpenedChannel:
        """Open a channel for `owner`, who pays the opening fee from liquid FLIP.

        `action` is the value of the `ChannelAction` that a deposit triggers.
        """
        self.ensure(self.chain.name not in DEPRECATED, self.Error.ChainDeprecated)
        self.ensure(self._may_open(), self.Error.DepositChannelCreationDisabled)
        opening_fee = self.ChannelOpeningFee.get()
        self.other(Flip).burn_liquid(owner, opening_fee)
        self.deposit(self.Event.ChannelOpeningFeePaid, fee=opening_fee)

        channel = self._allocate(owner, asset)
        opened_at = self.tracking.height() + self.chain.witness_period
        lifetime = self.DepositChannelLifetime.get()
        expires_at = self.chain.after_period(opened_at + lifetime)
        self._recycle_at(self.chain.after_period(expires_at + lifetime), channel["address"])
        self.DepositChannelLookup.put(
            channel["address"],
            {
                "owner": owner,
                "deposit_channel": channel,
                "opened_at": opened_at,
                "expires_at": expires_at,
                "action": action,
                "boost_fee": boost_fee,
                "boost_status": "NotBoosted",
                "is_marked_for_rejection": False,
            },
        )
        return OpenedChannel(channel["channel_id"], channel["address"], expires_at, opening_fee)

    def next_channel_id(self) -> int:
        """Take the next channel id of the chain; the first is 1."""
        last: int = self.ChannelIdCounter.get()
        self.ensure(last < MAX_CHANNEL_ID, self.Error.ChannelIdsExhausted)
        self.ChannelIdCounter.put(last + 1)
        return last + 1

    def _may_open(self) -> bool:
        member = f"ingress_egress_{self.chain.name.lower()}"
        return self.other(Environment).safe_mode(member, "deposit_channel_creation_enabled")

    def _allocate(self, owner: bytes, asset: str) -> Any:
        """A channel for the account: the first kept back for it, after the store has been filled up."""
        limit = self.MaximumPreallocatedChannels.get(self.other(AccountRoles).role(owner) or "Unregistered")
        kept = self.PreallocatedChannels.get(owner)
        while len(kept) <= limit:
            channel = self._from_pool()
            if channel is None:
                if self.chain.name in NEVER_IN_ADVANCE:
                    break
                channel = self._generate(asset)
            kept.append(channel)
        channel = kept.pop(0) if kept else self._generate(asset)
        if kept:
            self.PreallocatedChannels.put(owner, kept)
        else:
            self.PreallocatedChannels.remove(owner)
        # The address stays that of the asset for which the channel was made.
        return channel | {"asset": asset}

    def _from_pool(self) -> Any:
        for channel_id, channel in self.DepositChannelPool.items():
            self.DepositChannelPool.remove(channel_id)
            return channel
        return None

    def _generate(self, asset: str) -> Any:
        channel_id = self.next_channel_id()
        address, state = derive(self, channel_id, asset)
        return {"channel_id": channel_id, "address": address, "asset": asset, "state": state}

    # The end of a channel

    def _recycle_at(self, height: int, address: Any) -> None:
        self.DepositChannelRecycleBlocks.mutate(lambda queue: [*queue, (height, address)])

    def on_idle(self, number: int) -> None:
        """Forget the channels whose time is over; keep the addresses that can be used again."""
        queue = self.DepositChannelRecycleBlocks.get()
        processed = self.ProcessedUpTo.get()
        due = [address for height, address in queue if height <= processed]
        if not due:
            return
        self.DepositChannelRecycleBlocks.put([entry for entry in queue if entry[0] > processed])
        for address in due:
            details = self.DepositChannelLookup.take(address)
            if details is not None:
                self._recycle(details["deposit_channel"])

    def _recycle(self, channel: Any) -> None:
        state = recycled_state(self.chain, channel["state"])
        if state is not None:
            self.DepositChannelPool.put(channel["channel_id"], channel | {"state": state})

    def on_finalize(self, number: int) -> None:
        """Send what waits. Everything up to a safe distance below the chain's height has been witnessed."""
        if not self.chain.tracked:
            return
        send_batches(self)
        send_messages(self)
        if self.chain.is_evm:
            review_failed_calls(self)
        safe = self.tracking.height() - (self.chain.safety_buffer or 0)
        processed = self.chain.period_start(max(0, safe))
        if processed > self.ProcessedUpTo.get():
            self.ProcessedUpTo.put(processed)

    # Egress

    def schedule_egress(self, asset: str, amount: int, destination: Any, ccm: Any = None) -> ScheduledEgress:
        """Queue a transfer of `amount` less the fee. BelowEgressDustLimit if too little would arrive.

        `ccm` is a value of `CcmDepositMetadata`, or None for a plain transfer.
        """
        self.ensure(self.chain.name not in DEPRECATED, self.Error.ChainDeprecated)
        number = self.EgressIdCounter.mutate(lambda last: last + 1)
        estimate = egress_estimate(self, asset, ccm and ccm["channel_metadata"])
        withheld = withhold(self, asset, amount, estimate)
        if withheld.remaining < self.EgressDustLimit.get(asset):
            # As on the main net the id is given back, and a fee swap already begun is not.
            self.EgressIdCounter.put(number - 1)
            self.fail(self.Error.BelowEgressDustLimit)
        egress_id = (self.chain.name, number)
        transfer = {
            "egress_id": egress_id,
            "asset": asset,
            "destination_address": destination,
            "amount": withheld.remaining,
        }
        if ccm is None:
            self.ScheduledEgressFetchOrTransfer.mutate(lambda queue: [*queue, ("Transfer", transfer)])
        else:
            origin = {name: ccm[name] for name in ("source_chain", "source_address")}
            message = transfer | ccm["channel_metadata"] | origin
            self.ScheduledEgressCcm.mutate(lambda queue: [*queue, message])
        return ScheduledEgress(egress_id, withheld.remaining, withheld.fee)

    @property
    def gas_asset(self) -> str:
        """The asset in which the chain takes its transaction fees."""
        return gas_asset(self.chain.name).name


INGRESS_EGRESS = per_chain(IngressEgress, lambda chain: chain.ingress_egress_index)
