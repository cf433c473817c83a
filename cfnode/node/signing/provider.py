"""Operations of the node's liquidity provider: deposits, withdrawals, orders, swaps, redemption.

Each operation is one call of the LiquidityProvider, LiquidityPools or Funding pallet, signed by the
keystore's `lqpr` key; its result is read from the events of the call (Chainflip's LP API). Values are those
of the SCALE codec: assets by variant name (`"ArbUsdc"`), addresses as (chain variant, bytes), sides `"Buy"`
and `"Sell"`, enums as (variant, content).

As in the official node, only registration and redemption have a dry run: every other call that fails is
included and pays its fee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from cfnode.core.addresses import EncodedAddress
from cfnode.node.signing.account import SigningAccount, WaitFor
from cfnode.node.signing.outcome import EventError, Inclusion
from cfnode.node.signing.submission import SubmittedCall
from cfnode.swaps.events import Name

__all__ = [
    "MAX_CANCELLED_ORDERS",
    "ChangedLimitOrder",
    "ChangedRangeOrder",
    "LiquidityProviderClient",
    "Order",
    "ProviderAddress",
    "ProviderChannel",
    "Submitted",
]

T = TypeVar("T")

LP_PALLET: Final = "LiquidityProvider"
POOLS: Final = "LiquidityPools"
LIQUIDITY_CHANNEL_READY: Final = (LP_PALLET, Name.LIQUIDITY_CHANNEL)
MAX_CANCELLED_ORDERS: Final = 100
"""Orders that one call can cancel."""

Change = tuple[str, Any]
"""An `IncreaseOrDecrease`: ("Increase", …) or ("Decrease", …)."""


@dataclass(frozen=True, slots=True)
class Submitted(Generic[T]):
    """A submitted call; `response` is None if the caller did not wait for its block."""

    tx_hash: bytes
    response: T | None = None


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    """An open deposit channel. The expiry is a block number of the deposit's chain."""

    address: EncodedAddress
    expiry_block: int


@dataclass(frozen=True, slots=True)
class ProviderChannel:
    """A deposit channel, and the transaction of the block that opened it."""

    channel: ProviderAddress
    inclusion: Inclusion


@dataclass(frozen=True, slots=True)
class ChangedLimitOrder:
    """A limit order after a change.

    Amounts are in the smallest unit: of the sold asset, but `bought_amount` and `collected_fees`, which the
    change paid out, of the bought one. `sell_amount_change` is None if the amount did not change.
    """

    base_asset: str
    quote_asset: str
    side: str
    id: int
    tick: int
    sell_amount_total: int
    collected_fees: int
    bought_amount: int
    sell_amount_change: Change | None


@dataclass(frozen=True, slots=True)
class ChangedRangeOrder:
    """A range order after a change.

    Amounts by `base` and `quote`; `tick_range` by `start` and `end`; `size_change` is of `liquidity` and
    `amounts`, None if it did not change.
    """

    base_asset: str
    quote_asset: str
    id: int
    tick_range: Mapping[str, int]
    liquidity_total: int
    collected_fees: Mapping[str, int]
    size_change: Change | None


Order = ChangedLimitOrder | ChangedRangeOrder


class LiquidityProviderClient(SigningAccount):
    """The operations of one liquidity provider's key."""

    # The account

    async def register_account(self) -> bytes:
        """Make the account a liquidity provider; return the transaction's hash."""
        return (await self.included(SubmittedCall(LP_PALLET, "register_lp_account"))).tx_hash

    async def register_refund_address(self, address: EncodedAddress) -> bytes:
        """Set the refund address for assets of the address' chain; return the transaction's hash."""
        call = SubmittedCall(LP_PALLET, "register_liquidity_refund_address", {"address": address})
        return (await self.included(call, dry_run=False)).tx_hash

    async def request_redemption(self, amount: int | None, address: bytes, executor: bytes | None) -> bytes:
        """Redeem FLIP to an Ethereum address (20 bytes); return the transaction's hash.

        `amount`: in FLIP's smallest unit; None redeems all of it.
        """
        redemption = "Max" if amount is None else ("Exact", amount)
        fields = {"amount": redemption, "address": address, "executor": executor}
        return (await self.included(SubmittedCall("Funding", "redeem", fields))).tx_hash

    # Assets

    async def request_deposit_address(
        self, asset: str, boost_fee: int, wait_for: WaitFor
    ) -> Submitted[ProviderAddress]:
        """Open a deposit channel. `boost_fee`: in basis points."""
        return await self._submitted(_deposit_call(asset, boost_fee), wait_for, _deposit_address)

    async def open_deposit_channel(self, asset: str, boost_fee: int) -> ProviderChannel:
        """Open a deposit channel; return with its block if it was preallocated, else with finality."""
        call = _deposit_call(asset, boost_fee)
        inclusion = await self.opened(call, asset, LIQUIDITY_CHANNEL_READY, dry_run=False)
        return ProviderChannel(_deposit_address(inclusion), inclusion)

    async def withdraw(
        self, amount: int, asset: str, destination: EncodedAddress, wait_for: WaitFor
    ) -> Submitted[tuple[str, int]]:
        """Send an amount to an address on its chain; the response is the egress id (chain, number)."""
        fields = {"amount": amount, "asset": asset, "destination_address": destination}
        return await self._submitted(SubmittedCall(LP_PALLET, "withdraw_asset", fields), wait_for, _egress_id)

    async def transfer(self, amount: int, asset: str, destination: bytes) -> bytes:
        """Give an amount to another liquidity provider; return the transaction's hash."""
        fields = {"amount": amount, "asset": asset, "destination": destination}
        return (
            await self.included(SubmittedCall(LP_PALLET, "transfer_asset", fields), dry_run=False)
        ).tx_hash

    async def schedule_swap(
        self,
        amount: int,
        input_asset: str,
        output_asset: str,
        retry_duration: int,
        price_limits: Mapping[str, Any],
        dca_parameters: Mapping[str, int] | None,
        wait_for: WaitFor,
    ) -> Submitted[int]:
        """Swap assets of the account; the response is the id of the swap request."""
        fields = {
            "amount": amount,
            "input_asset": input_asset,
            "output_asset": output_asset,
            "retry_duration": retry_duration,
            "price_limits": price_limits,
            "dca_params": dca_parameters,
        }
        return await self._submitted(
            SubmittedCall(LP_PALLET, "schedule_swap", fields), wait_for, _swap_request
        )

    # Orders

    async def change_range_order(
        self, call: str, fields: dict[str, Any], wait_for: WaitFor
    ) -> Submitted[list[ChangedRangeOrder]]:
        """Submit `update_range_order` or `set_range_order`, with the fields of the call."""
        return await self._submitted(SubmittedCall(POOLS, call, fields), wait_for, _range_orders)

    async def change_limit_order(
        self, call: str, fields: dict[str, Any], wait_for: WaitFor
    ) -> Submitted[list[ChangedLimitOrder]]:
        """Submit `update_limit_order` or `set_limit_order`, with the fields of the call.

        A scheduled change has not happened yet: its response has no order.
        """
        return await self._submitted(SubmittedCall(POOLS, call, fields), wait_for, _limit_orders)

    async def cancel_orders(
        self, orders: Sequence[tuple[str, Mapping[str, Any]]], wait_for: WaitFor
    ) -> Submitted[list[Order]]:
        """Cancel up to MAX_CANCELLED_ORDERS orders (`CloseOrder`).

        The response is the orders that existed, limit orders first.
        """
        call = SubmittedCall(POOLS, "cancel_orders_batch", {"orders": orders})
        return await self._submitted(call, wait_for, _orders)

    async def _submitted(
        self, call: SubmittedCall, wait_for: WaitFor, read: Callable[[Inclusion], T]
    ) -> Submitted[T]:
        if wait_for is WaitFor.NO_WAIT:
            return Submitted(await self.sent(call))
        reach = self.included if wait_for is WaitFor.IN_BLOCK else self.finalized
        inclusion = await reach(call, dry_run=False)
        return Submitted(inclusion.tx_hash, read(inclusion))


def _deposit_call(asset: str, boost_fee: int) -> SubmittedCall:
    return SubmittedCall(
        LP_PALLET, "request_liquidity_deposit_address", {"asset": asset, "boost_fee": boost_fee}
    )


def _deposit_address(inclusion: Inclusion) -> ProviderAddress:
    event = inclusion.event(*LIQUIDITY_CHANNEL_READY)
    return ProviderAddress(event["deposit_address"], event["deposit_chain_expiry_block"])


def _egress_id(inclusion: Inclusion) -> tuple[str, int]:
    chain, number = inclusion.event(LP_PALLET, "WithdrawalEgressScheduled")["egress_id"]
    return chain, number


def _swap_request(inclusion: Inclusion) -> int:
    return int(inclusion.event("Swapping", Name.REQUESTED)["swap_request_id"])


def _limit_orders(inclusion: Inclusion) -> list[ChangedLimitOrder]:
    return _each(inclusion, "LimitOrderUpdated", ChangedLimitOrder)


def _range_orders(inclusion: Inclusion) -> list[ChangedRangeOrder]:
    return _each(inclusion, "RangeOrderUpdated", ChangedRangeOrder)


def _orders(inclusion: Inclusion) -> list[Order]:
    return [*_limit_orders(inclusion), *_range_orders(inclusion)]


OrderType = TypeVar("OrderType", ChangedLimitOrder, ChangedRangeOrder)


def _each(inclusion: Inclusion, name: str, order: type[OrderType]) -> list[OrderType]:
    """Return the orders of all events of this name. Raise EventError."""
    fields = order.__dataclass_fields__
    try:
        return [order(**{key: event[key] for key in fields}) for event in inclusion.all_events(POOLS, name)]
    except KeyError as error:
        raise EventError(f"{POOLS}.{name}", f"it has no field {error}") from error
