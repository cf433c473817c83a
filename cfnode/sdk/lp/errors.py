"""Error of an update of orders that was executed only in part, with the orders that stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from cfnode.sdk.errors import ErrorCode, RpcCallError, SdkError, TransportError
from cfnode.sdk.lp.orders import OpenOrder, Order

__all__ = ["OrdersIncomplete"]


class OrdersIncomplete(SdkError):
    """An update of orders was executed in part; repeat it with the same orders, which places nothing twice.

    `done`: orders whose change is in a block (in the pool with NoWait). `refused`: those that the chain or
    node refused, with the error. `unsure`: those of a request without an answer, which may still be executed.
    `unsent`: those that were not tried. `standing`: the open orders read afterwards, None if the node did
    not answer. `cause`: the failure of the transport, None if all calls were answered.
    """

    code: ClassVar[ErrorCode] = "ORDERS_INCOMPLETE"

    def __init__(
        self,
        *,
        done: Sequence[Order],
        refused: Sequence[tuple[Order, RpcCallError]],
        unsure: Sequence[Order],
        unsent: Sequence[Order],
        standing: Sequence[OpenOrder] | None,
        cause: TransportError | None,
    ) -> None:
        self.done, self.refused = tuple(done), tuple(refused)
        self.unsure, self.unsent = tuple(unsure), tuple(unsent)
        self.standing = None if standing is None else tuple(standing)
        self.cause = cause
        super().__init__(self._text())

    def _text(self) -> str:
        parts = [f"{len(self.done)} orders changed"]
        if self.refused:
            order, error = self.refused[0]
            parts.append(f"{len(self.refused)} refused (first: {order}: {error.message})")
        if self.unsure:
            parts.append(f"{len(self.unsure)} without an answer ({self.cause}), which may still be executed")
        if self.unsent:
            parts.append(f"{len(self.unsent)} not sent")
        standing = "unknown" if self.standing is None else f"{len(self.standing)} orders"
        return f"{', '.join(parts)}; open now: {standing}; repeating the same orders places nothing twice"
