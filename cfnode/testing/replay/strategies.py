"""Loading and calling of a strategy, with a time limit and a check of its result.

A strategy is named `module:function`.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cfnode.core.assets import text_of
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.lp import LimitOrder, Market, RangeOrder, RangeOrderByAmounts, Strategy
from cfnode.sdk.lp.orders import Order, check_orders
from cfnode.sdk.times import time_text
from cfnode.testing.replay.errors import StrategyError
from cfnode.testing.replay.records import QUOTE

__all__ = ["load_strategy", "orders_of", "place_of"]

MAX_STRATEGY_ORDERS = 1_000
"""Maximum orders that a strategy may return for a block."""


def load_strategy(name: str, folder: Path) -> Strategy:
    """Load the function `module:function`, whose module is in a folder or installed.

    Raises StrategyError.
    """
    module, colon, function = name.partition(":")
    if not colon or not module or not function.isidentifier():
        raise StrategyError(f"expected MODULE:FUNCTION, such as maker:quotes, not {name!r:.80}")
    sys.path.insert(0, str(folder))
    try:
        attribute = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise StrategyError(f"cannot import {module!r:.80} from {folder}: {error}") from None
    except Exception as error:
        raise StrategyError(f"{module} cannot be imported: {_cause(error)}") from None
    finally:
        sys.path.remove(str(folder))
    if not callable(attribute):
        raise StrategyError(f"{module} has no function {function}")
    strategy: Strategy = attribute
    return strategy


def orders_of(strategy: Strategy, market: Market, seconds: float) -> list[Order]:
    """Return the orders that a strategy wants to stand after a block; raise StrategyError.

    A call that does not return in time stays in its thread, which ends with the process.
    """
    result = _called(lambda: _listed(strategy(market)), seconds, place_of(market))
    try:
        check_orders(result, market.pools)
    except ValidationError as error:
        raise StrategyError(
            f"{place_of(market)}: the strategy returned wrong orders: {error.message}"
        ) from None
    for order in result:
        for asset in order.pool:
            if asset not in market.prices and asset != QUOTE:
                missing = f"the file of prices has no price of {text_of(asset)} yet"
                raise StrategyError(f"{place_of(market)}: the strategy returned {order}, and {missing}")
    return result


def place_of(market: Market) -> str:
    """Return the number and time of a block, for error texts."""
    return f"block {market.block_number} ({time_text(market.time)})"


def _listed(result: Any) -> list[Order]:
    """Return the orders in the result; raise TypeError. A generator of the strategy runs here."""
    if isinstance(result, str) or not hasattr(result, "__iter__"):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(f"expected a list of orders, not {type(result).__name__}: {result!r:.80}")
    orders = list[Order]()
    for order in result:
        if not isinstance(order, LimitOrder | RangeOrder | RangeOrderByAmounts):
            raise TypeError(f"expected orders, not {type(order).__name__}: {order!r:.80}")
        if len(orders) == MAX_STRATEGY_ORDERS:
            raise TypeError(f"expected at most {MAX_STRATEGY_ORDERS} orders for a block")
        orders.append(order)
    return orders


def _called(function: Callable[[], list[Order]], seconds: float, place: str) -> list[Order]:
    results = list[list[Order]]()
    failed = list[BaseException]()

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:  # also SystemExit: the thread would end silently
            failed.append(error)

    thread = threading.Thread(target=work, name="strategy", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise StrategyError(f"{place}: the strategy failed: {_cause(failed[0])}") from failed[0]
    if not results:
        raise StrategyError(f"{place}: the strategy did not return within {seconds:g} s")
    return results[0]


def _cause(error: BaseException) -> str:
    """Return type and text of an error, and the line that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    position = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {str(error)[:300]}{position}"
