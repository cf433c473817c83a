"""What a broker gets wrong: each check of the chain and of the node has its own words, and costs nothing.

One node for all, whose broker has a private Bitcoin channel and has opened one deposit channel. Nothing that
is refused here may use up a nonce, open a channel, or make a block.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.store.keystore import Keystore
from tests.process import running_node
from tests.rpc.refusals import (
    BTC,
    CASES,
    EVM_ADDRESS,
    NO_ADDRESS,
    OPEN,
    USDC,
    Error,
    channel,
    dca,
    message,
    refund,
    swapping,
    to_usdc,
)

ACCOUNT = ss58.encode(Keypair.from_suri("//Broker", "sr25519").account)


class Broker:
    """One connection to the node of a broker."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection

    def answer(self, method: str, params: Any = ()) -> dict[str, Any]:
        """Return the whole answer of a call by position or by name."""
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", "/", text, {"content-type": "application/json"})
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return answer

    def costs(self) -> tuple[int, str, Any]:
        """Return the figures that a call could change: nonce, block, channels."""
        nonce = self.answer("system_accountNextIndex", [ACCOUNT])["result"]
        head = self.answer("chain_getHead")["result"]
        return nonce, head, self.answer("broker_all_open_deposit_channels")["result"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Yield a broker at a node that makes a block with each transaction."""
    folder = tmp_path_factory.mktemp("broker")
    Keystore(folder / "base" / "chains" / "dev" / "keystore").insert("brok", "//Broker")
    with running_node(folder, "--dev", "--dev-seal=instant") as node:
        connection = http.client.HTTPConnection("127.0.0.1", int(node.url.rpartition(":")[2]))
        with closing(connection):
            broker = Broker(connection)
            while broker.answer("chain_getHeader")["result"]["number"] == "0x0":
                time.sleep(0.02)
            for method, params in (
                ("broker_register_account", ()),
                ("broker_open_private_btc_channel", ()),
                (OPEN, channel()),
            ):
                assert "result" in broker.answer(method, params)
            yield broker


@pytest.mark.parametrize("case", CASES)
def test_a_refused_request_gets_the_reason_and_costs_nothing(broker: Broker, case: str) -> None:
    """Refuse a request with its exact reason, without using a nonce, a block or a channel."""
    method, params, error = CASES[case]
    before = broker.costs()
    assert broker.answer(method, params).get("error") == error
    assert broker.costs() == before


@pytest.mark.parametrize(
    ("asset", "address", "error"),
    [
        (
            USDC,
            EVM_ADDRESS,
            swapping(
                "NoFundsAvailable",
                "The withdrawal is not possible because not enough funds are available.",
            ),
        ),
        (BTC, EVM_ADDRESS, NO_ADDRESS),
    ],
)
def test_a_withdrawal_is_not_tried_beforehand_so_what_the_chain_refuses_costs_its_fee(
    broker: Broker, asset: Any, address: str, error: Error
) -> None:
    """Charge the fee of a withdrawal that the chain refuses, since it is not tried beforehand."""
    nonce, _, channels = broker.costs()
    assert broker.answer("broker_withdraw_fees", [asset, address]).get("error") == error
    after, _, still = broker.costs()
    assert (after, still) == (nonce + 1, channels)


@pytest.mark.parametrize(
    "params",
    [to_usdc(channel_metadata=message(15_000)), dca(2, 1), dca(7_201, 2), refund(retry_duration=600)],
    ids=["a message of 15,000 bytes", "chunks in blocks that follow each other", "for a day", "for an hour"],
)
def test_what_just_fits_is_taken(broker: Broker, params: Any) -> None:
    """Accept what just fits the limits."""
    nonce, _, before = broker.costs()
    assert broker.answer(OPEN, params)["result"]["address"].startswith("0x")
    after, _, channels = broker.costs()
    assert after == nonce + 1
    assert opened(channels) == opened(before) + 1


def opened(channels: Any) -> int:
    """Return the number of deposit channels."""
    return sum(len(entry["chain_accounts"]) for _, _, entry in channels)
