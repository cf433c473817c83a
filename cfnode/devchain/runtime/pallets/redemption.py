"""Amount of FLIP that may leave an account.

Bonded FLIP stays, and so does FLIP that came from restricted addresses, unless it goes back to one of them.
What stays behind is nothing, or at least the minimum funding. An account that sends all its FLIP must have
given up its role. (The chain's `pallet_cf_funding`, `Redemption`.)
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.devchain.runtime import values

from .account_roles import UNREGISTERED, AccountRoles
from .flip import Flip
from .funding_storage import FundingStorage
from .system import System

__all__ = ["Redemption", "planned"]


@dataclass(frozen=True, slots=True)
class Redemption:
    """FLIP that may leave an account: amount, fee, and the restricted address (20 bytes) that it is for.

    So much of the debit as is `restricted` came from that address.
    """

    who: bytes
    amount: int
    fee: int
    address: bytes | None
    restricted: int

    @property
    def debit(self) -> int:
        """FLIP by which the account's balance falls: amount and fee."""
        return self.amount + self.fee


def planned(
    funding: FundingStorage,
    who: bytes,
    wanted: values.RedemptionAmount[int],
    address: bytes | None = None,
    *,
    fee: int = 0,
    leaves: bool = True,
) -> Redemption:
    """Return what of `wanted` may leave. Fails with the pallet's error if it may not.

    `leaves` is False for a query: then the account need not give up its role first.
    """
    flip, restricted = funding.other(Flip), dict(funding.RestrictedBalances.get(who))
    balance, bond = flip.balance(who), flip.bond(who)
    restricted_part = _restricted(restricted, wanted, address, fee)
    restricted_left = max(0, min(sum(restricted.values()), balance) - restricted_part)
    liquid = max(0, balance - max(bond, restricted_left))
    if wanted == "Max":
        fee = 0 if liquid == balance else fee
        redemption = Redemption(who, max(0, liquid - fee), min(fee, liquid), address, restricted_part)
    else:
        redemption = Redemption(who, wanted.value, fee, address, restricted_part)
    _check(funding, redemption, balance - redemption.debit, bond, restricted_left)
    if leaves and redemption.debit == balance:
        _ensure_may_go(funding, who)
    return redemption


def _restricted(
    restricted: dict[bytes, int], wanted: values.RedemptionAmount[int], address: bytes | None, fee: int
) -> int:
    """Return how much of the FLIP that leaves is restricted to the address."""
    bound = restricted.get(address, 0) if address is not None else 0
    return bound if wanted == "Max" else min(wanted.value + fee, bound)


def _check(funding: FundingStorage, made: Redemption, left: int, bond: int, kept: int) -> None:
    error = funding.Error
    funding.ensure(left >= 0, error.InsufficientBalance)
    funding.ensure(left >= bond, error.BondViolation)
    funding.ensure(left >= kept, error.InsufficientUnrestrictedFunds)
    funding.ensure(not left or left >= funding.MinimumFunding.get(), error.BelowMinimumFunding)


def _ensure_may_go(funding: FundingStorage, who: bytes) -> None:
    role = funding.other(AccountRoles).role(who)
    funding.ensure(role in (None, UNREGISTERED), funding.Error.AccountMustBeUnregistered)
    has_consumers = funding.other(System).consumers(who)
    funding.ensure(not has_consumers, funding.Error.AccountHasRemainingConsumers)
