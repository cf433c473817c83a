"""Sub-accounts: accounts without a key, which belong to another account.

AccountRoles (6), the rest of it: a sub-account is named by its owner and a number. It has a role and a
balance like any other, but no key: its owner makes calls for it and pays their fees. As long as it exists, so
does its owner.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime.frame import Origin, Pallet, call, part
from cfnode.devchain.runtime.frame.calls import Arguments, RuntimeCall
from cfnode.devchain.runtime.frame.declarations import EventDef

from .account_roles import AccountRoles
from .funded_accounts import FundedAccounts, sub_account_of
from .system import System

__all__ = ["SubAccounts"]


class SubAccounts(Pallet):
    """Roles of accounts, and accounts of accounts."""

    name = "AccountRoles"
    index = 6
    crate = "pallet_cf_account_roles"

    roles = part(AccountRoles)

    def on_new_account(self, who: bytes) -> None:
        """Give a new account the role Unregistered."""
        self.roles.add(who)

    def on_killed_account(self, who: bytes) -> None:
        """Remove role and vanity name of an account that ends."""
        self.roles.forget(who)

    @call(1, sub_account_index="u8", initial_amount="u128")
    def spawn_sub_account(self, origin: Origin, sub_account_index: int, initial_amount: int) -> None:
        """Create an account of the caller's own, with some of its FLIP."""
        who = origin.ensure_signed()
        sub_account = self.other(FundedAccounts).spawn_sub_account(who, sub_account_index, initial_amount)
        self._note(self.roles.Event.SubAccountCreated, who, sub_account, sub_account_index)

    @call(2, sub_account_index="u8", call="Box<RuntimeCall>")
    def as_sub_account(self, origin: Origin, sub_account_index: int, call: RuntimeCall) -> None:
        """Do a call as an account of the caller's own; the caller pays for it."""
        who = origin.ensure_signed()
        sub_account = sub_account_of(who, sub_account_index)
        self.ensure(self.other(System).exists(sub_account), self.roles.Error.UnknownAccount)
        self.runtime.dispatch(call, Origin.signed(sub_account))
        self._note(self.roles.Event.SubAccountCallExecuted, who, sub_account, sub_account_index)

    def nested_calls(self, name: str, arguments: Arguments) -> Sequence[RuntimeCall]:
        """Return the call inside `as_sub_account`."""
        return [arguments["call"]] if name == "as_sub_account" else ()

    def _note(self, what: EventDef, who: bytes, sub_account: bytes, index: int) -> None:
        self.deposit(what, account_id=who, sub_account_id=sub_account, sub_account_index=index)
