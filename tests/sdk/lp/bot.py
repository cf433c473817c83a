"""A market maker that tests kill: `python -m tests.sdk.lp.bot URL TICK ROUND` sets the orders of a round.

With ROUND −1 it goes on from round to round, and prints each one when it begins.
"""

from __future__ import annotations

import sys
from itertools import count

from cfnode.sdk.lp import LimitOrder, LiquidityProvider
from cfnode.sdk.lp.orders import Order
from tests.sdk.lp.place import ACCOUNT


def orders_of(tick: int, number: int) -> list[Order]:
    """Return the orders of a round: some are moved, some change their amount, some go or come."""
    ids = range(number % 3, number % 3 + 6)
    return [LimitOrder("ETH", "sell", n, f"0.0{number % 9 + 1}", tick=tick + 100 + n) for n in ids]


def main(url: str, tick: int, number: int) -> None:
    """Set the orders of one round, or of all of them."""
    with LiquidityProvider(url, ACCOUNT) as lp:
        for turn in count() if number < 0 else (number,):
            print(turn, flush=True)
            lp.set_orders(orders_of(tick, turn))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
