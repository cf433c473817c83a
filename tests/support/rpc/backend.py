"""Requests to the swap service of a node."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from tests.rpc.conftest import Served
from tests.support.rpc.assets import BTC_ADDRESS, EVM_ADDRESS

ETHER, BITCOIN = 10**18, 10**8
PAIR = {"srcChain": "Bitcoin", "srcAsset": "BTC", "destChain": "Ethereum", "destAsset": "ETH"}
TERMS = {"retryDurationBlocks": 10, "refundAddress": BTC_ADDRESS, "minPriceX128": "0"}
CHANNEL = PAIR | {"destAddress": EVM_ADDRESS, "amount": str(BITCOIN), "fillOrKillParams": TERMS}


async def get(served: Served, path: str, **query: Any) -> tuple[int, Any]:
    """Return status and document of a GET."""
    answer = await served.http.request("GET", f"{path}?{urlencode(query)}" if query else path)
    return answer.status, answer.json()


async def post(served: Served, path: str, document: Any) -> tuple[int, Any]:
    """Return status and document of a POST."""
    answer = await served.http.request(
        "POST", path, json.dumps(document).encode(), content_type="application/json"
    )
    return answer.status, answer.json()


def quote_query(**changes: Any) -> dict[str, Any]:
    """Return the query of a quote, with changes."""
    return PAIR | {"amount": BITCOIN, "isVaultSwap": "false", "dcaEnabled": "false"} | changes
