"""Batches that were aborted and that governance had signed again: found, or reported as on their way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.recover.steps import Recovery
from cfnode.sdk.recovery import FetchKeys, FindCandidates, NoSuchCall, Payload, address_text
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.support.sdk.lives import LifeNode, PayoutsOfLife, Vaults
from tests.support.swaps.lives import Call

SEED = 4
"""A life of some steps, after which a batch to an EVM chain is aborted."""


class SignedAgain:
    """A life whose newest aborted batch governance has had signed again, and the node at its end."""

    def __init__(self, *, is_sent: bool) -> None:
        self.life = PayoutsOfLife(SEED, rotates_always=True)
        while not (batches := self.aborted()):
            self.life._abort()
        self.batch = batches[-1]
        chain, number = self.batch.chain, self.batch.broadcast_id
        if is_sent:
            self.life.block(Call(None, "Dev", "hold_broadcasts", {"chain": chain, "held": True}))
        arguments = {
            "broadcast_ids": [number],
            "request_broadcast": is_sent,
            "refresh_replay_protection": False,
        }
        call = f"{chain}Broadcaster", ("re_sign_aborted_broadcasts", arguments)
        self.life.block(Call(None, "Dev", "as_governance", {"call": call}))
        for _ in range(3):
            self.life.block()
        assert number not in self.stored("AbortedBroadcasts")
        assert (number in self.stored("PendingBroadcasts")) is is_sent
        self.node = LifeNode(self.life)

    def aborted(self) -> list[Payload]:
        """Return the batches of an EVM chain that were aborted."""
        vaults = Vaults(self.life)
        return [
            transaction
            for transaction in vaults.signed
            if transaction.is_batch
            and transaction.chain != "Tron"
            and (transaction.chain, transaction.broadcast_id) in vaults.aborted
        ]

    def deposit_address(self) -> str:
        """Return the address of the channel whose receiver the batch pays."""
        (channel,) = [
            channel
            for channel in self.life.model.channels
            if channel.destination is not None and channel.destination[1] == self.batch.transfer.recipient
        ]
        return address_text(*channel.address)

    def stored(self, item: str) -> Any:
        """Return a stored value of the batch's broadcaster."""
        return self.life.world.stored(f"{self.batch.chain}Broadcaster", item)


@pytest.fixture(scope="module")
def unsent() -> SignedAgain:
    """Return a life whose batch was signed again and is not sent."""
    return SignedAgain(is_sent=False)


@pytest.fixture(scope="module")
def sent() -> SignedAgain:
    """Return a life whose batch was signed again and is being sent."""
    return SignedAgain(is_sent=True)


@pytest.fixture
def chain(sent: SignedAgain) -> Iterator[Loopback]:
    """Yield a node that answers by the life whose batch is being sent."""

    def handle(request: Request) -> bytes:
        answers: list[Any] = [sent.node._reply(call) for call in request.calls]
        is_one = isinstance(json.loads(request.body), dict)
        return page(200, json.dumps(answers[0] if is_one else answers).encode())

    with serving(handle) as server:
        yield server


def test_one_that_is_not_sent_is_found_by_its_receiver(unsent: SignedAgain) -> None:
    """Find the batch with its newest signature by its receiver."""
    node, batch = unsent.node, unsent.batch
    calls = node.run(FindCandidates(batch.recipient_text, batch.chain), node.session()).calls
    (newest,) = [call for call in Vaults(unsent.life).open() if call.nonce == batch.nonce][-1:]
    assert [(call.broadcast_id, call.data) for call in calls if call.nonce == batch.nonce] == [
        (batch.broadcast_id, newest.data)
    ]


def test_a_node_that_lists_no_keys_is_said_not_to_show_it(
    unsent: SignedAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Say that a node without lists of keys was not searched whole, and what else to do."""
    node, batch = unsent.node, unsent.batch
    monkeypatch.setattr(node, "_keys", lambda *_: None)
    with pytest.raises(NoSuchCall) as caught:
        node.run(FindCandidates(batch.recipient_text, batch.chain), node.session())
    text = caught.value.message
    assert "signed again without being sent, was not searched" in text
    assert "use another node (--node), or search by the swap" in text


def test_one_that_an_authority_has_is_on_its_way_for_its_receiver(sent: SignedAgain) -> None:
    """Say that the payout is on its way, with its broadcast, instead of offering a call."""
    node, batch = sent.node, sent.batch
    with pytest.raises(NoSuchCall) as caught:
        node.run(FindCandidates(batch.recipient_text, batch.chain), node.session())
    text = caught.value.message
    payout = f"{batch.chain} broadcast {batch.broadcast_id}"
    assert text.startswith(f"a payout to {batch.recipient_text} is on its way ({payout}); no call on offer")


def test_one_that_an_authority_has_is_printed_as_on_its_way(sent: SignedAgain, chain: Loopback) -> None:
    """Print the call with the advice that sending it would cost gas and pay no one twice."""
    outcome = recover(chain, sent.batch)
    assert outcome.exit_code == ExitCode.OK, outcome.output
    lines = " ".join(outcome.output.split())
    assert "It is on its way: Chainflip has had the call signed again" in lines
    assert "Sending it yourself costs gas, and pays no receiver twice" in lines
    assert json.loads(recover(chain, sent.batch, "--json").stdout)["payload"]["isOnItsWay"] is True


def recover(server: Loopback, batch: Payload, *arguments: str) -> Result:
    """Run `cfnode recover` for a batch."""
    line = ["recover", batch.chain.lower(), str(batch.broadcast_id), "--node", server.url, *arguments]
    return CliRunner().invoke(cli, line)


def test_one_that_an_authority_has_is_not_sent_without_a_question(sent: SignedAgain) -> None:
    """Send nothing of a payout on its way unless a person agrees."""
    failed = sent.node.run(FetchKeys(sent.batch), sent.node.session())
    work = Recovery(None, None, True, 1.0, {})  # type: ignore[arg-type]  # nothing is asked
    work.failed = failed
    with pytest.raises(CommandFailure, match=r"pays no receiver twice.* Nothing was sent") as caught:
        work.prepare(bytes(20), None, replace=False, refuses=True)
    assert caught.value.exit_code == ExitCode.PENDING


def test_one_that_is_not_sent_is_found_by_the_deposit_address_without_its_events(unsent: SignedAgain) -> None:
    """The State Chain still stores the channel, which names the receiver."""
    node, batch = Forgetful(unsent.life), unsent.batch
    candidates = node.run(FindCandidates(unsent.deposit_address(), batch.chain), node.session())
    assert batch.nonce in {call.nonce for call in candidates.calls}
    assert "the open channels of http://node.test" in candidates.asked


class Forgetful(LifeNode):
    """A node that keeps the state of the best block only."""

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        params, best = request["params"], f"0x{self.world.hashes[-1].hex()}"
        if request["method"].startswith("state_get") and best not in params:
            error = {"code": 4003, "message": "State already discarded"}
            return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        return super()._reply(request)
