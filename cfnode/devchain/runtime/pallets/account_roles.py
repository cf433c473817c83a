"""Roles of accounts, and their vanity names.

AccountRoles (6): every account begins unregistered and may take one role, as broker, liquidity provider,
validator or operator. A role keeps the account alive.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime.frame import (
    ErrorSet,
    EventSet,
    OptionalMap,
    Origin,
    PalletStorage,
    Value,
    bad_origin,
    call,
    event,
)

from .system import System

MAX_VANITY_NAME_BYTES = 64
UNREGISTERED = "Unregistered"


class AccountRoles(PalletStorage):
    """Roles of accounts: the pallet without sub-accounts."""

    AccountRoles = OptionalMap[bytes, str]("Identity", "AccountId32", "AccountRole")
    VanityNames = Value[Sequence[tuple[bytes, bytes]]]("BTreeMap<AccountId32, BoundedVec<u8>>")

    class Event(EventSet):
        """Events of roles, vanity names and sub-accounts."""

        AccountRoleRegistered = event(0, account_id="AccountId32", role="AccountRole")
        AccountRoleDeregistered = event(1, account_id="AccountId32", role="AccountRole")
        VanityNameSet = event(2, account_id="AccountId32", name="BoundedVec<u8>")
        SubAccountCreated = event(
            3, account_id="AccountId32", sub_account_id="AccountId32", sub_account_index="u8"
        )
        SubAccountCallExecuted = event(
            4, account_id="AccountId32", sub_account_id="AccountId32", sub_account_index="u8"
        )

    class Error(ErrorSet):
        """Errors of roles, vanity names and sub-accounts."""

        UnknownAccount = "The account has never been created."
        AccountRoleAlreadyRegistered = "The account already has a registered role."
        InvalidCharactersInName = "Invalid characters in the name."
        FailedToExecuteCallOnBehalfOfSubAccount = "Failed to execute the call of a sub-account."
        SubAccountIdDerivationFailed = "Failed to derive the sub-account id."

    @call(0, name="BoundedVec<u8>")
    def set_vanity_name(self, origin: Origin, name: bytes) -> None:
        """Give the account a name for people: UTF-8, up to 64 bytes."""
        who = origin.ensure_signed()
        try:
            name.decode()
        except UnicodeDecodeError:
            self.fail(self.Error.InvalidCharactersInName)
        self.ensure(len(name) <= MAX_VANITY_NAME_BYTES, self.Error.InvalidCharactersInName)
        self.VanityNames.put(sorted((dict(self.VanityNames.get()) | {who: name}).items()))
        self.deposit(self.Event.VanityNameSet, account_id=who, name=name)

    def role(self, who: bytes) -> str | None:
        """Return the account's role, or None if there is no such account."""
        role: str | None = self.AccountRoles.get(who)
        return role

    def register(self, who: bytes, role: str) -> None:
        """Give an unregistered account a role. Fails with UnknownAccount, AccountRoleAlreadyRegistered."""
        present = self.role(who)
        self.ensure(present is not None, self.Error.UnknownAccount)
        self.ensure(present == UNREGISTERED, self.Error.AccountRoleAlreadyRegistered)
        self.AccountRoles.put(who, role)
        self.other(System).inc_consumers(who)
        self.deposit(self.Event.AccountRoleRegistered, account_id=who, role=role)

    def deregister(self, who: bytes, role: str) -> None:
        """Take the role from an account. Fails with BadOrigin if the account has another role."""
        if self.role(who) != role:
            raise bad_origin()
        self.AccountRoles.put(who, UNREGISTERED)
        self.other(System).dec_consumers(who)
        self.deposit(self.Event.AccountRoleDeregistered, account_id=who, role=role)

    def ensure_role(self, origin: Origin, role: str) -> bytes:
        """Return the account that signed. Fails with BadOrigin if it does not have this role."""
        who = origin.ensure_signed()
        if self.role(who) != role:
            raise bad_origin()
        return who

    def ensure_broker(self, origin: Origin) -> bytes:
        """Return the account that signed. Fails with BadOrigin if it is not a broker."""
        return self.ensure_role(origin, "Broker")

    def add(self, who: bytes) -> None:
        """Note a new account, which has no role yet."""
        self.AccountRoles.put(who, UNREGISTERED)

    def forget(self, who: bytes) -> None:
        """Remove the role and the vanity name of an account that was killed."""
        self.AccountRoles.remove(who)
        names = self.VanityNames.get()
        if any(account == who for account, _ in names):
            self.VanityNames.put([entry for entry in names if entry[0] != who])
