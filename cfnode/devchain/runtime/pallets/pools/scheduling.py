"""Limit order updates that are scheduled for a later block.

A limit order may be set or changed in one of the next two blocks, and closed again within twenty blocks of
the call: the update waits, and is done at the beginning of its block as if it had been called then. A
provider has up to twelve updates waiting for a block; one that sets the same order once more takes the place
of the first.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.system import System

from . import orders
from .storage import PoolsStorage
from .sweeping import sweep

__all__ = ["dispatch_due", "set_or_schedule", "update_or_schedule"]

OPEN_WITHIN, CLOSE_WITHIN = 2, 20
MAX_SCHEDULED = 12
MAX_U128 = 2**128 - 1
Update = values.LimitOrderUpdate


def _replaces(new: Update, old: Update) -> bool:
    """Return whether an update replaces a waiting one: both set or both close the same order."""
    if (new.lp, new.base_asset, new.side, new.id) != (old.lp, old.base_asset, old.side, old.id):
        return False
    set_ = values.LimitOrderUpdateDetailsSet
    both_set = isinstance(new.details, set_) and isinstance(old.details, set_)
    return both_set or new.details == old.details == "Close"


def update_or_schedule(pools: PoolsStorage, update: Update, at: int | None) -> None:
    """Change an order now, or at a block."""
    if at is None:
        _do(pools, update)
    elif _checked(pools, at) == _now(pools):
        _dispatch(pools, update)
    else:
        _schedule(pools, update, at)


def set_or_schedule(
    pools: PoolsStorage, update: Update, order: values.LimitOrderUpdateDetailsSet[int], at: int | None
) -> None:
    """Set an order now, or at a block, and schedule its closing if it names a block for that."""
    close_at = order.close_order_at
    if at is not None:
        _checked(pools, at)
        _check_closing(pools, close_at, at)
        if at == _now(pools):
            _dispatch(pools, update)
        else:
            _schedule(pools, update, at)
        return
    _do(pools, update)
    _check_closing(pools, close_at, _now(pools))
    if close_at is not None:
        _schedule(pools, _closing(update), close_at)


def dispatch_due(pools: PoolsStorage, now: int) -> None:
    """Do the updates that were scheduled for this block."""
    if not pools.ScheduledLimitOrderUpdates.contains(now):
        return
    for update in pools.ScheduledLimitOrderUpdates.take(now):
        key = update.lp, now
        remaining = pools.ScheduledLimitOrderUpdateCount.get(key) - 1
        if remaining > 0:
            pools.ScheduledLimitOrderUpdateCount.put(key, remaining)
        else:
            pools.ScheduledLimitOrderUpdateCount.remove(key)
        try:
            _dispatch(pools, update)
        except DispatchError:
            continue  # `_dispatch` has deposited an event


def _dispatch(pools: PoolsStorage, update: Update) -> None:
    """Do an update, and deposit the event of its outcome."""
    pools.runtime.host.begin()
    try:
        if isinstance(update.details, values.LimitOrderUpdateDetailsSet):
            set_or_schedule(pools, update, update.details, None)
        else:
            _do(pools, update)
    except DispatchError as error:
        pools.runtime.host.rollback()
        pools.deposit(
            pools.Event.ScheduledLimitOrderUpdateDispatchFailure,
            lp=update.lp,
            order_id=update.id,
            error=error.value,
        )
        raise
    pools.runtime.host.commit()
    pools.deposit(pools.Event.ScheduledLimitOrderUpdateDispatchSuccess, lp=update.lp, order_id=update.id)


def _do(pools: PoolsStorage, update: Update) -> None:
    enabled = pools.other(EnvironmentStorage).safe_mode("pools", "limit_order_update_enabled")
    pools.ensure(enabled, pools.Error.UpdatingLimitOrdersDisabled)
    order = (update.lp, update.base_asset, update.side, update.id)
    match update.details:
        case "Close":
            sweep(pools, update.lp)
            orders.close_limit_order(pools, *order)
        case values.LimitOrderUpdateDetailsSet(option_tick=tick, sell_amount=amount):
            orders.set_limit_order(pools, *order, tick, amount)
        case values.LimitOrderUpdateDetailsUpdate(option_tick=tick, amount_change=amount_change):
            orders.update_limit_order(pools, *order, tick, amount_change)


def _schedule(pools: PoolsStorage, update: Update, at: int) -> None:
    key, updates = (update.lp, at), list(pools.ScheduledLimitOrderUpdates.get(at))
    index = next((position for position, old in enumerate(updates) if _replaces(update, old)), None)
    if index is None:
        count = pools.ScheduledLimitOrderUpdateCount.get(key)
        pools.ensure(count < MAX_SCHEDULED, pools.Error.SheduledUpdateLimitReached)
        pools.ScheduledLimitOrderUpdateCount.put(key, count + 1)
        updates.append(update)
    else:
        updates[index] = update
    pools.ScheduledLimitOrderUpdates.put(at, updates)
    pools.deposit(
        pools.Event.LimitOrderSetOrUpdateScheduled, lp=update.lp, order_id=update.id, dispatch_at=at
    )


def _closing(update: Update) -> Update:
    return replace(update, details="Close")


def _checked(pools: PoolsStorage, at: int) -> int:
    now = _now(pools)
    pools.ensure(now <= at <= now + OPEN_WITHIN, pools.Error.InvalidDispatchAt)
    return at


def _check_closing(pools: PoolsStorage, at: int | None, opened: int) -> None:
    is_valid = at is None or opened < at <= _now(pools) + CLOSE_WITHIN
    pools.ensure(is_valid, pools.Error.InvalidCloseOrderAt)


def _now(pools: PoolsStorage) -> int:
    return pools.other(System).Number.get()
