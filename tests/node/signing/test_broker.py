"""A broker's journey through a whole node: key, funds, registration, channels, fees, and what goes wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from cfnode.core.extrinsic import decode_extrinsic, extrinsic_hash
from cfnode.core.keys import Keypair
from cfnode.devchain.config import DevConfig
from cfnode.node.node import Node
from cfnode.node.signing.broker import BrokerClient
from cfnode.node.signing.outcome import SubmissionError
from cfnode.node.signing.submission import NotReady, SignedClient
from tests.node.live import BROKER, FLIP, broker_account, channel, live_node, made, reach
from tests.support.waiting import LIMIT_S


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    """Yield an instant chain whose broker is registered."""
    async with live_node(tmp_path, dev=DevConfig(seal="instant")) as node:
        await reach(node, 1)
        yield node


@pytest.fixture
async def broker(node: Node) -> BrokerClient:
    """Return the client of a registered broker."""
    assert node.broker is not None
    await node.broker.register_account()
    return node.broker


async def balance(node: Node, account: bytes) -> int:
    """Return the FLIP of an account."""
    metadata = (await node.chain.runtime_at(node.chain.best.hash)).metadata
    item = metadata.storage("Flip", "Account")
    with node.chain.state(node.chain.best.hash) as state:
        return int(item.decode(state.get(item.key(account)))["balance"])


async def test_the_key_in_the_keystore_is_funded_in_the_first_block_and_can_register(node: Node) -> None:
    """Fund the keystore's key in the first block, sign with it, and report the official error."""
    assert node.broker is not None
    assert node.broker.account == broker_account()
    assert await balance(node, broker_account()) == 1_000 * FLIP
    tx_hash = await node.broker.register_account()
    body = node.chain.body(node.chain.best.hash) or []
    metadata = (await node.chain.runtime_at(node.chain.best.hash)).metadata
    (mine,) = [extrinsic for extrinsic in body if extrinsic_hash(extrinsic) == tx_hash]
    extrinsic = decode_extrinsic(metadata, mine)
    assert extrinsic.call == ("Swapping", "register_as_broker")
    assert (extrinsic.signed and extrinsic.signed.address, extrinsic.nonce) == (broker_account(), 0)
    assert await balance(node, broker_account()) < 1_000 * FLIP
    with pytest.raises(SubmissionError) as refusal:
        await node.broker.register_account()
    assert str(refusal.value) == (
        'KnownModuleError { pallet: "AccountRoles", name: "AccountRoleAlreadyRegistered", '
        'error: "The account already has a registered role." }'
    )


async def test_a_deposit_channel_is_opened_for_each_kind_of_address(node: Node, broker: BrokerClient) -> None:
    """Open a channel with an address of each kind, by the runtime's event."""
    opened = await broker.request_swap_deposit_address(channel())
    assert opened.address[0] == "Eth"
    assert (opened.channel_id, opened.issued_block) == (1, node.chain.best.number)
    assert opened.refund_parameters == channel().refund_parameters
    bitcoin = channel("Btc", ("Btc", b"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"))
    other = await broker.request_swap_deposit_address(bitcoin)
    assert other.address[0] == "Btc"
    assert other.address[1].startswith(b"bcrt1p")
    assert other.source_chain_expiry_block > 0


async def test_a_channel_that_was_not_preallocated_is_returned_only_when_final(tmp_path: Path) -> None:
    """Return a new channel only when its block is final: a fork could give it another address."""
    async with live_node(tmp_path, dev=DevConfig(seal="manual")) as node, trio.open_nursery() as nursery:
        assert node.broker is not None
        await made(node).author.new_block()
        answers: list[object] = []

        async def register() -> None:
            answers.append(await node.broker.register_account())  # type: ignore[union-attr]

        async def open_channel() -> None:
            answers.append(await node.broker.request_swap_deposit_address(channel()))  # type: ignore[union-attr]

        async def blocks(count: int) -> None:
            for _ in range(count):
                await made(node).author.new_block()
                await trio.testing.wait_all_tasks_blocked(0.05)

        nursery.start_soon(register)
        await pool_has(node, 1)
        await blocks(1)
        assert len(answers) == 1
        await made(node).control.finalize()

        nursery.start_soon(open_channel)
        await pool_has(node, 1)
        await blocks(1)
        assert len(answers) == 1
        await made(node).control.finalize()
        with trio.fail_after(LIMIT_S):
            while len(answers) < 2:
                await trio.testing.wait_all_tasks_blocked(0.05)


async def pool_has(node: Node, count: int) -> None:
    """Wait until the pool has this many ready transactions."""
    with trio.fail_after(LIMIT_S):
        while node.pool.status.ready < count:
            await trio.testing.wait_all_tasks_blocked(0.01)


async def test_a_withdrawal_without_earned_fees_fails(node: Node, broker: BrokerClient) -> None:
    """Include a withdrawal without funds, and return the official error."""
    before = node.chain.best.number
    with pytest.raises(SubmissionError) as refusal:
        await broker.withdraw_fees("Eth", ("Eth", b"\x01" * 20))
    assert str(refusal.value) == (
        'KnownModuleError { pallet: "Swapping", name: "NoFundsAvailable", '
        'error: "The withdrawal is not possible because not enough funds are available." }'
    )
    assert node.chain.best.number == before + 1, "it is included, without a dry run"


async def test_the_private_bitcoin_channel_is_opened_and_closed(broker: BrokerClient) -> None:
    """Open one private Bitcoin channel and close it, with the official errors for a second time."""
    number = await broker.open_private_btc_channel()
    with pytest.raises(SubmissionError, match='name: "PrivateChannelExistsForBroker"'):
        await broker.open_private_btc_channel()
    assert await broker.close_private_btc_channel() == number
    with pytest.raises(SubmissionError, match='name: "NoPrivateChannelExistsForBroker"'):
        await broker.close_private_btc_channel()


async def test_a_call_of_an_account_without_the_role_fails_with_bad_origin(node: Node) -> None:
    """Return BadOrigin to an account without the role; nothing stays in the pool."""
    assert node.broker is not None
    with pytest.raises(SubmissionError, match=r"^DispatchError\(BadOrigin\)$"):
        await node.broker.request_swap_deposit_address(channel())
    assert node.pool.status.ready == 0


async def test_the_error_of_an_account_without_flip_names_the_needed_funding(node: Node) -> None:
    """Name the needed funding to an account without FLIP, which succeeds once funded."""
    poor = SignedClient(node.chain, node.pool, Keypair.from_suri("//Poor"), syncing=lambda: None)
    with pytest.raises(SubmissionError) as refusal:
        await BrokerClient(node.chain, poor).register_account()
    assert str(refusal.value).startswith("Invalid(Payment)")
    assert "minimum funding is 1 FLIP, 5 FLIP is recommended" in str(refusal.value)
    await made(node).control.fund_account(poor.account, 5 * FLIP)
    await BrokerClient(node.chain, poor).register_account()


async def test_the_same_account_can_be_funded_twice_with_the_same_amount(node: Node) -> None:
    """Fund an account twice with the same amount: two equal extrinsics must both count."""
    for expected in (2, 4):
        await made(node).control.fund_account(b"\x09" * 32, 2 * FLIP)
        assert await balance(node, b"\x09" * 32) == expected * FLIP


async def test_twenty_calls_at_once_get_twenty_nonces(node: Node, broker: BrokerClient) -> None:
    """Give twenty concurrent calls twenty nonces and channels."""
    opened = []

    async def open_one() -> None:
        opened.append(await broker.request_swap_deposit_address(channel()))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(open_one)
    assert sorted(channel.channel_id for channel in opened) == list(range(1, 21))
    assert len({channel.address for channel in opened}) == 20


async def test_nothing_is_signed_while_the_node_is_behind(node: Node) -> None:
    """Sign nothing while the node is behind: the nonce could be a used one."""
    key = Keypair.from_suri(BROKER)
    behind = SignedClient(node.chain, node.pool, key, syncing=lambda: "Waiting for peers: none")
    with pytest.raises(NotReady, match=r"Waiting for peers: none.*nothing has been signed or sent"):
        await BrokerClient(node.chain, behind).register_account()
    assert await node.pool.ready_nonce(key.account) == 0


@pytest.mark.parametrize("brokers", [(), ("//One", "//Two")])
async def test_without_exactly_one_broker_key_there_is_no_broker(
    tmp_path: Path, brokers: tuple[str, ...]
) -> None:
    """Offer no broker without exactly one broker key."""
    async with live_node(tmp_path, brokers=brokers, dev=DevConfig(seal="instant")) as node:
        assert node.broker is None


async def test_a_call_that_cannot_be_encoded_names_the_field(broker: BrokerClient) -> None:
    """Name the field of a call that cannot be encoded."""
    with pytest.raises(SubmissionError, match="destination_asset: there is no variant 'Doge'"):
        await broker.request_swap_deposit_address(replace(channel(), destination_asset="Doge"))
