"""Withdrawal whitelists: their types and rules, and pending changes of them.

Types and rules of pallet_cf_asset_balances (whitelist.rs). An account without a whitelist may send anywhere.
With one, even an empty one, it may send only to the destinations on it. A change waits for its timelock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from cfnode.core.addresses import ForeignAddress, chain_of_address
from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import enum, struct

__all__ = [
    "NO_WHITELIST",
    "Change",
    "Pending",
    "Whitelist",
    "changed",
    "entries",
    "is_allowed",
    "replaces",
    "without",
]

T = TypeVar("T", bytes, ForeignAddress)
Whitelist = values.WithdrawalWhitelist[bytes]
Change = values.PendingChange[bytes]
Pending = Sequence[tuple[int, Sequence[tuple[bytes, Change]]]]
"""Changes (`PendingChange`) with their accounts, by the second from which they hold."""

_MODULE = "pallet_cf_asset_balances::whitelist"
_ADDRESS_OR_ACCOUNT = "AccountOrAddress<AccountId, Address>"
enum(
    f"{_MODULE}::WhitelistChange<AccountId, Address>",
    *(f"{kind}({_ADDRESS_OR_ACCOUNT})" for kind in ("Allow", "Remove")),
)
enum(
    f"{_MODULE}::PendingChange<AccountId>",
    "Whitelist(WhitelistChange<AccountId, ForeignChainAddress>)",
    "Timelock(u64)",
    "RefundAddress(ForeignChainAddress)",
)
struct(
    f"{_MODULE}::WithdrawalWhitelist<AccountId>",
    external="BTreeMap<ForeignChain, BTreeSet<ForeignChainAddress>>",
    internal="BTreeSet<AccountId>",
    timelock="u64",
)
enum(
    "pallet_cf_asset_balances::PalletConfigUpdate",
    "RefundFeeMultiple{chain: ForeignChain, multiple: Option<u32>}",
    "MaxWhitelistTimelock{seconds: u64}",
    "MaxPendingWhitelistUpdates{count: u32}",
    "MaxWhitelistEntries{count: u32}",
    name="asset_balances::PalletConfigUpdate",
)

NO_WHITELIST: Whitelist = values.WithdrawalWhitelist(external=[], internal=[], timelock=0)
"""Whitelist of an account without restrictions, which is never stored."""


def is_allowed(whitelist: Whitelist, destination: values.AccountOrAddress[bytes, ForeignAddress]) -> bool:
    """Return whether a destination is on the list."""
    if isinstance(destination, values.InternalAccount):
        return destination.value in whitelist.internal
    address = destination.value
    return address in dict(whitelist.external).get(chain_of_address(address), ())


def entries(whitelist: Whitelist) -> int:
    """Return the number of destinations on the list."""
    return len(whitelist.internal) + sum(len(addresses) for _, addresses in whitelist.external)


def changed(whitelist: Whitelist, change: values.WhitelistChange[bytes, ForeignAddress]) -> Whitelist:
    """Return the list after a change."""
    target, is_member = change.value, isinstance(change, values.WhitelistChangeAllow)
    if isinstance(target, values.InternalAccount):
        return replace(whitelist, internal=_with(whitelist.internal, target.value, is_member))
    chain, external = chain_of_address(target.value), dict(whitelist.external)
    external[chain] = _with(external.get(chain, ()), target.value, is_member)
    nonempty = [(name, addresses) for name, addresses in external.items() if addresses]
    return replace(whitelist, external=sorted(nonempty, key=lambda entry: CHAINS[entry[0]].index))


def _with(members: Sequence[T], value: T, is_member: bool) -> list[T]:
    remaining: list[T] = [member for member in members if member != value]
    if is_member:
        remaining.append(value)
        remaining.sort()
    return remaining


def replaces(new: Change, old: Change) -> bool:
    """Return whether a new change replaces a pending one of the same account."""
    match new, old:
        case values.PendingChangeTimelock(), values.PendingChangeTimelock():
            return True
        case values.PendingChangeRefundAddress(new_address), values.PendingChangeRefundAddress(old_address):
            return chain_of_address(new_address) == chain_of_address(old_address)
    return False


def without(pending: Pending, who: bytes, dropped: Callable[[Change], bool]) -> Pending:
    """Return the pending changes without those of an account that are `dropped`."""
    remaining = [
        (time, [(account, change) for account, change in changes if account != who or not dropped(change)])
        for time, changes in pending
    ]
    return [(time, changes) for time, changes in remaining if changes]
