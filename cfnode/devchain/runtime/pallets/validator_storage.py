"""Storage, events and errors of the Validator pallet.

Validator (9, pallet_cf_validator). `epochs` begins and ends epochs, `rotation` has new keys generated.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    ErrorSet,
    EventSet,
    Map,
    OptionalDoubleMap,
    OptionalMap,
    PalletStorage,
    Value,
    event,
    since,
)

__all__ = ["ValidatorStorage"]


class ValidatorStorage(PalletStorage):
    """Epochs, their authorities and bonds, operators and delegators."""

    RedemptionPeriodAsPercentage = Value[int]("Percent")
    CurrentEpochStartedAt = Value[int]("u32")
    EpochDuration = Value[int]("u32")
    CurrentEpoch = Value[int]("u32")
    AuthorityIndex = OptionalDoubleMap[int, bytes, int](
        "Twox64Concat", "u32", "Blake2_128Concat", "AccountId32", "u32"
    )
    CurrentRotationPhase = Value[values.RotationPhase]("RotationPhase")
    CurrentAuthorities = Value[Sequence[bytes]]("Vec<AccountId32>")
    Bond = Value[int]("u128")
    AccountPeerMapping = OptionalMap[bytes, tuple[bytes, int, int]](
        "Blake2_128Concat", "AccountId32", "([u8; 32], u16, u128)"
    )
    MappedPeers = OptionalMap[bytes, tuple[()]]("Blake2_128Concat", "[u8; 32]", "()")
    NodeCFEVersion = Map[bytes, values.SemVer]("Blake2_128Concat", "AccountId32", "SemVer")
    LastExpiredEpoch = Value[int]("u32")
    EpochExpiries = OptionalMap[int, int]("Twox64Concat", "u32", "u32")
    HistoricalAuthorities = Map[int, Sequence[bytes]]("Twox64Concat", "u32", "Vec<AccountId32>")
    HistoricalBonds = Map[int, int]("Twox64Concat", "u32", "u128")
    HistoricalActiveEpochs = Map[bytes, Sequence[tuple[int, int]]](
        "Twox64Concat", "AccountId32", "Vec<(u32, u128)>"
    )
    AuthoritySetMinSize = Value[int]("u32")
    AuctionParameters = Value[values.SetSizeParameters]("SetSizeParameters")
    MinimumValidatorStake = Value[int]("u128")
    MinimumReportedCfeVersion = Value[values.SemVer]("SemVer")
    MaxAuthoritySetContractionPercentage = Value[int]("Percent")
    MinimumAuctionBid = Value[int]("u128")
    MinimumOperatorFee = Value[int]("u32", default=1_500)
    ActiveBidder = Value[Sequence[bytes]]("BTreeSet<AccountId32>")
    Exceptions = Map[bytes, Sequence[bytes]]("Identity", "AccountId32", "BTreeSet<AccountId32>")
    ValidatorMaxBid = OptionalMap[bytes, int]("Identity", "AccountId32", "u128", span=since("2.3.0"))
    ManagedValidators = Map[bytes, Sequence[bytes]]("Identity", "AccountId32", "BTreeSet<AccountId32>")
    ClaimedValidators = Map[bytes, Sequence[bytes]]("Identity", "AccountId32", "BTreeSet<AccountId32>")
    OperatorSettingsLookup = OptionalMap[bytes, values.OperatorSettings](
        "Identity", "AccountId32", "OperatorSettings"
    )
    DelegationChoice = OptionalMap[bytes, tuple[bytes, int]]("Identity", "AccountId32", "(AccountId32, u128)")
    OperatorChoice = OptionalMap[bytes, bytes]("Identity", "AccountId32", "AccountId32")
    ValidatorToOperator = OptionalDoubleMap[int, bytes, bytes](
        "Twox64Concat", "u32", "Identity", "AccountId32", "AccountId32"
    )
    DelegationSnapshots = OptionalDoubleMap[int, bytes, values.DelegationSnapshot[bytes, int]](
        "Twox64Concat",
        "u32",
        "Identity",
        "AccountId32",
        "DelegationSnapshot<AccountId32, u128>",
    )

    class Event(EventSet):
        """Events of epochs, rotations and delegation."""

        RotationAborted = event(0)
        NewEpoch = event(1, "u32")
        RotationPhaseUpdated = event(2, new_phase="RotationPhase")
        CFEVersionUpdated = event(3, account_id="AccountId32", old_version="SemVer", new_version="SemVer")
        AuctionCompleted = event(4, "Vec<AccountId32>", "u128")
        PalletConfigUpdated = event(5, update="validator::PalletConfigUpdate")
        StoppedBidding = event(6, account_id="AccountId32")
        StartedBidding = event(7, account_id="AccountId32")
        PreviousRotationStillPending = event(8)
        DelegatorBlocked = event(9, delegator="AccountId32", operator="AccountId32")
        DelegatorAllowed = event(10, delegator="AccountId32", operator="AccountId32")
        ValidatorClaimed = event(11, validator="AccountId32", operator="AccountId32")
        OperatorAcceptedByValidator = event(12, validator="AccountId32", operator="AccountId32")
        ValidatorRemovedFromOperator = event(13, validator="AccountId32", operator="AccountId32")
        OperatorSettingsUpdated = event(14, operator="AccountId32", settings="OperatorSettings")
        Undelegated = event(15, delegator="AccountId32", operator="AccountId32", max_bid="u128")
        Delegated = event(16, delegator="AccountId32", operator="AccountId32", max_bid="u128")
        UnDelegationFinalized = event(17, delegator="AccountId32", epoch="u32")
        MaxBidUpdated = event(18, delegator="AccountId32", change="Change<u128>")
        ValidatorMaxBidUpdated = event(8, since("2.3.0"), validator="AccountId32", max_bid="Option<u128>")
        WitnessingTaskRestarted = event(19, task="WitnessingTaskName", reporter="AccountId32")

    class Error(ErrorSet):
        """Errors of epochs, rotations and delegation."""

        InvalidEpochDuration = "Epoch duration supplied is invalid."
        RotationInProgress = "A rotation is in progress."
        AccountPeerMappingOverlap = "Validator Peer mapping overlaps with an existing mapping."
        InvalidAccountPeerMappingSignature = "Invalid signature."
        InvalidRedemptionPeriod = "Invalid redemption period."
        InvalidAuthoritySetMinSize = "Invalid minimum authority set size."
        InvalidAuctionParameters = "Auction parameters are invalid."
        InconsistentRanges = "The dynamic set size ranges are inconsistent."
        NotEnoughBidders = "Not enough bidders were available to resolve the auction."
        NotEnoughFunds = "Not enough funds to register as a validator."
        RotationsDisabled = "Rotations are currently disabled through SafeMode."
        StillKeyHolder = "Validators cannot deregister until they are no longer key holders."
        StillBidding = "Validators cannot deregister until they stop bidding in the auction."
        StartBiddingDisabled = "Start Bidding is disabled due to Safe Mode."
        StopBiddingDisabled = "Stop Bidding is disabled due to Safe Mode."
        AlreadyNotBidding = "Can't stop bidding an account if it's already not bidding."
        AlreadyBidding = "Can only start bidding if not already bidding."
        AuctionPhase = "We are in the auction phase"
        AlreadyManagedByOperator = "Validator is already associated with an operator."
        AlreadyClaimedByOperator = "Validator is already claimed by this operator."
        ValidatorDoesNotExist = "Validator does not exist."
        NotAuthorized = "Not authorized to perform this action."
        NotClaimedByOperator = "The validator is not claimed by any operator."
        NotValidator = "The provided account id has not the role validator."
        AccountIsNotDelegating = "The account is not delegating."
        DelegationNotAllowed = "Delegation is not available to validators or operators."
        NotOperator = "Can only delegate to accounts that are registered as operators."
        DelegatorBlocked = "A delegator is either blocked or not explicitly allowed by the operator."
        OperatorFeeTooLow = "The provided Operator fee is too low."
        OperatorFeeTooHigh = "The provided Operator fee is too high."
        OperatorStillActive = "The operator still manages an active delegation."
        AccountDoesNotExist = "The account does not exist."
        TooManyValidators = "The operator already manages the maximum number of validators."
        DelegationAmountBelowMinimum = (
            "Delegation amount must be at least as large as minimum funding amount."
        )
        MaxBidBelowMinimumValidatorStake = (
            "A validator's max bid must be at least as large as the minimum validator stake,\n"
            "otherwise the validator could never bid enough to be a qualified bidder.",
            since("2.3.0"),
        )
        GrandpaKeyOwnershipMismatch = (
            "The caller's GRANDPA key does not match their session key registration."
        )
        InvalidDelegateProof = "The delegate key proof signature is invalid."
        GrandpaDelegationActive = (
            "Cannot rotate session keys while a GRANDPA delegation is active. Revoke first."
        )
        DelegatorTransferRestricted = "Delegator funds cannot be transferred between accounts."
        NotLiquidityProvider = (
            "Only accounts registered as a Liquidity Provider can delegate.",
            since("2.3.0"),
        )
        StillDelegating = (
            "The account cannot deregister as a Liquidity Provider while actively delegating.",
            since("2.3.0"),
        )

    def is_over(self, number: int) -> bool:
        """Return whether the epoch has lasted its full duration."""
        return number - self.CurrentEpochStartedAt.get() >= self.EpochDuration.get()

    def quorum(self) -> list[bytes]:
        """Return as many authorities as have to sign, or to share a key: two thirds, rounded up."""
        authorities = self.CurrentAuthorities.get()
        return sorted(authorities[: -(-2 * len(authorities) // 3)])

    def next_auction(self) -> values.AuctionOutcome[bytes, int]:
        """Return the outcome of an auction that ends now: authorities and bond stay."""
        return values.AuctionOutcome(winners=self.CurrentAuthorities.get(), bond=self.Bond.get())

    def enter_phase(self, phase: values.RotationPhase) -> None:
        """Set the phase of the rotation, and deposit its event."""
        self.CurrentRotationPhase.put(phase)
        self.deposit(self.Event.RotationPhaseUpdated, new_phase=phase)
