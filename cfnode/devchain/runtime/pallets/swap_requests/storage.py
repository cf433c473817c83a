"""Storage, events and errors of the swapping pallet.

Swapping (30, pallet_cf_swapping). `swapping.pallet` has the calls; pallets below it, such as ingress-egress,
need only this class to have a fee swapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    ErrorSet,
    EventSet,
    Map,
    OptionalDoubleMap,
    OptionalMap,
    PalletStorage,
    Value,
    before,
    event,
    since,
)
from cfnode.devchain.runtime.frame.stored import StoredMap
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances

__all__ = ["FLIP", "SwappingStorage"]

FLIP = 10**18


class SwappingStorage(PalletStorage):
    """Swap requests, scheduled swaps, brokers' settings and fees."""

    SwapRequests = OptionalMap[int, values.SwapRequest]("Twox64Concat", "SwapRequestId", "SwapRequest")
    ScheduledSwaps = Value[Sequence[tuple[int, values.Swap]]]("BTreeMap<SwapId, Swap>")
    SwapIdCounter = Value[int]("SwapId")
    SwapRequestIdCounter = Value[int]("SwapRequestId")
    CollectedRejectedFunds = Map[str, int]("Twox64Concat", "Asset", "u128")
    MaximumSwapAmount = OptionalMap[str, int]("Twox64Concat", "Asset", "u128")
    FlipToBurn = Value[int]("i128")
    FlipToBeSentToGateway = Value[int]("u128")
    FlipBuyInterval = Value[int]("u32")
    CollectedNetworkFee = Value[int]("u128")
    SwapRetryDelay = Value[int]("u32", default=5)
    MaxSwapRetryDurationBlocks = Value[int]("u32", default=600)
    MaxSwapRequestDurationBlocks = Value[int]("u32", default=14_400)
    MinimumChunkSize = Map[str, int]("Twox64Concat", "Asset", "u128")
    BrokerPrivateBtcChannels = OptionalMap[bytes, int]("Identity", "AccountId32", "u64")
    AffiliateIdMapping = OptionalDoubleMap[bytes, int, bytes](
        "Identity", "AccountId32", "Twox64Concat", "AffiliateShortId", "AccountId32"
    )
    AffiliateAccountDetails = OptionalDoubleMap[bytes, bytes, values.AffiliateDetails](
        "Identity", "AccountId32", "Identity", "AccountId32", "AffiliateDetails"
    )
    BrokerBond = Value[int]("u128", default=100 * FLIP)
    NetworkFee = Value[values.FeeRateAndMinimum]("FeeRateAndMinimum")
    InternalSwapNetworkFee = Value[values.FeeRateAndMinimum]("FeeRateAndMinimum")
    NetworkFeeForAsset = OptionalMap[str, int]("Twox64Concat", "Asset", "Permill")
    InternalSwapNetworkFeeForAsset = OptionalMap[str, int]("Twox64Concat", "Asset", "Permill")
    VaultSwapMinimumBrokerFee = Map[bytes, int]("Twox64Concat", "AccountId32", "u16")
    BoundBrokerWithdrawalAddress = OptionalMap[bytes, bytes](
        "Twox64Concat", "AccountId32", "H160", span=before("2.3.0")
    )
    DefaultOraclePriceSlippageProtection = Map[values.AssetPair, int](
        "Twox64Concat", "AssetPair", "u16", default=100
    )

    class Event(EventSet):
        """Events of swap requests, their chunks, fees and channels."""

        SwapRequested = event(
            0,
            swap_request_id="SwapRequestId",
            input_asset="Asset",
            input_amount="u128",
            output_asset="Asset",
            origin="SwapOrigin<AccountId32>",
            request_type="SwapRequestTypeGeneric<EncodedAddress, AccountId32>",
            broker_fees="BoundedVec<Beneficiary<AccountId32>>",
            price_limits_and_expiry="Option<PriceLimitsAndExpiry>",
            dca_parameters="Option<DcaParameters>",
        )
        SwapRequestCompleted = event(1, swap_request_id="SwapRequestId", reason="SwapRequestCompletionReason")
        SwapDepositAddressReady = event(
            2,
            deposit_address="EncodedAddress",
            destination_address="EncodedAddress",
            source_asset="Asset",
            destination_asset="Asset",
            channel_id="u64",
            broker_id="AccountId32",
            broker_commission_rate="u16",
            channel_metadata="Option<CheckedCcm>",
            source_chain_expiry_block="u64",
            boost_fee="u16",
            channel_opening_fee="u128",
            affiliate_fees="BoundedVec<Beneficiary<AccountId32>>",
            refund_parameters="RefundParameters",
            dca_parameters="Option<DcaParameters>",
        )
        SwapScheduled = event(
            3,
            swap_request_id="SwapRequestId",
            swap_id="SwapId",
            input_amount="u128",
            swap_type="SwapType",
            execute_at="u32",
        )
        SwapRescheduled = event(4, swap_id="SwapId", execute_at="u32", reason="SwapFailureReason")
        SwapExecuted = event(
            5,
            swap_request_id="SwapRequestId",
            swap_id="SwapId",
            input_asset="Asset",
            output_asset="Asset",
            input_amount="u128",
            network_fee="u128",
            broker_fee="u128",
            intermediate_amount="Option<u128>",
            output_amount="u128",
            oracle_delta="Option<SignedBasisPoints>",
            oracle_delta_ex_fees="Option<SignedBasisPoints>",
        )
        SwapEgressScheduled = event(
            6,
            swap_request_id="SwapRequestId",
            egress_id="EgressId",
            asset="Asset",
            amount="u128",
            egress_fee="(u128, Asset)",
        )
        RefundEgressScheduled = event(
            7,
            swap_request_id="SwapRequestId",
            egress_id="EgressId",
            asset="Asset",
            amount="u128",
            egress_fee="(u128, Asset)",
            refund_fee="u128",
        )
        WithdrawalRequested = event(
            8,
            account_id="AccountId32",
            egress_id="EgressId",
            egress_asset="Asset",
            egress_amount="u128",
            egress_fee="u128",
            destination_address="EncodedAddress",
        )
        BatchSwapFailed = event(9, asset="Asset", direction="SwapLeg", amount="u128")
        SwapAmountConfiscated = event(
            10,
            swap_request_id="SwapRequestId",
            asset="Asset",
            total_amount="u128",
            confiscated_amount="u128",
        )
        SwapEgressIgnored = event(
            11, swap_request_id="SwapRequestId", asset="Asset", amount="u128", reason="DispatchError"
        )
        RefundEgressIgnored = event(
            12, swap_request_id="SwapRequestId", asset="Asset", amount="u128", reason="DispatchError"
        )
        PrivateBrokerChannelOpened = event(13, broker_id="AccountId32", channel_id="u64")
        PrivateBrokerChannelClosed = event(14, broker_id="AccountId32", channel_id="u64")
        AffiliateRegistration = event(
            15,
            broker_id="AccountId32",
            short_id="AffiliateShortId",
            withdrawal_address="H160",
            affiliate_id="AccountId32",
        )
        CreditedOnChain = event(
            16, swap_request_id="SwapRequestId", account_id="AccountId32", asset="Asset", amount="u128"
        )
        RefundedOnChain = event(
            17,
            swap_request_id="SwapRequestId",
            account_id="AccountId32",
            asset="Asset",
            amount="u128",
            refund_fee="u128",
        )
        PalletConfigUpdated = event(18, update="swapping::PalletConfigUpdate")
        VaultSwapMinimumBrokerFeeSet = event(19, broker_id="AccountId32", minimum_fee_bps="u16")
        SwapAborted = event(20, swap_id="SwapId", reason="SwapFailureReason")
        AccountCreationDepositAddressReady = event(
            21,
            channel_id="u64",
            asset="Asset",
            deposit_address="EncodedAddress",
            requested_by="AccountId32",
            requested_for="AccountId32",
            deposit_chain_expiry_block="u64",
            boost_fee="u16",
            channel_opening_fee="u128",
            refund_address="EncodedAddress",
        )
        BoundBrokerWithdrawalAddress = event(22, broker="AccountId32", address="H160")
        AffiliateDeregistration = event(
            23, broker_id="AccountId32", short_id="AffiliateShortId", affiliate_account_id="AccountId32"
        )
        SentFlipToGateway = event(24, since("2.3.0"), amount="u128", egress_id="EgressId")
        FlipTransferToGatewaySkipped = event(25, since("2.3.0"), reason="DispatchError")

    class Error(ErrorSet):
        """Errors of swap requests, brokers and channels."""

        IncompatibleAssetAndAddress = "The provided asset and withdrawal address are incompatible."
        InvalidEgressAddress = "The Asset cannot be egressed because the destination address is not invalid."
        NoFundsAvailable = "The withdrawal is not possible because not enough funds are available."
        CcmUnsupportedForTargetChain = "The target chain does not support CCM."
        InvalidDestinationAddress = "The provided address could not be decoded."
        WithdrawalsDisabled = "Withdrawals are disabled due to Safe Mode."
        BrokerRegistrationDisabled = "Broker registration is disabled due to Safe Mode."
        BrokerCommissionBpsTooHigh = "Broker commission bps is limited to 1000 points."
        EarnedFeesNotWithdrawn = "Brokers should withdraw their earned fees before deregistering."
        InvalidCcm = "Failed to open deposit channel because the CCM message is invalid."
        ZeroBuyIntervalNotAllowed = "Setting the buy interval to zero is not allowed."
        ZeroSwapRetryDelayNotAllowed = "Setting the swap retry delay to zero is not allowed."
        MaxSwapRequestDurationTooShort = (
            "Setting the max swap request duration to less than the swap delay is not allowed."
        )
        RetryDurationTooHigh = "Swap Retry duration is set above the max allowed."
        ZeroNumberOfChunksNotAllowed = "The number of DCA chunks must be greater than 0."
        ChunkIntervalTooLow = "The chunk interval must be greater than the swap delay (2)."
        SwapRequestDurationTooLong = (
            "The total duration of a DCA swap request must be less then the max allowed."
        )
        InvalidDcaParameters = "Invalid DCA parameters."
        InvalidRefundAddress = "The provided Refund address cannot be decoded into ForeignChainAddress."
        BoostFeeTooHigh = "The given boost fee is too large to fit in a u8."
        BrokerFeeTooHigh = "The broker fee is too large to fit in a u8."
        PrivateChannelExistsForBroker = (
            "Broker cannot deregister or open a new private channel because one already exists."
        )
        NoPrivateChannelExistsForBroker = "The Broker does not have an open private channel."
        AffiliateFeeTooHigh = "The affiliate fee is too large to fit in a u8."
        AffiliateNotRegisteredForBroker = "The affiliate id is not registered for the broker."
        InsufficientFunds = "The Bonder does not have enough Funds to cover the bond."
        AffiliateAlreadyRegistered = "The affiliate is already registered."
        AffiliateAccountIdDerivationFailed = "The affiliate account id could not be derived."
        AffiliateShortIdOutOfBounds = (
            "The affiliate short id is out of bounds. That means the broker has registered more than\n"
            "255 affiliates."
        )
        AffiliateEarnedFeesNotWithdrawn = (
            "The affiliate has not withdrawn their earned fees. This is a pre-requisite for\n"
            "deregistration of a broker."
        )
        NoRefundAmountRemaining = (
            "Refund egress was not performed because no amount remained after deducting the refund\nfee."
        )
        CcmUnsupportedForRefundChain = "CCM is not supported for the refund chain."
        OraclePriceNotAvailable = "Oracle price not available for one or more of the assets."
        InvalidUserSignatureData = "The provided Signature Data is invalid"
        InvalidTransactionMetadata = "The provided Transaction Metadata is invalid"
        CannotEncodeData = "Failed to encode data"
        LiquidityDepositDisabled = "Liquidity deposit is disabled due to Safe Mode."
        AccountAlreadyExists = "Account already exists, cannot open an account creation deposit channel."
        BrokerAlreadyBound = "The broker is already bound to a withdrawal address."
        BrokerBoundWithdrawalAddressRestrictionViolated = (
            "The broker tried to withdraw to an address which is not the address the broker is bound\nto.",
            before("2.3.0"),
        )
        ZeroDefaultSlippageNotAllowed = (
            "A zero default slippage protection will result in most swaps failing. Set to `None` to\n"
            "reset to the permissive default (100bps)."
        )
        PoolDoesNotExist = "The specified pool does not exist."
        PendingSwapRequest = "The account has a pending swap request.", since("2.3.0")

    def ensure_no_swap(self, account_id: bytes) -> None:
        """Fail with PendingSwapRequest if output or refund of a user's swap goes to this account."""
        is_pending = any(account_id in _accounts(request.state) for _, request in self.SwapRequests.items())
        self.ensure(not is_pending, self.Error.PendingSwapRequest)

    def record_gateway_liability(self, amount: int) -> None:
        """Note FLIP that an account has got but that lies in the vault: the gateway is owed it."""
        self.FlipToBeSentToGateway.mutate(lambda owed: owed + amount)

    @property
    def bound_addresses(self) -> StoredMap[bytes, bytes, bytes | None]:
        """Addresses on Ethereum that brokers have bound themselves to, where the release stores them."""
        balances = self.other(AssetBalances)
        is_moved = self.runtime.release.rules.addresses_lie_with_balances
        return balances.BoundBrokerWithdrawalAddress if is_moved else self.BoundBrokerWithdrawalAddress


def _accounts(state: values.SwapRequestState) -> Iterator[bytes]:
    """Yield the accounts on the chain to which output or refund of a user's swap may go."""
    if not isinstance(state, values.SwapRequestStateUserSwap):
        return
    match state.output_action:
        case (
            values.SwapOutputActionCreditOnChain(account_id=account_id)
            | values.SwapOutputActionCreditFlipAndTransferToGateway(account_id=account_id)
        ):
            yield account_id
    limits = state.price_limits_and_expiry
    if limits is not None and isinstance(limits.expiry_behaviour, values.ExpiryBehaviourRefundIfExpires):
        refund_to = limits.expiry_behaviour.refund_address
        if isinstance(refund_to, values.InternalAccount):
            yield refund_to.value
