"""Which destinations of withdrawals has an account allowed, and which change to that comes into force when?

Types and rules of pallet_cf_asset_balances (whitelist.rs). An account without a whitelist may send anywhere.
With one, even an empty one, it may send only to the destinations on it. A change waits for its timelock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cfnode.core.addresses import chain_of_address
from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime.frame import enum, struct

__all__ = ["NO_WHITELIST", "Pending", "Whitelist", "changed", "entries", "is_allowed", "replaces", "without"]

Whitelist = dict[str, Any]
"""A value of `WithdrawalWhitelist`."""
Pending = Sequence[tuple[int, Sequence[tuple[bytes, Any]]]]
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

NO_WHITELIST: Whitelist = {"external": [], "internal": [], "timelock": 0}
"""Never stored: such an account is not restricted."""


def is_allowed(whitelist: Whitelist, destination: Any) -> bool:
    """Whether an `AccountOrAddress` is on the list."""
    kind, value = destination
    if kind == "InternalAccount":
        return value in whitelist["internal"]
    return value in dict(whitelist["external"]).get(chain_of_address(value), ())


def entries(whitelist: Whitelist) -> int:
    """How many destinations are on the list."""
    return len(whitelist["internal"]) + sum(len(addresses) for _, addresses in whitelist["external"])


def changed(whitelist: Whitelist, change: Any) -> Whitelist:
    """The list after a `WhitelistChange`."""
    verb, (kind, value) = change
    if kind == "InternalAccount":
        return whitelist | {"internal": _with(whitelist["internal"], value, verb == "Allow")}
    chain, external = chain_of_address(value), dict(whitelist["external"])
    external[chain] = _with(external.get(chain, ()), value, verb == "Allow")
    kept = [(name, addresses) for name, addresses in external.items() if addresses]
    return whitelist | {"external": sorted(kept, key=lambda entry: CHAINS[entry[0]].index)}


def _with(members: Sequence[Any], value: Any, is_member: bool) -> list[Any]:
    others = [each for each in members if each != value]
    return sorted([*others, value]) if is_member else others


def replaces(new: Any, old: Any) -> bool:
    """Whether a pending change is dropped for another of the same account."""
    if new[0] != old[0] or new[0] == "Whitelist":
        return False
    return new[0] == "Timelock" or chain_of_address(new[1]) == chain_of_address(old[1])


def without(pending: Pending, who: bytes, dropped: Callable[[Any], bool]) -> Pending:
    """What is left when an account's changes of a kind are dropped."""
    left = [
        (time, [(account, change) for account, change in changes if account != who or not dropped(change)])
        for time, changes in pending
    ]
    return [(time, changes) for time, changes in left if changes]
