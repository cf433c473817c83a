"""Transaction fees: what an extrinsic costs its sender.

TransactionPayment (7): fee = (base + weight of call and extensions) · 10,000 + length · 1,000,000 + tip, in
the smallest unit of FLIP; the multiplier is constant 1. The fee is burned from the sender's whole balance,
bonded FLIP too. An order call takes 1 FLIP in escrow before it is done, and pays back what is more than the
fee: governance may have the fee of an account's order calls for one asset grow within a block.
"""

from __future__ import annotations

from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import ConstantSet, Cost, EventSet, Pallet, Value, constant, enum, event
from cfnode.devchain.runtime.frame.calls import RuntimeCall
from cfnode.devchain.runtime.frame.weights import BASE_EXTRINSIC_PS, MAX_BLOCK_PS

from .flip import FLIP, Flip
from .system import System

WEIGHT_PRICE = 10_000
LENGTH_PRICE = 1_000_000
ORDER_ESCROW = FLIP
ORDER_CALLS = {"set_limit_order", "update_limit_order", "set_range_order", "update_range_order"}

enum("pallet_transaction_payment::Releases", "V1Ancient", "V2")


class TransactionPayment(Pallet):
    """Fees of transactions."""

    index = 7
    crate = "pallet_transaction_payment"

    NextFeeMultiplier = Value[int]("FixedU128", default=10**18)
    StorageVersion = Value[str]("Releases")

    class Event(EventSet):
        """Events of paid fees."""

        TransactionFeePaid = event(0, who="AccountId32", actual_fee="u128", tip="u128")

    class Constant(ConstantSet):
        """Factors of fees."""

        OperationalFeeMultiplier = constant("u8", 5)

    def genesis(self, config: DevGenesis) -> None:
        """Store the storage version."""
        self.StorageVersion.put("V2")

    def fee(self, length: int, cost: Cost, tip: int = 0) -> int:
        """Return the fee of an extrinsic; a free call pays only the tip.

        `length` counts the bytes of the extrinsic, its length prefix included.
        """
        return (sum(self.fee_parts(length, cost)) if cost.pays else 0) + tip

    @staticmethod
    def fee_parts(length: int, cost: Cost) -> tuple[int, int, int]:
        """Return the parts of a fee: base, by length, by weight."""
        base, weight_part = map(TransactionPayment.weight_fee, (BASE_EXTRINSIC_PS, cost.weight))
        return base, length * LENGTH_PRICE, weight_part

    @staticmethod
    def weight_fee(ref_time: int) -> int:
        """Return the price of a weight, or of the block's whole weight if that is less."""
        return min(ref_time, MAX_BLOCK_PS) * WEIGHT_PRICE

    def can_pay(self, who: bytes, fee: int, call: RuntimeCall) -> bool:
        """Return whether the account's balance covers the fee, and the escrow of an order call."""
        needed_balance = fee if ordered_asset(call) is None else max(fee, ORDER_ESCROW)
        return self.other(Flip).balance(who) >= needed_balance

    def withdraw(self, who: bytes, fee: int, call: RuntimeCall) -> int | None:
        """Burn the fee, or the escrow of an order call. Return the amount; None if the balance is too low."""
        flip = self.other(Flip)
        amount = fee if ordered_asset(call) is None else max(fee, min(flip.balance(who), ORDER_ESCROW))
        if flip.balance(who) < amount:
            return None
        flip.burn(who, amount)
        return amount

    def settle(self, who: bytes, fee: int, escrow: int, call: RuntimeCall) -> None:
        """Pay back what was taken beyond the fee, unless the account no longer exists."""
        if not escrow or not self.other(System).exists(who):
            return
        asset, flip = ordered_asset(call), self.other(Flip)
        owed = fee if asset is None else fee * flip.count_call(who, self.codec("Asset").encode(asset))
        if escrow > owed:
            flip.unburn(who, escrow - owed)

    def note_paid(self, who: bytes, fee: int, tip: int = 0) -> None:
        """Deposit the event of a fee, its tip included."""
        self.deposit(self.Event.TransactionFeePaid, who=who, actual_fee=fee, tip=tip)


def ordered_asset(call: RuntimeCall) -> str | None:
    """Return the base asset of a call that places or changes one order; None for any other call."""
    pallet, call_arguments = call
    if pallet != "LiquidityPools" or isinstance(call_arguments, str) or call_arguments[0] not in ORDER_CALLS:
        return None
    asset: str = call_arguments[1]["base_asset"]
    return asset
