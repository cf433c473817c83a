"""Read a journal with beancount, and print its errors and the balances of its accounts as JSON."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from decimal import Decimal

from beancount import loader
from beancount.core.data import Open, Transaction


def main(path: str) -> None:
    """Print title, errors and balances of a journal."""
    entries, errors, options = loader.load_file(path)
    balances: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    destinations, prices = [], set()
    for entry in entries:
        if isinstance(entry, Transaction):
            destinations.append(entry.meta.get("destination"))
            for posting in entry.postings:
                balances[posting.account][posting.units.currency] += posting.units.number
                prices |= {posting.price.currency} if posting.price else set()
    report = {
        "errors": [error.message for error in errors],
        "title": options["title"],
        "currency": options["operating_currency"],
        "opened": sum(isinstance(entry, Open) for entry in entries),
        "prices": sorted(prices),
        "destinations": destinations,
        "balances": {
            account: {name: str(amount) for name, amount in sums.items()}
            for account, sums in balances.items()
        },
    }
    print(json.dumps(report))


main(*sys.argv[1:])
