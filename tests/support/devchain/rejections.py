"""Deposits that a broker has marked for rejection."""

from __future__ import annotations

from cfnode.core.assets import ASSETS
from tests.devchain.runtime.broker import request
from tests.devchain.runtime.swapper import Swapper


def rejected(broker: Swapper, source: str, amount: int, **changes: object) -> list[str]:
    """Open a channel, close it to deposits, and pay into it; what happens then."""
    address = broker.opened(**request(source, "Btc", **changes))["deposit_address"]
    mark = "mark_deposit_channel_for_rejection"
    pallet = f"{ASSETS[source].chain}IngressEgress"
    assert broker.submit(pallet, mark, deposit_address=address[1]) == "Ok"
    return broker.pay(address, source, amount)
