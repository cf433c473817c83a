"""A mark and a second deposit of its transaction: accepted in 2.2.3, refused from 2.2.9 on."""

from __future__ import annotations

from cfnode.devchain.runtime.config import DevGenesis
from tests.devchain.runtime.broker import request
from tests.devchain.runtime.swapper import ETHER, Swapper
from tests.devchain.runtime.world import bare_extrinsic

TRANSACTION = b"\x77" * 32
HELD = ("EthereumIngressEgress", "TransactionsMarkedForRejection")


def outcomes(release: str) -> list[str]:
    """Return the outcomes of two deposits of a marked transaction in one block; then of a third."""
    broker = Swapper(config=DevGenesis(release=release))
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    marked = broker.submit("EthereumIngressEgress", "mark_transaction_for_rejection", tx_id=TRANSACTION)
    assert marked == "Ok"
    deposit = {"deposit_address": address, "asset": "Eth", "amount": ETHER, "transaction": TRANSACTION}
    two = [bare_extrinsic(broker.world.call("Dev", "witness_deposit", **deposit)) for _ in range(2)]
    assert broker.world.block(*two) == [("Ok", ("Ok", ()))] * 2
    first_outcomes = deposits(broker)
    broker.blocks(1)
    assert broker.world.stored(*HELD, broker.account, TRANSACTION) is None
    broker.pay(address, "Eth", ETHER, TRANSACTION)
    return first_outcomes + deposits(broker)


def deposits(broker: Swapper) -> list[str]:
    """Return the names of the deposit events of the block."""
    names = ("DepositFailed", "DepositFinalised")
    return [name for _, _, name, _ in broker.world.events() if name in names]


def test_a_used_mark_is_gone_at_once_in_2_2_3() -> None:
    """Remove a used mark at once in 2.2.3: a second deposit of the block is swapped."""
    assert outcomes("2.2.3") == ["DepositFailed", "DepositFinalised", "DepositFinalised"]


def test_a_used_mark_lasts_for_its_block_from_2_2_9_on() -> None:
    """Keep a used mark until the end of its block from 2.2.9 on, and refuse the second deposit too."""
    for release in ("2.2.9", "2.3.0"):
        assert outcomes(release) == ["DepositFailed", "DepositFailed", "DepositFinalised"]
