"""`cfnode recover` says "Done" only if the chain has what a provider's receipt says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli.exits import ExitCode
from cfnode.cli.recover.steps import Recovery
from cfnode.core.vault_calls import NATIVE_TOKEN, TransferParams
from cfnode.core.vault_calls import transfer_fallback as fallback
from cfnode.sdk.recovery import Confirmation, FailedCall, Receipt
from tests.sdk.anvil import USER, Evm
from tests.support.sdk.payloads import payload_of, raw, vector
from tests.support.sdk.providers import Liar, lying, offered, report, transfer
from tests.support.sdk.recover_command import ETHER, ended, recover, state_chain

FORWARDS = "0x60006000600060004761dead5af100"
"""A contract that sends all it gets to 0xdead."""


@pytest.mark.parametrize(
    ("also", "words"),
    [((), "in no block yet"), (("nonce",), "does not contain the transaction")],
)
@pytest.mark.parametrize("succeeded", [True, False])
def test_a_receipt_of_a_transaction_that_was_never_sent(
    succeeded: bool, also: tuple[str, ...], words: str, evm: Evm, key: Path
) -> None:
    """A failure, too, is believed only of a transaction in a block: it may still be included in one."""
    receiver, test_vector = transfer()
    liar = Liar(evm, also, succeeded=succeeded)
    with state_chain(test_vector) as server, lying(evm, **liar.lies()) as proxy:
        send = ("--eth-rpc", proxy.url, "--key", str(key), "--yes", "--json", "--timeout=1")
        result = recover(server, *send)
    ended(result, ExitCode.NETWORK, "there is a receipt of", words)
    assert (evm.balance(receiver), report(result).get("blockNumber")) == (0, None)


def test_a_block_that_is_not_the_receipts(evm: Evm, key: Path) -> None:
    """A fork has replaced the block, and the provider still has the old receipt."""
    _, test_vector = transfer()

    def old(receipt: Any) -> Any:
        return receipt and receipt | {"blockHash": "0x" + "ab" * 32}

    with state_chain(test_vector) as server, lying(evm, eth_getTransactionReceipt=old) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--timeout=1")
    ended(result, ExitCode.NETWORK, "is not the one that it names")
    assert "Done" not in result.output


def test_a_key_manager_that_has_not_accepted_the_signature(evm: Evm, key: Path) -> None:
    """Say "Done" only once the key manager has accepted the signature, though the receipt says success."""
    receiver, test_vector = transfer()

    def unused(result: Any) -> Any:
        return "0x" + "00" * 32 if result == "0x" + "00" * 31 + "01" else result

    with state_chain(test_vector) as server, lying(evm, eth_call=unused) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--timeout=1")
    ended(result, ExitCode.NETWORK, "the key manager has not accepted the signature")
    assert evm.balance(receiver) == ETHER


def test_the_receipt_is_asked_for_once_more_when_the_time_is_over(evm: Evm, key: Path) -> None:
    """It comes within the only second."""
    receiver, test_vector = transfer()
    answers = iter([None])

    def late(receipt: Any) -> Any:
        return next(answers, receipt)

    with state_chain(test_vector) as server, lying(evm, eth_getTransactionReceipt=late) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--timeout=1")
    ended(result, ExitCode.OK, "Done: 1 ETH")
    assert evm.balance(receiver) == ETHER


def test_a_receiver_that_passes_the_money_on(evm: Evm, key: Path) -> None:
    """Say that the receiver forwarded the money where its balance did not grow."""
    receiver = "0x" + "77" * 20
    evm.call("anvil_setCode", receiver, FORWARDS)
    with state_chain(offered(fallback(TransferParams(NATIVE_TOKEN, raw(receiver), ETHER)))) as server:
        done = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    ended(done, ExitCode.OK, "Done: 1 ETH", "it forwarded or spent funds in the same block.")
    assert (evm.balance(receiver), evm.balance("0x" + "00" * 18 + "dead")) == (0, ETHER)


def test_a_receiver_that_sends_the_call_itself(evm: Evm, key: Path) -> None:
    """Its balance grows by less than the payment: it has paid the gas."""
    before = evm.balance(USER)
    with state_chain(offered(fallback(TransferParams(NATIVE_TOKEN, raw(USER), ETHER)))) as server:
        done = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    ended(done, ExitCode.OK, "Done: 1 ETH")
    assert "in the same block" not in done.output
    assert 0 < evm.balance(USER) - before < ETHER


@pytest.mark.parametrize(
    ("rise", "words"),
    [
        (ETHER, "Done: 0.5 ETH paid to 0x"),
        (0, "Done: the batch with 0.5 ETH for 0x"),
        (None, "Done: the batch with 0.5 ETH for 0x"),
    ],
)
def test_a_receiver_of_a_batch_is_paid_only_if_its_balance_has_grown(
    rise: int | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Say that a batch's receiver was paid only where its balance grew in that block."""
    single = payload_of(vector("native-ethereum-even-key"))
    transfer = TransferParams(NATIVE_TOKEN, raw(USER), ETHER // 2)
    batch = replace(single, function="allBatch", transfer=transfer, transfers=(transfer,), is_chosen=True)
    work = Recovery(None, None, False, 1.0, {})  # type: ignore[arg-type]  # nothing is asked
    work.failed = FailedCall(batch, b"", b"", 6, None, 2000)
    confirmation = Confirmation(None, rise)
    work._report_receipt(Receipt(9, 80_000, True, "0x"), confirmation, None)  # type: ignore[arg-type]
    printed = " ".join(capsys.readouterr().out.split())
    assert words in printed
    assert ("rejected them" in printed) is (rise == 0)


def test_of_a_whole_batch_nobody_is_said_to_be_paid(capsys: pytest.CaptureFixture[str]) -> None:
    """Say of a whole batch that it is in a block, since any receiver may have rejected its transfer."""
    single = payload_of(vector("native-ethereum-even-key"))
    transfers = tuple(TransferParams(NATIVE_TOKEN, bytes([number]) * 20, ETHER) for number in (1, 2))
    batch = replace(single, function="allBatch", transfer=transfers[0], transfers=transfers)
    work = Recovery(None, None, False, 1.0, {})  # type: ignore[arg-type]  # nothing is asked
    work.failed = FailedCall(batch, b"", b"", 6, None, 2000)
    confirmation = Confirmation(None, ETHER)
    work._report_receipt(Receipt(9, 80_000, True, "0x"), confirmation, None)  # type: ignore[arg-type]
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("Done: the batch of 2 transfers is in block 9, for 80000 gas.")
    assert "one that rejected it gets a call of its own in some minutes" in printed
