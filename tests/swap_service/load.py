"""Partners that open many channels at once, from several services; the chain tells their requests apart."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from cfnode.ledger.database import Database
from cfnode.ledger.webhooks import registry
from tests import process
from tests.conftest import ROOT
from tests.ledger.contents import rows
from tests.ledger.receivers import receiving
from tests.support.ledger.processes import following, wait_for_block
from tests.swap_service.partners import BITCOIN, CHANNEL, Api, Chain, followed

__all__ = [
    "LIMIT_S",
    "Answer",
    "ServiceProcess",
    "marked",
    "marked_channels",
    "open_many",
    "serving",
    "storm",
]

LIMIT_S = 120.0
"""Far above what is waited for, so that only a hang fails."""
_NUMBERS = count(1)


class ServiceProcess:
    """A running `cfnode service run`."""

    def __init__(self, folder: Path, node: str, database: str, *more: str) -> None:
        self.log_path = folder / f"service{next(_NUMBERS)}.log"
        flags = ("--broker", node, "--listen", "127.0.0.1:0", *more)
        line = process.command("service", "run", "--node", node, "--database", database, *flags)
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen(line, stderr=log, env=process.environment(folder), cwd=ROOT)
        self.url = self._served()

    def _served(self) -> str:
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            if match := re.search(r"Swap service: (http://127\.0\.0\.1:\d+)", self.log_path.read_text()):
                return match[1]
            time.sleep(0.05)
        raise AssertionError(self.log_path.read_text())

    def kill(self) -> None:
        """Kill -9, if it runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextmanager
def serving(folder: Path, chain: Chain, database: str, *more: str) -> Iterator[ServiceProcess]:
    """Yield a service until its end; `more` are flags."""
    service = ServiceProcess(folder, chain.url, database, *more)
    try:
        yield service
    finally:
        service.kill()


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a request: its mark on the chain, status and body, and how often it was sent."""

    mark: int
    status: int
    body: dict[str, Any]
    sent: int


def open_many(
    urls: Sequence[str], keys: Sequence[str], marks: Sequence[int], at_once: int
) -> Iterator[Answer]:
    """Open a channel for each mark, as one of the partners; the answers, as they come."""
    limits = httpx.Limits(max_connections=at_once)
    with httpx.Client(timeout=LIMIT_S, limits=limits) as client, ThreadPoolExecutor(at_once) as pool:
        jobs = [
            pool.submit(_open, client, urls, keys[place % len(keys)], mark, place)
            for place, mark in enumerate(marks)
        ]
        for job in as_completed(jobs):
            yield job.result()


def marked(mark: int) -> dict[str, Any]:
    """Return the request with a mark."""
    return CHANNEL | {"refund_params": CHANNEL["refund_params"] | {"min_price_x128": str(mark)}}


def _open(client: httpx.Client, urls: Sequence[str], key: str, mark: int, place: int) -> Answer:
    """Send a request to one service after the other, with one Idempotency-Key, until one has answered."""
    head = {"authorization": f"Bearer {key}", "idempotency-key": f"order-{mark}"}
    deadline = time.monotonic() + LIMIT_S
    for sent in count(1):
        try:
            url = urls[(place + sent) % len(urls)] + "/v1/channels"
            answer = client.post(url, json=marked(mark), headers=head)
        except httpx.TransportError:  # the service was killed
            assert time.monotonic() < deadline
            continue
        if answer.status_code in (409, 429, 503) and time.monotonic() < deadline:
            time.sleep(float(answer.headers.get("retry-after", "0.2")))  # as the service asks for
            continue
        return Answer(mark, answer.status_code, answer.json(), sent)
    raise AssertionError


def marked_channels(chain: Chain) -> Counter[int]:
    """Return the number of channels that the chain has opened, by their mark."""
    head = int(chain.chain.rpc("chain_getHeader")["number"], 16)
    hashes = [chain.chain.rpc("chain_getBlockHash", number) for number in range(1, head + 1)]
    return Counter(
        int(event["fields"]["refund_parameters"]["min_price"])
        for block_hash in hashes
        for event in chain.chain.events(block_hash)
        if event["name"] == "SwapDepositAddressReady"
    )


@dataclass(frozen=True, slots=True)
class Storm:
    """Outcome of many requests at once, and of the swaps of some of the channels."""

    answers: list[Answer]
    seconds: float
    most_on_chain: int
    """Channels on the chain for one request."""
    on_chain: int
    changes: int
    delivered: int
    """Changes of swaps' states, and those that the receiver got."""


def storm(folder: Path, chain: Chain, url: str, partners: int, channels: int, swaps: int) -> Storm:
    """Open channels for partners at once from two services; pay into some, with a receiver for webhooks."""
    database = Database(url)
    followed(database, chain.url)
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving())
        registry.add(database, receiver.url)
        services = [stack.enter_context(serving(folder, chain, url)) for _ in range(2)]
        stack.enter_context(following(folder, chain.url, url))
        keys = [Api.of(services[0].url, database, rate=60_000).key for _ in range(partners)]
        start = time.monotonic()
        answers = list(
            open_many([service.url for service in services], keys, range(1, channels + 1), partners)
        )
        seconds = time.monotonic() - start
        for answer in answers[:swaps]:
            chain.chain.deposit(answer.body["deposit_address"], "Btc", BITCOIN)
        chain.chain.new_block(8)
        chain.chain.finalize()
        wait_for_block(url, int(chain.chain.rpc("chain_getHeader")["number"], 16))
        changes = len(rows(database, "changes"))
        deadline = time.monotonic() + LIMIT_S
        while len({delivery.id for delivery in receiver.received}) < changes and time.monotonic() < deadline:
            time.sleep(0.05)
        delivered = len({delivery.id for delivery in receiver.received})
    marks = marked_channels(chain)
    database.close()
    return Storm(answers, seconds, max(marks.values()), len(marks), changes, delivered)
