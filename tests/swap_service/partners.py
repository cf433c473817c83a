"""A chain with a broker, its books, and a partner of it, for tests of the partners' API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Follower, Source
from cfnode.ledger.partners import registry
from cfnode.ledger.partners.registry import Partner
from cfnode.testing import DevChain, dev_calls, running_node
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.swap_service.live import HTTP

__all__ = [
    "BITCOIN",
    "BTC",
    "CHANNEL",
    "ETH",
    "Api",
    "Chain",
    "books_of",
    "broker_chain",
    "channels",
    "code_of",
    "followed",
    "order",
]

BITCOIN = 10**8
BTC = {"chain": "Bitcoin", "asset": "BTC"}
ETH = {"chain": "Ethereum", "asset": "ETH"}
CHANNEL: dict[str, Any] = {
    "src_asset": BTC,
    "dest_asset": ETH,
    "amount": str(BITCOIN),
    "dest_address": EVM_ADDRESS,
    "refund_params": {"refund_address": BTC_ADDRESS, "min_price_x128": "0", "retry_duration_blocks": 10},
}
_KEYS = count(1)
_NAMES = count(1)


def order() -> dict[str, Any]:
    """Return a request whose terms no other one has."""
    return CHANNEL | {"refund_params": CHANNEL["refund_params"] | {"min_price_x128": str(next(_KEYS))}}


@dataclass(frozen=True, slots=True)
class Chain:
    """A node with a broker, and an affiliate of the broker."""

    url: str
    chain: DevChain
    affiliate: str

    def swap(self, address: str) -> None:
        """Make a deposit, and blocks until the swap has ended."""
        self.chain.deposit(address, "Btc", BITCOIN)
        self.chain.new_block(8)
        self.chain.finalize()


@contextmanager
def broker_chain(folder: Path, *flags: str) -> Iterator[Chain]:
    """Yield a node whose broker is registered."""
    with running_node(folder, "--state-pruning=archive", *flags) as node, DevChain(node.url) as chain:
        chain.do(dev_calls.first_block())
        chain.broker.register()
        affiliate = chain.rpc("broker_register_affiliate", EVM_ADDRESS)
        chain.finalize()
        yield Chain(node.url, chain, affiliate)


def followed(database: Database, url: str) -> None:
    """Follow the chain with books, up to the finalized head."""
    trio.run(lambda: Follower(Source(url, first=1), Books(database)).run(once=True))


@contextmanager
def books_of(url: str, kind: str, folder: Path) -> Iterator[Database]:
    """Yield a node's books in a new database, `sqlite` or `postgresql`; skip the test without PostgreSQL."""
    with ExitStack() as stack:
        if kind == "sqlite":
            database = Database(sqlite_url(folder / "books.sqlite"))
        elif is_installed():
            database = Database(stack.enter_context(running_postgres()).new_database("service"))
        else:
            pytest.skip(MISSING)
        stack.callback(database.close)
        followed(database, url)
        yield database


@dataclass(frozen=True, slots=True)
class Api:
    """The API of a service, as a partner uses it."""

    url: str
    key: str = field(repr=False)
    name: str = ""

    @classmethod
    def of(cls, url: str, database: Database, **terms: Any) -> Api:
        """Return a new partner; by default with 15 basis points and 6,000 requests a minute."""
        name = f"partner{next(_NAMES)}"
        settings = {"commission_bps": 15, "rate": 6_000} | terms
        return cls(url, registry.add(database, Partner(name, **settings)), name)

    @property
    def headers(self) -> dict[str, str]:
        """The header with the partner's key."""
        return {"authorization": f"Bearer {self.key}"}

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Return the response to a GET."""
        return HTTP.get(self.url + path, params=query, headers=self.headers)

    def post(self, path: str, document: Any, **headers: str) -> httpx.Response:
        """Return the response to a POST."""
        return HTTP.post(self.url + path, json=document, headers=self.headers | headers)

    def open(self, document: Any = CHANNEL, key: str | None = None) -> httpx.Response:
        """Request a channel, with a key of its own."""
        name = key or f"key-{next(_KEYS)}"
        return self.post("/v1/channels", document, **{"idempotency-key": name})


def code_of(answer: httpx.Response) -> tuple[int, str]:
    """Return status and code of an unsuccessful answer, which has one shape."""
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert set(document) == {"error"}, document
    assert set(document["error"]) == {"code", "message"}
    assert document["error"]["message"]
    return answer.status_code, document["error"]["code"]


def channels(chain: Chain) -> int:
    """Return the number of SwapDepositAddressReady events of the whole chain."""
    head = int(chain.chain.rpc("chain_getHeader")["number"], 16)
    hashes = [chain.chain.rpc("chain_getBlockHash", number) for number in range(1, head + 1)]
    return sum(
        event["name"] == "SwapDepositAddressReady"
        for block_hash in hashes
        for event in chain.chain.events(block_hash)
    )
