"""A partner that knows only a client generated from the API's document. Arguments: URL, key, two addresses.

It prints the channel's deposit address, waits for a line (the month), and prints the rest as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from partner_client import AuthenticatedClient
from partner_client.api.default import create_quotes, get_statement, get_swap, open_channel
from partner_client.models import (
    Asset,
    AssetAsset,
    AssetChain,
    Channel,
    ChannelRequest,
    ProblemBody,
    QuoteRequest,
    Quotes,
    RefundParams,
    Statement,
    Swap,
)


def main(url: str, key: str, receiver: str, refund: str) -> None:
    """Go the partner's path."""
    client = AuthenticatedClient(base_url=url, token=key)
    source, target = (
        Asset(AssetChain(chain), AssetAsset(asset))
        for chain, asset in (("Bitcoin", "BTC"), ("Ethereum", "ETH"))
    )
    quotes = create_quotes.sync(client=client, body=QuoteRequest(source, target, "100000000"))
    assert isinstance(quotes, Quotes), quotes
    quote = quotes.quotes[0]
    terms = RefundParams(
        refund_address=refund,
        min_price_x128=quote.recommended_min_price_x128,
        retry_duration_blocks=quote.recommended_retry_duration_blocks,
    )
    request = ChannelRequest(source, target, "100000000", receiver, terms)
    channel = open_channel.sync(client=client, body=request, idempotency_key="order-1")
    assert isinstance(channel, Channel), channel
    again = open_channel.sync(client=client, body=request, idempotency_key="order-1")
    assert again == channel
    request.amount = "200000000"
    reused = open_channel.sync_detailed(client=client, body=request, idempotency_key="order-1")
    assert isinstance(reused.parsed, ProblemBody)
    print(channel.deposit_address, flush=True)
    month = sys.stdin.readline().strip()
    states = []
    while not states or states[-1] != "COMPLETED":
        swap = get_swap.sync(client=client, id=channel.id)
        assert isinstance(swap, Swap), swap
        if swap.state not in states:
            states.append(str(swap.state))
        assert len(states) < 10
        time.sleep(0.1)
    statement = get_statement.sync(client=client, month=month)
    assert isinstance(statement, Statement), statement
    report = {
        "reused": [int(reused.status_code), reused.parsed.error.code],
        "quoted": quote.egress_amount,
        "states": states,
        "fees": sorted({fee.type_ for fee in swap.fees}),
        "egress": swap.swap_egress.amount,
        "statement": [total.to_dict() for total in statement.totals],
        "lines": len(statement.lines),
    }
    print(json.dumps(report), flush=True)


main(*sys.argv[1:])
