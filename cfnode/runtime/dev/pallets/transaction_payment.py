"""What does a transaction cost its sender?

TransactionPayment (7): fee = (base + call weight) · 10,000 + length · 1,000,000, in the smallest unit of
FLIP; the multiplier is constant 1 and tips buy nothing. It is burned from the sender's whole balance, bonded
FLIP too.
"""

from __future__ import annotations

from typing import Any

from cfnode.runtime.dev.frame import ConstantSet, Cost, EventSet, Pallet, Value, constant, enum, event
from cfnode.runtime.dev.frame.weights import BASE_EXTRINSIC

from .flip import Flip

WEIGHT_PRICE = 10_000
LENGTH_PRICE = 1_000_000

enum("pallet_transaction_payment::Releases", "V1Ancient", "V2")


class TransactionPayment(Pallet):
    """Fees of transactions."""

    index = 7
    crate = "pallet_transaction_payment"

    NextFeeMultiplier = Value("FixedU128", default=10**18)
    StorageVersion = Value("Releases")

    class Event(EventSet):
        TransactionFeePaid = event(0, who="AccountId32", actual_fee="u128", tip="u128")

    class Constant(ConstantSet):
        OperationalFeeMultiplier = constant("u8", 5)

    def genesis(self, config: Any) -> None:
        self.StorageVersion.put("V2")

    def fee(self, length: int, cost: Cost) -> int:
        """The fee of an extrinsic of `length` bytes (with its length prefix): 0 if the call is free."""
        return sum(self.fee_parts(length, cost)) if cost.pays else 0

    @staticmethod
    def fee_parts(length: int, cost: Cost) -> tuple[int, int, int]:
        """(base, by length, by weight)."""
        return BASE_EXTRINSIC * WEIGHT_PRICE, length * LENGTH_PRICE, cost.weight * WEIGHT_PRICE

    def can_pay(self, who: bytes, fee: int) -> bool:
        """Whether the account's balance covers the fee."""
        return self.other(Flip).balance(who) >= fee

    def withdraw(self, who: bytes, fee: int) -> bool:
        """Burn the fee; False if the balance does not cover it."""
        if not self.can_pay(who, fee):
            return False
        self.other(Flip).burn(who, fee)
        return True

    def note_paid(self, who: bytes, fee: int) -> None:
        """Tell the world."""
        self.deposit(self.Event.TransactionFeePaid, who=who, actual_fee=fee, tip=0)
