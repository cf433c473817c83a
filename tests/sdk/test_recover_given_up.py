"""`cfnode recover` for a call that the State Chain has given up, and the vault still takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.sdk.recovery import Payload
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.support.sdk.lives import LifeNode, PayoutsOfLife, Vaults

pytestmark = pytest.mark.world

SEED = 1
"""A life in which epochs end without a new key, after a message to Ethereum was aborted."""


@pytest.fixture(scope="module")
def life() -> PayoutsOfLife:
    """Return a life in which epochs ended without a new key."""
    life = PayoutsOfLife(SEED, rotates_always=False)
    for _ in range(24):
        life.step()
    return life


@pytest.fixture
def chain(life: PayoutsOfLife) -> Iterator[Loopback]:
    """Yield a node that answers by that life."""
    node = LifeNode(life)

    def handle(request: Request) -> bytes:
        answers: list[Any] = [node._reply(call) for call in request.calls]
        is_one = isinstance(json.loads(request.body), dict)
        return page(200, json.dumps(answers[0] if is_one else answers).encode())

    with serving(handle) as server:
        yield server


def given_up(life: PayoutsOfLife) -> Payload:
    """Return the newest call that the State Chain has given up, and that its vault takes."""
    vaults = Vaults(life)
    expired = {
        (event.pallet.removesuffix("IngressEgress"), event.fields["broadcast_id"])
        for block in vaults.history
        for event in block.events
        if event.name == "FailedForeignChainCallExpired"
    }
    *_, newest = [call for call in vaults.open() if (call.chain, call.broadcast_id) in expired]
    return newest


def recover(server: Loopback, call: Payload, *arguments: str) -> Result:
    """Run `cfnode recover` for a call."""
    line = ["recover", call.chain.lower(), str(call.broadcast_id), "--node", server.url, *arguments]
    return CliRunner().invoke(cli, line)


def by_receiver(server: Loopback, call: Payload) -> str:
    """Return what a search for the receiver has found, as JSON; several calls may pay it."""
    line = ["recover", "--for", call.recipient_text, "--node", server.url, "--json"]
    return CliRunner().invoke(cli, line).output


def test_it_is_found_by_its_number_and_receiver_until_the_vault_has_another_key(
    life: PayoutsOfLife, chain: Loopback
) -> None:
    """Find a call that the chain gave up while the vault still has its key, and not afterwards."""
    call = given_up(life)
    outcome = recover(chain, call)
    assert outcome.exit_code == ExitCode.OK, outcome.output
    lines = " ".join(outcome.output.split())
    assert f"to {call.recipient_text}" in lines
    assert re.search(r" until about \d{4}-\d\d-\d\d \d\d:\d\d UTC, in ", lines)
    command = f"cfnode recover {call.chain.lower()} {call.broadcast_id} --network=mainnet --node={chain.url}"
    assert f"{command} --eth-rpc=URL --key=FILE" in lines
    assert "The State Chain does not list the call any more, and does not sign it again." in lines
    document = json.loads(recover(chain, call, "--json").stdout)["payload"]
    assert (document["data"], document["lastEpoch"]) == ("0x" + call.data.hex(), None)
    assert call.data.hex() in by_receiver(chain, call)

    life._rotate()
    expired = recover(chain, call)
    assert expired.exit_code == ExitCode.EXPIRED, expired.output
    assert call.data.hex() not in by_receiver(chain, call)
    assert "it has expired, as calls do two epochs after the failure" in " ".join(expired.output.split())
