"""FLIP balances, bonds, issuance and rewards.

Flip (3): balances and bonds on the chain, and the FLIP that is outside of it. FLIP that is not bonded is
liquid. Funding moves FLIP in from outside; a burned fee lowers the issuance, or is kept for rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import (
    ConstantSet,
    ErrorSet,
    EventSet,
    Map,
    OptionalMap,
    Origin,
    Pallet,
    Value,
    call,
    constant,
    enum,
    event,
    since,
    struct,
)
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.releases import Release, by_release

from .validator_storage import ValidatorStorage

FLIP = 10**18
INITIAL_SUPPLY = 90_000_000 * FLIP
U16_MAX = 2**16 - 1
REWARDS = b"FEES"
"""The reserve that is paid out to the authorities when an epoch ends."""

struct("pallet_cf_flip::FlipAccount<Amount>", balance="Amount", bond="Amount")
struct("pallet_cf_flip::OpaqueCallIndex", "Bytes")
enum(
    "pallet_cf_flip::on_charge_transaction::FeeScalingRateConfig",
    "DelayedExponential{threshold: u16, exponent: u16}",
    "NoScaling",
)
enum(
    "pallet_cf_flip::imbalances::InternalSource<AccountId>",
    "Account(AccountId)",
    "Reserve([u8; 4])",
    "PendingRedemption(AccountId)",
)
enum(
    "pallet_cf_flip::imbalances::ImbalanceSource<AccountId>",
    "External",
    "Internal(InternalSource<AccountId>)",
    "Emissions",
)


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    catalog.enum(
        "pallet_cf_flip::PalletConfigUpdate",
        "SetSlashingRate(Permill)",
        "SetFeeScalingRate(FeeScalingRateConfig)",
        *(["SetFeeRewardsActivationEpoch(u32)"] if release.rules.fees_can_be_rewards else []),
        name="flip::PalletConfigUpdate",
    )


class Flip(Pallet):
    """FLIP balances, bonds and issuance."""

    index = 3
    crate = "pallet_cf_flip"

    Account = Map[bytes, values.FlipAccount[int]]("Blake2_128Concat", "AccountId32", "FlipAccount<u128>")
    Reserve = Map[bytes, int]("Blake2_128Concat", "[u8; 4]", "u128")
    PendingRedemptionsReserve = OptionalMap[bytes, int]("Blake2_128Concat", "AccountId32", "u128")
    TotalIssuance = Value[int]("u128")
    SlashingRate = Value[int]("Permill")
    OffchainFunds = Value[int]("u128")
    CallCounter = Map[bytes, int]("Identity", "OpaqueCallIndex", "u16")
    FeeScalingRate = Value[values.FeeScalingRateConfig]("FeeScalingRateConfig", default="NoScaling")
    FlipToDistribute = Value[int]("i128", span=since("2.3.0"))
    FeeRewardsActivationEpoch = Value[int]("u32", default=2**32 - 1, span=since("2.3.0"))

    class Event(EventSet):
        """Events of FLIP balances and the pallet's configuration."""

        RemainingImbalance = event(0, who="ImbalanceSource<AccountId32>", remaining_imbalance="u128")
        SlashingPerformed = event(1, who="AccountId32", amount="u128")
        AccountReaped = event(2, who="AccountId32", dust_burned="u128")
        PalletConfigUpdated = event(3, update="flip::PalletConfigUpdate")
        FlipMinted = event(4, to="AccountId32", amount="u128")
        BondUpdated = event(5, account_id="AccountId32", new_bond="u128")
        FlipDistributed = event(6, since("2.3.0"), amounts="Vec<(AccountId32, u128)>")

    class Error(ErrorSet):
        """Errors of FLIP balances."""

        InsufficientLiquidity = "Not enough liquid funds."
        InsufficientReserves = "Not enough reserves."
        NoPendingRedemptionForThisID = "No pending redemption for this ID."
        AccountBonded = "Account is bonded."
        CanNotTransferToSelf = "Not possible to transfer to the sender account."

    class Constant(ConstantSet):
        """Constants of emissions."""

        BlocksPerDay = constant("u32", 14_400)

    @call(0, updates="BoundedVec<flip::PalletConfigUpdate>")
    def update_pallet_config(self, origin: Origin, updates: Sequence[values.FlipConfigUpdate]) -> None:
        """Set the slashing rate and how fees of order calls scale. Governance."""
        origin.ensure_governance()
        for update in updates:
            match update:
                case values.FlipConfigUpdateSetSlashingRate(rate):
                    self.SlashingRate.put(rate)
                case values.FlipConfigUpdateSetFeeScalingRate(config):
                    self.FeeScalingRate.put(config)
                case values.FlipConfigUpdateSetFeeRewardsActivationEpoch(epoch):
                    self.FeeRewardsActivationEpoch.put(epoch)
            self.deposit(self.Event.PalletConfigUpdated, update=update)

    def on_initialize(self, number: int) -> None:
        """Forget how often accounts have called in the previous block."""
        self.CallCounter.clear()

    def genesis(self, config: DevGenesis) -> None:
        """Put the whole supply into the funds off the chain."""
        self.TotalIssuance.put(INITIAL_SUPPLY)
        self.OffchainFunds.put(INITIAL_SUPPLY)

    # Reading

    def balance(self, who: bytes) -> int:
        """Return all of the account's FLIP, bonded or not."""
        return self.Account.get(who).balance

    def bond(self, who: bytes) -> int:
        """Return the FLIP that the account has bonded."""
        return self.Account.get(who).bond

    def liquid(self, who: bytes) -> int:
        """Return the FLIP that the account has not bonded."""
        account = self.Account.get(who)
        return max(0, account.balance - account.bond)

    # Moving

    def fund(self, who: bytes, amount: int) -> int:
        """Bring FLIP in from outside. Return the account's new balance."""
        self.OffchainFunds.mutate(lambda outside: max(0, outside - amount))
        return self._add(who, amount)

    def burn(self, who: bytes, amount: int) -> None:
        """Burn FLIP from the whole balance, as far as it goes, or keep it for rewards."""
        burned = min(amount, self.balance(who))
        self._add(who, -burned)
        self._retire(burned)

    def unburn(self, who: bytes, amount: int) -> None:
        """Give back part of what was burned."""
        self._add(who, amount)
        self._retire(-amount)

    def count_call(self, who: bytes, kind: bytes) -> int:
        """Count one more call of this kind in the block. Return the factor of its fee."""
        count = self.CallCounter.mutate(who + kind, lambda calls: min(calls + 1, U16_MAX))
        rate = self.FeeScalingRate.get()
        if not isinstance(rate, values.FeeScalingRateConfigDelayedExponential):
            return 1
        multiplier: int = max(0, count - rate.threshold) ** rate.exponent
        return min(max(1, multiplier), U16_MAX)

    def burn_liquid(self, who: bytes, amount: int) -> None:
        """Burn FLIP that is not bonded. Fails with InsufficientLiquidity."""
        self.ensure(self.liquid(who) >= amount, self.Error.InsufficientLiquidity)
        self.burn(who, amount)

    def set_bond(self, who: bytes, bond: int) -> None:
        """Bond this much FLIP, or the whole balance if it is less."""
        new_bond = min(bond, self.balance(who))
        self.Account.mutate(who, lambda account: replace(account, bond=new_bond))
        self.deposit(self.Event.BondUpdated, account_id=who, new_bond=new_bond)

    def transfer(self, source: bytes, target: bytes, amount: int) -> None:
        """Move liquid FLIP between accounts. Fails with InsufficientLiquidity, CanNotTransferToSelf."""
        self.ensure(source != target, self.Error.CanNotTransferToSelf)
        self.ensure(self.liquid(source) >= amount, self.Error.InsufficientLiquidity)
        self._add(source, -amount)
        self._add(target, amount)

    # Rewards

    @property
    def pays_rewards(self) -> bool:
        """Whether fees are kept for the authorities, not burned: from the epoch on that governance names."""
        if not self.runtime.release.rules.fees_can_be_rewards:
            return False
        epoch = self.other(ValidatorStorage).CurrentEpoch.get()
        return epoch >= self.FeeRewardsActivationEpoch.get()

    @property
    def pending_rewards(self) -> int:
        """FLIP that the authorities would get if the epoch ended now."""
        return max(0, self.FlipToDistribute.get()) + self.Reserve.get(REWARDS)

    def collect(self, amount: int) -> None:
        """Keep FLIP in the vault for rewards; a loss of the network (below 0) is taken off first."""
        self.FlipToDistribute.mutate(lambda kept: kept + amount)

    def distribute(self, authorities: Sequence[bytes]) -> int:
        """Pay rewards to the authorities in equal parts. Return the amount that lies in the vault."""
        from_vault = max(0, self.FlipToDistribute.get())
        self.FlipToDistribute.mutate(lambda kept: kept - from_vault)
        self.OffchainFunds.mutate(lambda outside: max(0, outside - from_vault))
        self.Reserve.mutate(REWARDS, lambda kept: kept + from_vault)
        share = self.Reserve.get(REWARDS) // len(authorities)
        rewards = [(account, share) for account in sorted(authorities) if share]
        for account, amount in rewards:
            self._add(account, amount)
        self.Reserve.mutate(REWARDS, lambda kept: kept - share * len(rewards))
        self.deposit(self.Event.FlipDistributed, amounts=rewards)
        return from_vault

    def _retire(self, amount: int) -> None:
        if self.pays_rewards:
            self.Reserve.mutate(REWARDS, lambda kept: kept + amount)
        else:
            self.TotalIssuance.mutate(lambda issued: issued - amount)

    # Leaving

    def set_aside(self, who: bytes, amount: int) -> None:
        """Take FLIP that is being redeemed from a balance. Fails with InsufficientLiquidity."""
        self.ensure(amount <= self.liquid(who), self.Error.InsufficientLiquidity)
        self._add(who, -amount)
        self.PendingRedemptionsReserve.put(who, amount)

    def pay_out(self, who: bytes) -> int:
        """Move FLIP that was set aside off the chain. Return the amount.

        Fails with NoPendingRedemptionForThisID.
        """
        amount = self._taken(who)
        self.OffchainFunds.mutate(lambda outside: outside + amount)
        return amount

    def put_back(self, who: bytes) -> int:
        """Put FLIP that was set aside back into the balance. Return the amount.

        Fails with NoPendingRedemptionForThisID.
        """
        amount = self._taken(who)
        self._add(who, amount)
        return amount

    def _taken(self, who: bytes) -> int:
        error = self.Error.NoPendingRedemptionForThisID
        return self.require(self.PendingRedemptionsReserve.take(who), error)

    def on_killed_account(self, who: bytes) -> None:
        """Burn what is left in an account that ends."""
        dust = self.balance(who)
        self.Account.remove(who)
        if dust:
            self._retire(dust)
        self.deposit(self.Event.AccountReaped, who=who, dust_burned=dust)

    def _add(self, who: bytes, amount: int) -> int:
        changed = self.Account.mutate(who, lambda account: replace(account, balance=account.balance + amount))
        return changed.balance
