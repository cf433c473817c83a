"""Bitcoin leaves the vault by spending its outputs: which ones, what comes back, and when they are joined."""

from __future__ import annotations

import pytest

from cfnode.core.addresses import NETWORKS, script_from_text, taproot
from cfnode.core.addresses.bitcoin import script_bytes
from cfnode.core.hashing import sha2_256
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.keys import bitcoin_public_key
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.bitcoin_vault import VaultTransaction, spend
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import BITCOIN, Swapper

FIXED, DEPOSIT, VAULT, OUTPUT = 80, 390, 290, 255
"""At 5,000 satoshi for 1,000 bytes."""
SCRIPT = ("P2WPKH", bytes(range(20)))
OWN = taproot.deposit(bitcoin_public_key(), 0)


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def output(amount: int, number: int, *, deposit: bool = False) -> values.Utxo:
    """Return an output of the Bitcoin vault, or of a deposit address."""
    path = values.TapscriptPath(
        salt=1,
        tweaked_pubkey_bytes=bytes(33),
        tapleaf_hash=bytes(32),
        unlock_script=values.BitcoinScript(b""),
    )
    state = values.DepositAddress(pubkey_x=OWN.public_key_x, script_path=path if deposit else None)
    own = values.UtxoId(tx_id=bytes([number]) * 32, vout=number)
    return values.Utxo(id=own, amount=amount, deposit_address=state)


def hold(broker: Swapper, outputs: list[values.Utxo], threshold: int = 200, size: int = 100) -> None:
    """Replace the outputs that the vault can spend, and the parameters of consolidation."""
    with broker.arranging() as runtime:
        environment = runtime.pallet(EnvironmentStorage)
        environment.BitcoinAvailableUtxos.put(outputs)
        environment.ConsolidationParameters.put(
            values.ConsolidationParameters(consolidation_threshold=threshold, consolidation_size=size)
        )


def held(broker: Swapper) -> list[int]:
    """Return the amounts of the outputs that the vault can spend."""
    return [output["amount"] for output in broker.world.stored("Environment", "BitcoinAvailableUtxos")]


def withdraw(broker: Swapper, amount: int) -> int:
    """Have the broker withdraw what it owns; what arrives."""
    with broker.arranging() as runtime:
        runtime.pallet(AssetBalances).credit(broker.account, "Btc", amount)
    assert (
        broker.submit("Swapping", "withdraw", asset="Btc", destination_address=address_on("Bitcoin")) == "Ok"
    )
    arrives: int = broker.event("WithdrawalRequested")["egress_amount"]
    return arrives


def test_without_outputs_a_batch_cannot_be_built_and_is_tried_again_in_each_block(broker: Swapper) -> None:
    """Retry a batch in each block until the vault's outputs cover amount and fee to the satoshi."""
    hold(broker, [])
    amount = withdraw(broker, BITCOIN)
    for _ in range(2):
        assert broker.happened() == ["BitcoinIngressEgress.FailedToBuildAllBatchCall"]
        assert broker.event("FailedToBuildAllBatchCall") == {"error": "UtxoSelectionFailed"}
        ((kind, waiting),) = broker.world.stored("BitcoinIngressEgress", "ScheduledEgressFetchOrTransfer")
        assert (kind, waiting["amount"]) == ("Transfer", amount)
        broker.world.block()
    cost = FIXED + VAULT + 2 * OUTPUT
    hold(broker, [output(amount + cost - 1, 1)])
    broker.world.block()
    assert broker.happened() == ["BitcoinIngressEgress.FailedToBuildAllBatchCall"]
    hold(broker, [output(amount + cost, 1)])
    broker.world.block()
    assert broker.happened() == ["BitcoinIngressEgress.BatchBroadcastRequested"]
    assert held(broker) == []


def test_change_comes_back_under_the_transactions_own_name(broker: Swapper) -> None:
    """Return change to the vault under the transaction's own id, computed here byte by byte."""
    source = output(2 * BITCOIN, 7)
    hold(broker, [source])
    amount = withdraw(broker, BITCOIN)
    (change,) = broker.world.stored("Environment", "BitcoinAvailableUtxos")
    left = 2 * BITCOIN - amount - FIXED - VAULT - 2 * OUTPUT
    assert (change["amount"], change["id"]["vout"]) == (left, 1)
    assert change["deposit_address"] == {"pubkey_x": OWN.public_key_x, "script_path": None}
    receiver = script_from_text(address_on("Bitcoin")[1].decode(), NETWORKS["Development"])
    code, own = script_bytes(receiver), b"\x51\x20" + OWN.public_key_x
    plain = (
        bytes.fromhex("02000000" "01") + bytes([7]) * 32 + bytes.fromhex("07000000" "00" "fdffffff" "02")
        + amount.to_bytes(8, "little") + bytes([len(code)]) + code
        + left.to_bytes(8, "little") + bytes([len(own)]) + own
        + bytes(4)
    )  # fmt: skip
    assert change["id"]["tx_id"] == sha2_256(sha2_256(plain))


@pytest.mark.parametrize(
    ("amounts", "limit", "needed", "taken"),
    [
        ([50_000, 10_000, 30_000], 200, 5_000, [10_000, 30_000]),  # the smallest, and one more
        ([50_000, 10_000, 30_000], 200, 45_000, [10_000, 30_000, 50_000]),
        ([50_000, 10_000, 30_000], 2, 70_000, [30_000, 50_000]),  # no more than may be: the larger ones
        ([50_000, 10_000, 30_000], 1, 5_000, [10_000]),
        ([-190, 0, 90_000], 200, 5_000, [90_000]),  # two are not worth what spending them costs
    ],
)
def test_the_smallest_that_do_are_taken(
    broker: Swapper, amounts: list[int], limit: int, needed: int, taken: list[int]
) -> None:
    """Spend the smallest outputs that suffice, within the limit, and none that costs more than it holds."""
    hold(broker, [output(amount + VAULT, at) for at, amount in enumerate(amounts)], limit)
    with broker.arranging() as runtime:
        made = spend(runtime.pallet(EnvironmentStorage), [(SCRIPT, needed - FIXED - 2 * OUTPUT)])
        assert made is not None
        assert [utxo.amount - VAULT for utxo in made.inputs] == taken
        change = sum(taken) - needed
        assert [amount for _, amount in made.outputs][1:] == ([change] if change >= 600 else [])


@pytest.mark.parametrize(("change", "comes_back"), [(599, []), (600, [600])])
def test_change_below_the_dust_limit_is_left_to_the_miners(
    broker: Swapper, change: int, comes_back: list[int]
) -> None:
    """Leave change below the dust limit to the miners: the network would not relay such an output."""
    hold(broker, [output(BITCOIN + DEPOSIT, 1, deposit=True)])
    with broker.arranging() as runtime:
        made = spend(runtime.pallet(EnvironmentStorage), [(SCRIPT, BITCOIN - FIXED - 2 * OUTPUT - change)])
    assert made is not None
    assert [amount for _, amount in made.outputs[1:]] == comes_back


def test_outputs_are_joined_when_there_are_too_many(broker: Swapper) -> None:
    """Consolidate outputs once there are enough of worth; those that cost more than they hold are left."""
    small = [output(1_000, index) for index in range(3)] + [output(100, 9)]
    hold(broker, small, threshold=4, size=2)
    broker.world.block()
    assert broker.happened() == [], "one of the four is worth nothing"
    hold(broker, [*small, output(2_000, 5)], threshold=4, size=2)
    broker.world.block()
    assert broker.happened() == ["BitcoinIngressEgress.UtxoConsolidation"]
    broadcast_id = broker.event("UtxoConsolidation")["broadcast_id"]
    assert broadcast_id in broker.world.stored("BitcoinBroadcaster", "PendingBroadcasts")
    assert held(broker) == [1_000, 2_000, 100, 2_000 - 2 * DEPOSIT - FIXED - OUTPUT]


def test_the_vault_covers_the_liquidity_of_the_pool(broker: Swapper) -> None:
    """Keep in the vault at least the Bitcoin of the pool, so that every swap out of it can be paid."""
    (first,) = held(broker)
    assert broker.dev("set_pool", asset="Btc", price=None, depth=None) == "Ok"
    assert held(broker) == [first]
    assert broker.dev("set_pool", asset="Btc", price=1_000_000, depth=10**12) == "Ok"
    assert sum(held(broker)) >= 10**6 * BITCOIN - 1 > first


def test_many_inputs_and_long_scripts_are_counted_as_bitcoin_does() -> None:
    """Count many inputs and unusual scripts in a transaction id by Bitcoin's serialisation."""
    inputs = [output(1, index % 256) for index in range(253)]
    future = ("OtherSegwit", {"version": 2, "program": bytes(2)})
    made = VaultTransaction(inputs, [(future, 1), (("P2PKH", bytes(20)), 2), (("P2SH", bytes(20)), 3)])
    plain = bytes.fromhex("02000000fdfd00")
    for utxo in inputs:
        plain += utxo.id.tx_id + utxo.id.vout.to_bytes(4, "little") + bytes.fromhex("00fdffffff")
    plain += bytes.fromhex("030100000000000000045202000002000000000000001976a914")
    plain += bytes(20) + bytes.fromhex("88ac030000000000000017a914") + bytes(20) + b"\x87" + bytes(4)
    assert made.id == sha2_256(sha2_256(plain))
