"""Maximum cost of a recovery's gas, by the value of the payment.

The fees come from a node of the EVM chain, which may be wrong or lie, so they are compared with a number that
the node does not control: the payment. At most a tenth of it may be spent on gas, unless the caller names
another maximum. A token is worth what the State Chain's own pools would give for it in the coin that pays the
gas.
"""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.core.assets import gas_asset
from cfnode.core.foreign import ForeignError, whole_number
from cfnode.sdk.assets import wire_asset
from cfnode.sdk.errors import SdkError
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.errors import TooExpensive
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.tokens import amount_text, asset_of, coin
from cfnode.sdk.recovery.transaction import UnsignedTransaction

__all__ = ["MAX_FEE_PERCENT", "check_cost", "worth"]

MAX_FEE_PERCENT = 10
"""Percentage of the payment's value that the gas may cost, if the caller names no maximum."""


def worth(session: ClientSession, payload: Payload) -> Steps[int | None]:
    """Return the value of a payment in wei of its chain's own coin; None without a price.

    The value of a whole batch is that of its transfers with a price.
    """
    if payload.is_whole_batch:
        values = list[int]()
        for part in payload.parts:
            value = yield from worth(session, part)
            values += [] if value is None else [value]
        return sum(values) if values else None
    if payload.is_native:
        return payload.transfer.amount
    if (asset := asset_of(payload)) is None:
        return None
    bought = wire_asset(gas_asset(payload.chain))
    question = [wire_asset(asset), bought, hex(payload.transfer.amount)]
    try:
        document = yield from rpc(session, session.rpc_url, "cf_swap_rate", question)
        return whole_number(document.get("output") if isinstance(document, Mapping) else None)
    except (SdkError, ForeignError):
        return None


def check_cost(
    session: ClientSession, payload: Payload, transaction: UnsignedTransaction, max_fee: int | None
) -> Steps[None]:
    """Raise TooExpensive for a transaction that may cost more than `max_fee` (wei), or the default part."""
    cost = transaction.highest_cost
    text = f"the gas may cost {coin(cost, payload.chain)}"
    if max_fee is not None:
        if cost > max_fee:
            maximum = coin(max_fee, payload.chain)
            raise TooExpensive(f"{text}, more than the maximum fee of {maximum}", transaction)
        return
    value = yield from worth(session, payload)
    if value is None:
        raise TooExpensive(
            f"{text}, and the State Chain has no price of {_paid(payload)} in "
            f"{gas_asset(payload.chain).symbol}: name the maximum fee",
            transaction,
        )
    if cost * 100 > value * MAX_FEE_PERCENT:
        share = f"{-(-cost * 100 // value)} %" if value else "more than the whole"
        is_in_coin = payload.is_native and not payload.is_whole_batch
        in_coin = "" if is_in_coin else f" (worth {coin(value, payload.chain)})"
        raise TooExpensive(
            f"{text}, which is {share} of the payment of {_paid(payload)}{in_coin}; without a maximum "
            f"fee of your own, at most {MAX_FEE_PERCENT} % are spent",
            transaction,
        )


def _paid(payload: Payload) -> str:
    return f"{len(payload.transfers)} transfers" if payload.is_whole_batch else amount_text(payload)
