"""Balances in foreign assets, withdrawal whitelists and refund addresses of accounts.

AssetBalances (47): what brokers have earned and liquidity providers have deposited, and the fees withheld for
transactions on the foreign chains (pallet_cf_asset_balances).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cfnode.core.addresses import EncodedAddress, ForeignAddress, chain_of_address
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    DoubleMap,
    ErrorSet,
    EventSet,
    Map,
    OptionalDoubleMap,
    OptionalMap,
    Origin,
    Pallet,
    Value,
    call,
    enum,
    event,
    migration,
    since,
)

from .addresses import decoded
from .timestamp import Timestamp
from .whitelist import NO_WHITELIST, Change, Whitelist, changed, entries, is_allowed, replaces, without

__all__ = ["ADDRESS_OF_ACCOUNT", "AssetBalances"]

MAX_U128 = 2**128 - 1
MULTIPLE = 100
"""Least size of a refund, as a multiple of its transfer fee."""
ADDRESS_OF_ACCOUNT = ("Identity", "AccountId32", "Twox64Concat", "ForeignChain", "ForeignChainAddress")
"""Hashers and types of a map from an account and a chain to an address there."""
DAY = 24 * 3_600
CHANGE = "WhitelistChange<AccountId32, ForeignChainAddress>"
TWOX_64 = 8
"""Bytes of the hash before a key of Twox64Concat."""

enum("pallet_cf_asset_balances::ExternalOwner", "Vault", "AggKey", "Account(ForeignChainAddress)")


class AssetBalances(Pallet):
    """Balances in foreign assets, in their smallest units."""

    index = 47
    crate = "pallet_cf_asset_balances"

    Liabilities = Map[str, Sequence[tuple[values.ExternalOwner, int]]](
        "Twox64Concat", "Asset", "BTreeMap<ExternalOwner, u128>"
    )
    WithheldAssets = Map[str, int]("Twox64Concat", "Asset", "u128")
    FreeBalances = DoubleMap[bytes, str, int](
        "Blake2_128Concat", "AccountId32", "Twox64Concat", "Asset", "u128"
    )
    RefundAddresses = OptionalDoubleMap[bytes, str, ForeignAddress](*ADDRESS_OF_ACCOUNT, span=since("2.3.0"))
    BoundBrokerWithdrawalAddress = OptionalMap[bytes, bytes](
        "Identity", "AccountId32", "H160", span=since("2.3.0")
    )
    RefundFeeMultiple = Map[str, int](
        "Twox64Concat", "ForeignChain", "u32", default=MULTIPLE, span=since("2.2.9")
    )
    WithdrawalWhitelists = OptionalMap[bytes, values.WithdrawalWhitelist[bytes]](
        "Identity", "AccountId32", "WithdrawalWhitelist<AccountId32>", span=since("2.3.0")
    )
    PendingChanges = Value[Sequence[tuple[int, Sequence[tuple[bytes, values.PendingChange[bytes]]]]]](
        "BTreeMap<u64, Vec<(AccountId32, PendingChange<AccountId32>)>>", span=since("2.3.0")
    )
    MaxWhitelistTimelock = Value[int]("u64", default=10 * DAY, span=since("2.3.0"))
    MaxPendingWhitelistUpdates = Value[int]("u32", default=16, span=since("2.3.0"))
    MaxWhitelistEntries = Value[int]("u32", default=100, span=since("2.3.0"))

    class Event(EventSet):
        """Events of balances, refunds and what the vaults owe."""

        RefundScheduled = event(0, egress_id="EgressId", destination="ForeignChainAddress", amount="u128")
        RefundSkipped = event(1, reason="DispatchError", chain="ForeignChain", address="ForeignChainAddress")
        VaultDeficitDetected = event(2, chain="ForeignChain", amount_owed="u128", available="u128")
        AccountDebited = event(
            3, account_id="AccountId32", asset="Asset", amount_debited="u128", new_balance="u128"
        )
        AccountCredited = event(
            4, account_id="AccountId32", asset="Asset", amount_credited="u128", new_balance="u128"
        )
        PalletConfigUpdated = event(5, since("2.3.0"), update="asset_balances::PalletConfigUpdate")
        WhitelistUpdateScheduled = event(
            6, since("2.3.0"), account_id="AccountId32", change=CHANGE, apply_at="u64"
        )
        WhitelistUpdateDropped = event(7, since("2.3.0"), account_id="AccountId32", change=CHANGE)
        WhitelistTimelockUpdated = event(
            8, since("2.3.0"), account_id="AccountId32", duration="u64", effective_at="u64"
        )

    class Error(ErrorSet):
        """Errors of balances and withdrawal whitelists."""

        RefundAmountTooLow = (
            "Refund amount is too low to cover the egress fees. In this case, the refund is skipped."
        )
        InsufficientBalance = "The user does not have enough funds."
        BalanceOverflow = "The user has reached the maximum balance."
        ChainDeprecated = "The Chain is deprecated."
        FundsRemaining = "The account still has free balance."
        DestinationNotAllowed = (
            "The withdrawal destination is not on the account's withdrawal whitelist.",
            since("2.3.0"),
        )
        InvalidEncodedAddress = "The provided address could not be decoded.", since("2.3.0")
        TimelockExceedsMaximum = "The requested timelock exceeds the configured maximum.", since("2.3.0")
        TooManyPendingUpdates = "The account has too many pending whitelist updates.", since("2.3.0")
        NoLiquidityRefundAddressRegistered = (
            "No liquidity refund address is registered for the account on the relevant chain.",
            since("2.3.0"),
        )
        WithdrawalWhitelistNotCleared = (
            "The account's withdrawal whitelist must be disabled before deregistration.",
            since("2.3.0"),
        )

    @migration("2.2.9")
    def expect_less_of_tron(self) -> None:
        """Set the least size of refunds on Tron, which is a smaller multiple of their fee."""
        self.RefundFeeMultiple.put("Tron", self.runtime.release.rules.tron_refund_multiple)

    @migration("2.3.0")
    def take_addresses_over(self) -> None:
        """Move refund addresses and bound addresses here from the pallets of providers and of brokers."""
        self.RefundAddresses.take_over("LiquidityProvider", "LiquidityRefundAddress")
        self.BoundBrokerWithdrawalAddress.take_over("Swapping", "BoundBrokerWithdrawalAddress", TWOX_64)

    @call(0, since("2.3.0"), update="asset_balances::PalletConfigUpdate")
    def update_pallet_config(self, origin: Origin, update: values.AssetBalancesConfigUpdate) -> None:
        """Change how large a refund has to be, or a bound of whitelists. Governance."""
        origin.ensure_governance()
        match update:
            case values.AssetBalancesConfigUpdateRefundFeeMultiple(chain=chain, multiple=None):
                self.RefundFeeMultiple.remove(chain)
            case values.AssetBalancesConfigUpdateRefundFeeMultiple(chain=chain, multiple=int(multiple)):
                self.RefundFeeMultiple.put(chain, multiple)
            case values.AssetBalancesConfigUpdateMaxWhitelistTimelock(seconds):
                self.MaxWhitelistTimelock.put(seconds)
            case values.AssetBalancesConfigUpdateMaxPendingWhitelistUpdates(count):
                self.MaxPendingWhitelistUpdates.put(count)
            case values.AssetBalancesConfigUpdateMaxWhitelistEntries(count):
                self.MaxWhitelistEntries.put(count)
        self.deposit(self.Event.PalletConfigUpdated, update=update)

    # Whitelists

    @call(1, since("2.3.0"), change="WhitelistChange<AccountId32, EncodedAddress>")
    def update_whitelist(self, origin: Origin, change: values.WhitelistChange[bytes, EncodedAddress]) -> None:
        """Allow withdrawals to an address or account, or no longer; once the caller's timelock is over."""
        who, target = origin.ensure_signed(), self._known_target(change.value)
        foreign_change: values.WhitelistChange[bytes, ForeignAddress] = (
            values.WhitelistChangeAllow(target)
            if isinstance(change, values.WhitelistChangeAllow)
            else values.WhitelistChangeRemove(target)
        )
        apply_at = self._schedule(who, values.PendingChangeWhitelist(foreign_change))
        self.deposit(
            self.Event.WhitelistUpdateScheduled, account_id=who, change=foreign_change, apply_at=apply_at
        )

    def _known_target(
        self, target: values.AccountOrAddress[bytes, EncodedAddress]
    ) -> values.AccountOrAddress[bytes, ForeignAddress]:
        if isinstance(target, values.InternalAccount):
            return target
        return values.ExternalAddress(decoded(self, target.value, self.Error.InvalidEncodedAddress))

    @call(2, since("2.3.0"), duration="u64")
    def set_whitelist_timelock(self, origin: Origin, duration: int) -> None:
        """Let changes wait for so many seconds from now on; this change waits as long as others do today."""
        who = origin.ensure_signed()
        self.ensure(duration <= self.MaxWhitelistTimelock.get(), self.Error.TimelockExceedsMaximum)
        effective = self._schedule(who, values.PendingChangeTimelock(duration))
        self.deposit(
            self.Event.WhitelistTimelockUpdated, account_id=who, duration=duration, effective_at=effective
        )

    def on_idle(self, number: int) -> None:
        """Apply the pending changes whose timelock is over."""
        if not self.runtime.release.rules.withdrawal_whitelists:
            return
        now, pending = self._now, self.PendingChanges.get()
        due = [(time, changes) for time, changes in pending if time <= now]
        if not due:
            return
        self.PendingChanges.put(pending[len(due) :])
        for _, changes in due:
            for who, change in changes:
                self._apply(who, change)

    def ensure_allowed(self, who: bytes, destination: values.AccountOrAddress[bytes, ForeignAddress]) -> None:
        """Fail with DestinationNotAllowed if an account may not send its assets to a destination."""
        error = self.Error.DestinationNotAllowed
        address = destination.value if isinstance(destination, values.ExternalAddress) else None
        if address is not None and address[0] == "Eth":
            bound_address = self.BoundBrokerWithdrawalAddress.get(who)
            self.ensure(bound_address in (None, address[1]), error)
        whitelist = self.WithdrawalWhitelists.get(who)
        if whitelist is None or is_allowed(whitelist, destination):
            return
        refund = address and self.RefundAddresses.get(who, chain_of_address(address))
        self.ensure(address is not None and refund == address, error)

    def ensure_no_whitelist(self, who: bytes) -> None:
        """Fail with WithdrawalWhitelistNotCleared if the account has a whitelist; 2.2 has none."""
        if self.runtime.release.rules.withdrawal_whitelists:
            cleared = not self.WithdrawalWhitelists.contains(who)
            self.ensure(cleared, self.Error.WithdrawalWhitelistNotCleared)

    def register_refund_address(self, who: bytes, address: ForeignAddress) -> None:
        """Set where assets of the address's chain go back to, once the account's timelock is over."""
        self._schedule(who, values.PendingChangeRefundAddress(address))

    def will_have_refund_address(self, who: bytes, chain: str) -> bool:
        """Return whether the account has a refund address on a chain, or one that waits for its timelock."""
        return self.RefundAddresses.contains(who, chain) or any(
            account == who
            and isinstance(change, values.PendingChangeRefundAddress)
            and chain_of_address(change.value) == chain
            for _, changes in self.PendingChanges.get()
            for account, change in changes
        )

    def drop_pending(self, who: bytes) -> None:
        """Remove an account's pending changes."""
        if self.runtime.release.rules.withdrawal_whitelists and (pending := self.PendingChanges.get()):
            self.PendingChanges.put(without(pending, who, lambda change: True))

    @property
    def _now(self) -> int:
        """The block's time in seconds."""
        return int(self.other(Timestamp).Now.get() // 1_000)

    def _whitelist(self, who: bytes) -> Whitelist:
        whitelist: Whitelist | None = self.WithdrawalWhitelists.get(who)
        return NO_WHITELIST if whitelist is None else whitelist

    def _schedule(self, who: bytes, change: Change) -> int:
        """Apply a change once the account's timelock is over, without a timelock at once.

        Return the second from which the change holds. Fails with TooManyPendingUpdates.
        """
        pending, delay = self.PendingChanges.get(), self._whitelist(who).timelock
        if pending:
            pending = without(pending, who, lambda other: replaces(change, other))
            self.PendingChanges.put(pending)
        if not delay:
            self._apply(who, change)
            return self._now
        own_changes = [waiting for _, changes in pending for account, waiting in changes if account == who]
        if isinstance(change, values.PendingChangeWhitelist):
            stacked = sum(isinstance(waiting, values.PendingChangeWhitelist) for waiting in own_changes)
            limit = self.MaxPendingWhitelistUpdates.get()
            self.ensure(stacked < limit, self.Error.TooManyPendingUpdates)
        apply_at, changes_by_time = self._now + int(delay), dict(pending)
        changes_by_time[apply_at] = [*changes_by_time.get(apply_at, ()), (who, change)]
        self.PendingChanges.put(sorted(changes_by_time.items()))
        return apply_at

    def _apply(self, who: bytes, change: Change) -> None:
        whitelist = self._whitelist(who)
        match change:
            case values.PendingChangeRefundAddress(address):
                self.RefundAddresses.put(who, chain_of_address(address), address)
            case values.PendingChangeTimelock(seconds):
                self._put_whitelist(who, replace(whitelist, timelock=seconds))
            case values.PendingChangeWhitelist(values.WhitelistChangeAllow() as allowed) if (
                entries(whitelist) >= self.MaxWhitelistEntries.get()
            ):
                self.deposit(self.Event.WhitelistUpdateDropped, account_id=who, change=allowed)
            case values.PendingChangeWhitelist(update):
                self._put_whitelist(who, changed(whitelist, update))

    def _put_whitelist(self, who: bytes, new: Whitelist) -> None:
        if new == NO_WHITELIST:
            self.WithdrawalWhitelists.remove(who)
        else:
            self.WithdrawalWhitelists.put(who, new)

    # Balances

    def balance(self, who: bytes, asset: str) -> int:
        """Return an account's balance of an asset."""
        amount: int = self.FreeBalances.get(who, asset)
        return amount

    def credit(self, who: bytes, asset: str, amount: int) -> None:
        """Add to an account's balance; an amount of zero changes nothing. Fails with BalanceOverflow."""
        if not amount:
            return
        balance = self.balance(who, asset) + amount
        self.ensure(balance <= MAX_U128, self.Error.BalanceOverflow)
        self.FreeBalances.put(who, asset, balance)
        self.deposit(
            self.Event.AccountCredited,
            account_id=who,
            asset=asset,
            amount_credited=amount,
            new_balance=balance,
        )

    def debit(self, who: bytes, asset: str, amount: int) -> None:
        """Take from an account's balance; a balance of zero has no entry. Fails with InsufficientBalance."""
        if not amount:
            return
        balance = self.balance(who, asset) - amount
        self.ensure(balance >= 0, self.Error.InsufficientBalance)
        if balance:
            self.FreeBalances.put(who, asset, balance)
        else:
            self.FreeBalances.remove(who, asset)
        self.deposit(
            self.Event.AccountDebited,
            account_id=who,
            asset=asset,
            amount_debited=amount,
            new_balance=balance,
        )

    def record_liability(self, gas_asset: str, owner: values.ExternalOwner, amount: int) -> None:
        """Note that `owner` has paid an amount for transactions on the asset's chain."""
        owed = list(self.Liabilities.get(gas_asset))
        old_debt = next((debt for who, debt in owed if who == owner), 0)
        other_debts = [entry for entry in owed if entry[0] != owner]
        self.Liabilities.put(gas_asset, [*other_debts, (owner, min(old_debt + amount, MAX_U128))])

    def accrue_fee(self, gas_asset: str, amount: int) -> None:
        """Keep an amount for the transaction fees of the asset's chain."""
        self.WithheldAssets.mutate(gas_asset, lambda held: min(held + amount, MAX_U128))

    def refund_multiple(self, chain: str) -> int:
        """Return the least size of a refund on a chain, as a multiple of its transfer fee."""
        can_be_set = self.runtime.release.rules.refund_multiples_can_be_set
        multiple: int = self.RefundFeeMultiple.get(chain) if can_be_set else MULTIPLE
        return multiple

    def ensure_no_funds(self, who: bytes) -> None:
        """Fail with FundsRemaining if the account owns any foreign asset."""
        self.ensure(not any(amount for _, amount in self.FreeBalances.items(who)), self.Error.FundsRemaining)

    def on_killed_account(self, who: bytes) -> None:
        """Remove the balances, and the rules of withdrawals, of an account that ends."""
        self.FreeBalances.clear(who)
        rules = self.runtime.release.rules
        if rules.addresses_lie_with_balances:
            self.BoundBrokerWithdrawalAddress.remove(who)
        if rules.withdrawal_whitelists:
            self.WithdrawalWhitelists.remove(who)
            self.drop_pending(who)
