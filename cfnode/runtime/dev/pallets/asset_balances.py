"""Whose are the foreign assets that lie in the vaults?

AssetBalances (47): what brokers have earned and liquidity providers have deposited, and the fees withheld for
transactions on the foreign chains (pallet_cf_asset_balances).
"""

from __future__ import annotations

from typing import Any

from cfnode.runtime.dev.frame import DoubleMap, ErrorSet, EventSet, Map, Pallet, enum, event, migration, since

__all__ = ["ADDRESS_OF_ACCOUNT", "AssetBalances"]

MAX_AMOUNT = 2**128 - 1
MULTIPLE, TRON_MULTIPLE = 100, 15
"""How many times its fee a refund has to be, at least."""
ADDRESS_OF_ACCOUNT = ("Identity", "AccountId32", "Twox64Concat", "ForeignChain", "ForeignChainAddress")
"""Hashers and types of a map from an account and a chain to an address there."""
TWOX_64 = 8
"""Bytes of the hash before a key of Twox64Concat."""

enum("pallet_cf_asset_balances::ExternalOwner", "Vault", "AggKey", "Account(ForeignChainAddress)")


class AssetBalances(Pallet):
    """Balances in foreign assets, in their smallest units."""

    index = 47
    crate = "pallet_cf_asset_balances"

    Liabilities = Map("Twox64Concat", "Asset", "BTreeMap<ExternalOwner, u128>")
    WithheldAssets = Map("Twox64Concat", "Asset", "u128")
    FreeBalances = DoubleMap("Blake2_128Concat", "AccountId32", "Twox64Concat", "Asset", "u128")
    RefundAddresses = DoubleMap(*ADDRESS_OF_ACCOUNT, optional=True, span=since("2.3.0"))
    BoundBrokerWithdrawalAddress = Map("Identity", "AccountId32", "H160", optional=True, span=since("2.3.0"))
    RefundFeeMultiple = Map("Twox64Concat", "ForeignChain", "u32", default=MULTIPLE, span=since("2.2.9"))

    class Event(EventSet):
        RefundScheduled = event(0, egress_id="EgressId", destination="ForeignChainAddress", amount="u128")
        RefundSkipped = event(1, reason="DispatchError", chain="ForeignChain", address="ForeignChainAddress")
        VaultDeficitDetected = event(2, chain="ForeignChain", amount_owed="u128", available="u128")
        AccountDebited = event(
            3, account_id="AccountId32", asset="Asset", amount_debited="u128", new_balance="u128"
        )
        AccountCredited = event(
            4, account_id="AccountId32", asset="Asset", amount_credited="u128", new_balance="u128"
        )

    class Error(ErrorSet):
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
        """A refund on Tron may be smaller, measured by its fee."""
        self.RefundFeeMultiple.put("Tron", TRON_MULTIPLE)

    @migration("2.3.0")
    def take_addresses_over(self) -> None:
        """Refund addresses were with the providers, bound addresses with the brokers."""
        self.RefundAddresses.take_over("LiquidityProvider", "LiquidityRefundAddress")
        self.BoundBrokerWithdrawalAddress.take_over("Swapping", "BoundBrokerWithdrawalAddress", TWOX_64)

    def balance(self, who: bytes, asset: str) -> int:
        """What an account owns of an asset."""
        amount: int = self.FreeBalances.get(who, asset)
        return amount

    def credit(self, who: bytes, asset: str, amount: int) -> None:
        """Add to an account's balance; nothing happens for an amount of zero."""
        if not amount:
            return
        balance = self.balance(who, asset) + amount
        self.ensure(balance <= MAX_AMOUNT, self.Error.BalanceOverflow)
        self.FreeBalances.put(who, asset, balance)
        self.deposit(
            self.Event.AccountCredited,
            account_id=who,
            asset=asset,
            amount_credited=amount,
            new_balance=balance,
        )

    def debit(self, who: bytes, asset: str, amount: int) -> None:
        """Take from an account's balance; an empty balance leaves no entry."""
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

    def owe(self, gas_asset: str, owner: Any, amount: int) -> None:
        """Note that an `ExternalOwner` has paid so much for transactions on the asset's chain."""
        owed = list(self.Liabilities.get(gas_asset))
        before = next((debt for who, debt in owed if who == owner), 0)
        others = [entry for entry in owed if entry[0] != owner]
        self.Liabilities.put(gas_asset, [*others, (owner, min(before + amount, MAX_AMOUNT))])

    def withhold(self, gas_asset: str, amount: int) -> None:
        """Keep an amount for the transaction fees of the asset's chain."""
        self.WithheldAssets.mutate(gas_asset, lambda held: min(held + amount, MAX_AMOUNT))

    def refund_multiple(self, chain: str) -> int:
        """How many times its fee a refund has to be, at least."""
        is_set = self.has("RefundFeeMultiple")
        multiple: int = self.RefundFeeMultiple.get(chain) if is_set else MULTIPLE
        return multiple

    def ensure_no_funds(self, who: bytes) -> None:
        """FundsRemaining if the account owns any foreign asset."""
        self.ensure(not any(amount for _, amount in self.FreeBalances.items(who)), self.Error.FundsRemaining)

    def on_killed_account(self, who: bytes) -> None:
        self.FreeBalances.clear(who)
        if self.has("BoundBrokerWithdrawalAddress"):
            self.BoundBrokerWithdrawalAddress.remove(who)
