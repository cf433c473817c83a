"""Funding of boosts by lending pools and boost pools, and the loans for it.

LendingPools (53), the part that boosts deposits. There is one price. Each pool pays in proportion to what it
has, the lending pool at least 30 percent if it can. What the lending pool pays is a loan: its share of the
fee is owed with it, and the network's part of that is taken at once, to be swapped once it is worth enough
(pallet_cf_lending_pools: boost). On a development chain one account has supplied all lending pools.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    EventSet,
    Map,
    OptionalDoubleMap,
    OptionalMap,
    Pallet,
    Value,
    enum,
    event,
    migration,
    since,
    struct,
)
from cfnode.devchain.runtime.frame.item import Decoder
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.releases import Release, by_release, codec_in

from .lending_rules import FIRST_RULES
from .oracle import OracleFeed
from .swap_requests.fees import share
from .swap_requests.requests import request_network_fee_swap
from .swap_requests.storage import SwappingStorage
from .system import System

__all__ = ["LENDER", "NETWORK_PERCENT", "TIER", "BoostFunding", "BoostSplit", "boost_fees"]

LENDER = b"cfnode-dev/lend".ljust(32, b"\0")
"""The account that has supplied the lending pools."""

TIER = 5
"""Basis points that a boost costs."""

NETWORK_PERCENT = 50
"""Percent of the boost fee that the network takes."""

MIN_LENDING_PERCENT = 30
"""Least percent of a boost that the lending pool pays, if it has as much."""

_LENDING = "pallet_cf_lending_pools::general_lending"
_PER_BASIS_POINT, _PER_PERCENT, _MILLION = 100, 10_000, 10**6
_INTEREST = ("network", "pool", "broker", "low_ltv_penalty")
_WHOLE = 10**18
"""One, in Perquintill."""

struct("sp_arithmetic::per_things::Perquintill", "u64")
struct("pallet_cf_lending_pools::core_lending_pool::scaled_amount::ScaledAmount", val="u128")
struct(
    f"{_LENDING}::InterestBreakdown",
    **dict.fromkeys(_INTEREST, "ScaledAmount"),
)
struct(
    f"{_LENDING}::GeneralLoan",
    id="LoanId",
    asset="Asset",
    created_at_block="u32",
    owed_principal="u128",
    pending_interest="InterestBreakdown",
    broker="Option<Beneficiary<AccountId32>>",
)
enum(f"{_LENDING}::LoanType<AccountId>", "User(AccountId)", "Boost(PrewitnessedDepositId)")
enum(
    "pallet_cf_lending_pools::LoanRepaidActionType",
    "Manual",
    "Liquidation{swap_request_id: SwapRequestId}",
    "BoostFinalisation",
)
struct("pallet_cf_lending_pools::CorePoolId", "u32")
struct("pallet_cf_lending_pools::core_lending_pool::CoreLoanId", "u64")
struct(
    "pallet_cf_lending_pools::boost::BoostPoolContribution",
    core_pool_id="CorePoolId",
    loan_id="CoreLoanId",
    boosted_amount="u128",
    network_fee="u128",
)
struct(
    "pallet_cf_lending_pools::boost::BoostedDeposit",
    deposit_amount="u128",
    lending_loan_id="Option<LoanId>",
    boost_pool_contribution="Option<BoostPoolContribution>",
)


@dataclass(frozen=True, slots=True)
class BoostSplit:
    """Parts of the pools in a boost: the amount of each, and its share of the fee."""

    lending: int
    lending_fee: int
    boost: int
    boost_fee: int

    @property
    def amounts(self) -> list[tuple[str, int]]:
        """Amount of the deposit that is owed to each source, its fee included."""
        return self._used(self.lending + self.lending_fee, self.boost + self.boost_fee)

    @property
    def fees(self) -> list[tuple[str, int]]:
        """Fee that is owed to each source."""
        return self._used(self.lending_fee, self.boost_fee)

    def _used(self, lending: int, boost: int) -> list[tuple[str, int]]:
        sources = (("LendingPool", lending, self.lending), ("BoostPool", boost, self.boost))
        return [(source, value) for source, value, principal in sources if principal]


def boost_fees(amount: int) -> tuple[int, int]:
    """Return the fee for boosting an amount, and the network's part of that fee."""
    fee = share(TIER * _PER_BASIS_POINT, amount)
    return fee, _for_network(fee)


def _for_network(fee: int) -> int:
    return share(NETWORK_PERCENT * _PER_PERCENT, fee)


def split(amount: int, lending_available: int, boost_available: int) -> BoostSplit | None:
    """Divide the boost of a deposit between the pools. Return None if they have not enough."""
    fee, for_network = boost_fees(amount)
    required = amount - fee
    available = lending_available + boost_available
    if available < required:
        return None
    if not required or not available:
        return BoostSplit(0, 0, 0, fee)
    proportional = share(lending_available * _MILLION // available, required)
    lending_minimum = share(MIN_LENDING_PERCENT * _PER_PERCENT, required)
    lending = min(max(proportional, lending_minimum), lending_available)
    lending = required - min(required - lending, boost_available)
    # The network's part of the fee is taken from the lending pool, too.
    lending = min(lending, lending_available * required // (required + for_network))
    boost = required - lending
    if boost > boost_available:
        return None
    lending_fee = share(lending * _MILLION // required, fee)
    return BoostSplit(lending, lending_fee, boost, fee - lending_fee)


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    catalog.struct(
        f"{_LENDING}::general_lending_pool::LendingPool",
        total_amount="u128",
        available_amount="u128",
        lender_shares="BTreeMap<AccountId32, Perquintill>",
        **({"owed_to_network": "u128"} if release.rules.lending_pools_owe_network else {}),
    )


class BoostFunding(Pallet):
    """The rules of lending, and what lending pools pay for boosts."""

    name = "LendingPools"
    index = 53
    crate = "pallet_cf_lending_pools"

    LendingConfig = Value[values.LendingConfiguration]("LendingConfiguration", default=FIRST_RULES)
    GeneralLendingPools = OptionalMap[str, values.LendingPool]("Twox64Concat", "Asset", "LendingPool")
    BoostLoans = OptionalMap[int, values.GeneralLoan]("Twox64Concat", "LoanId", "GeneralLoan")
    BoostedDeposits = OptionalDoubleMap[str, int, values.BoostedDeposit](
        "Twox64Concat", "Asset", "Twox64Concat", "PrewitnessedDepositId", "BoostedDeposit"
    )
    NextLoanId = Value[int]("LoanId")
    PendingNetworkFees = Map[str, int]("Twox64Concat", "Asset", "u128")

    class Event(EventSet):
        """Events of loans for boosts."""

        LoanCreated = event(
            7,
            loan_id="LoanId",
            asset="Asset",
            loan_type="LoanType<AccountId32>",
            principal_amount="u128",
            broker="Option<Beneficiary<AccountId32>>",
        )
        OriginationFeeTaken = event(
            9, loan_id="LoanId", pool_fee="u128", network_fee="u128", broker_fee="u128"
        ).changed(since("2.3.0"), loan_id="LoanId", pool_fee="u128", network_fee="u128")
        LoanRepaid = event(14, loan_id="LoanId", amount="u128", action_type="LoanRepaidActionType")
        LoanSettled = event(15, loan_id="LoanId", outstanding_principal="u128", via_liquidation="bool")
        LendingNetworkFeeSwapInitiated = event(16, swap_request_id="SwapRequestId")

    @migration("2.3.0")
    def forget_debts_to_network(self) -> None:
        """Remove what pools owe to the network, whose fees are taken at once from 2.3.0 on."""
        pools = self.GeneralLendingPools
        decoder: Decoder[values.LendingPool] = codec_in("2.2.9", pools.item.value, self.names)
        for key, raw in list(pools.raw_items()):
            pools.put(key, replace(decoder.decode(raw), owed_to_network=None))

    def on_initialize(self, number: int) -> None:
        """Swap the network's fees at each interval, if they are worth enough."""
        rules = self.LendingConfig.get()
        if number % rules.fee_swap_interval_blocks:
            return
        for asset, amount in list(self.PendingNetworkFees.items()):
            worth = self._dollars(asset, amount)
            if worth is not None and worth >= rules.fee_swap_threshold_usd:
                self.PendingNetworkFees.put(asset, 0)
                request_id = request_network_fee_swap(self.other(SwappingStorage), asset, amount)
                self.deposit(self.Event.LendingNetworkFeeSwapInitiated, swap_request_id=request_id)

    def _dollars(self, asset: str, amount: int) -> int | None:
        """Return an amount's worth in microdollars by the oracle; None without a fresh price."""
        feed = self.other(OracleFeed)
        reading = feed.oracle_price(asset)
        return None if reading is None or feed.is_stale(asset) else amount * reading.price >> 128

    def lending_depth(self, asset: str) -> int:
        """Return the amount that an asset's lending pool has available."""
        pool = self.GeneralLendingPools.get(asset)
        return 0 if pool is None else pool.available_amount

    def supply(self, asset: str, amount: int) -> None:
        """Set the available amount of a lending pool, by changing what its only lender supplies."""
        pool = self.GeneralLendingPools.get(asset) or values.LendingPool(
            total_amount=0,
            available_amount=0,
            lender_shares=[(LENDER, _WHOLE)],
            owed_to_network=0 if self.runtime.release.rules.lending_pools_owe_network else None,
        )
        added = amount - pool.available_amount
        self._put(asset, pool, total=added, available=added)

    def fund_boost(self, deposit_id: int, asset: str, amount: int, boost_available: int) -> BoostSplit | None:
        """Divide a boost between the pools, and lend the lending pool's part.

        Return None if the pools have too little.
        """
        funding = split(amount, self.lending_depth(asset), boost_available)
        if funding is None:
            return None
        contribution = values.BoostPoolContribution(
            core_pool_id=0,
            loan_id=deposit_id,
            boosted_amount=funding.boost + funding.boost_fee,
            network_fee=_for_network(funding.boost_fee),
        )
        boosted = values.BoostedDeposit(
            deposit_amount=amount,
            lending_loan_id=self._lend(deposit_id, asset, funding) if funding.lending else None,
            boost_pool_contribution=contribution if funding.boost else None,
        )
        self.BoostedDeposits.put(asset, deposit_id, boosted)
        return funding

    def boost_contribution(self, asset: str, deposit_id: int) -> values.BoostPoolContribution:
        """Return the boost pool's part in a boosted deposit.

        The pool is owed `boosted_amount`, less `network_fee`; both are 0 if it has no part.
        """
        boosted = self.BoostedDeposits.get(asset, deposit_id)
        contribution = None if boosted is None else boosted.boost_pool_contribution
        return contribution or values.BoostPoolContribution(
            core_pool_id=0, loan_id=deposit_id, boosted_amount=0, network_fee=0
        )

    def settle_boost(self, asset: str, deposit_id: int) -> values.BoostPoolContribution:
        """Repay the lending pool for a boosted deposit that is final. Return the boost pool's part."""
        contribution = self.boost_contribution(asset, deposit_id)
        boosted = self.BoostedDeposits.known(asset, deposit_id)
        self.BoostedDeposits.remove(asset, deposit_id)
        if boosted.lending_loan_id is not None:
            loan = self.BoostLoans.known(boosted.lending_loan_id)
            amount = boosted.deposit_amount - contribution.boosted_amount
            self._put(asset, self.GeneralLendingPools.known(asset), available=amount)
            self.deposit(
                self.Event.LoanRepaid, loan_id=loan.id, amount=amount, action_type="BoostFinalisation"
            )
            self._end(loan.id, outstanding=loan.owed_principal - amount)
        return contribution

    def lose_boost(self, asset: str, deposit_id: int) -> None:
        """Write off the boost of a deposit that will never be final, at the pools' loss."""
        boosted = self.BoostedDeposits.known(asset, deposit_id)
        self.BoostedDeposits.remove(asset, deposit_id)
        if boosted.lending_loan_id is not None:
            loan = self.BoostLoans.known(boosted.lending_loan_id)
            self._put(asset, self.GeneralLendingPools.known(asset), total=-loan.owed_principal)
            self._end(loan.id, outstanding=loan.owed_principal)

    def _lend(self, deposit_id: int, asset: str, funding: BoostSplit) -> int:
        """Make a boost's loan and return its id. The network's part of the fee leaves the pool at once."""
        loan_id = self.NextLoanId.get()
        self.NextLoanId.put(loan_id + 1)
        network_fee = _for_network(funding.lending_fee)
        pool_fee = funding.lending_fee - network_fee
        self.deposit(
            self.Event.LoanCreated,
            loan_id=loan_id,
            asset=asset,
            loan_type=values.LoanTypeBoost(deposit_id),
            principal_amount=funding.lending,
            broker=None,
        )
        pool = self.GeneralLendingPools.known(asset)
        self._put(asset, pool, total=pool_fee, available=-funding.lending - network_fee)
        self.PendingNetworkFees.mutate(asset, lambda pending: pending + network_fee)
        self.deposit(
            self.Event.OriginationFeeTaken,
            loan_id=loan_id,
            pool_fee=pool_fee,
            network_fee=network_fee,
            broker_fee=0,
        )
        zero = values.ScaledAmount(0)
        loan = values.GeneralLoan(
            id=loan_id,
            asset=asset,
            created_at_block=self.other(System).Number.get(),
            owed_principal=funding.lending + funding.lending_fee,
            pending_interest=values.InterestBreakdown(
                network=zero, pool=zero, broker=zero, low_ltv_penalty=zero
            ),
            broker=None,
        )
        self.BoostLoans.put(loan_id, loan)
        return loan_id

    def _end(self, loan_id: int, outstanding: int) -> None:
        self.BoostLoans.remove(loan_id)
        self.deposit(
            self.Event.LoanSettled,
            loan_id=loan_id,
            outstanding_principal=outstanding,
            via_liquidation=False,
        )

    def _put(self, asset: str, pool: values.LendingPool, *, total: int = 0, available: int = 0) -> None:
        changed = replace(
            pool,
            total_amount=pool.total_amount + total,
            available_amount=pool.available_amount + available,
        )
        self.GeneralLendingPools.put(asset, changed)
