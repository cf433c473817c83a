"""`cfnode recover` from the payload to the receiver's balance, and each other way it can end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.cli.recover.choosing import _print_table
from cfnode.cli.recover.steps import Recovery
from cfnode.core import schnorr
from cfnode.core.hashing import keccak_256
from cfnode.core.vault_calls import NATIVE_TOKEN, ReplayProtection, TransferParams, transfer_fallback
from cfnode.sdk.recovery import FailedCall, summary
from cfnode.sdk.recovery.gas import MAX_TIP
from cfnode.swaps.checksums import checksum_address
from tests.sdk.anvil import KEY_MANAGER, USER, USER_KEY, VAULT, Evm, evm_chain, require_eth_account
from tests.sdk.loopback import Request, page, serving
from tests.support.sdk.payloads import entries, payload_of, raw, vector
from tests.support.sdk.recover_command import ETHER, ended, recover, state_chain

RECEIVER = "0x00000000000000000000000000000000000000aa"


@pytest.fixture(scope="module")
def compiled() -> None:
    """Skip without eth_account, which signs."""
    require_eth_account()


@pytest.fixture
def evm(tmp_path: Path, compiled: None) -> Iterator[Evm]:
    """Yield an EVM chain with the contracts and five ether in the vault."""
    with evm_chain(31337, tmp_path / "anvil.log") as chain:
        chain.deploy_bed(raw(vector("native-ethereum-even-key")["agg_key"]["compressed"]), 5 * ETHER)
        yield chain


def offer(recipient: str, amount: int, nonce: int = 4, **changes: Any) -> dict[str, Any]:
    """Return a vector whose payload pays what the test wants, signed by the same key."""
    test_vector = vector("native-ethereum-even-key")
    secret = raw(test_vector["inputs"]["agg_secret"])
    call = transfer_fallback(TransferParams(NATIVE_TOKEN, raw(recipient), amount))
    message = call.message_hash(ReplayProtection(nonce, 31337, raw(KEY_MANAGER), raw(VAULT)))
    data = call.data(nonce, schnorr.sign(secret, nonce.to_bytes(32, "big"), message)).hex()
    return test_vector | {"rpc_result": test_vector["rpc_result"] | {"data": data} | changes}


def test_a_failed_transfer_is_paid_by_one_command(evm: Evm, key: Path) -> None:
    """Pay a failed transfer by one command, and refuse the second time: the nonce is used."""
    with state_chain(offer(RECEIVER, ETHER)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key), typed="y\n")
        ended(result, ExitCode.OK, "1 ETH", "Send it?", "Done: 1 ETH paid", "costs at most")
        assert evm.balance(RECEIVER) == ETHER
        again = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes")
        ended(again, ExitCode.ALREADY_SENT, "already sent", "nonce 4 is used")
    assert evm.balance(RECEIVER) == ETHER


@pytest.mark.parametrize(
    ("name", "chain_id"), [("native-ethereum-even-key", 31337), ("native-arbitrum-even-key", 412346)]
)
@pytest.mark.world
def test_payloads_of_both_chains(name: str, chain_id: int, tmp_path: Path, key: Path, compiled: None) -> None:
    """Pay payloads of Ethereum and Arbitrum, and report the receipt's gas and block."""
    test_vector = vector(name)
    chain = test_vector["rpc_method"].rpartition("_")[2]
    amount, receiver = int(test_vector["inputs"]["amount"]), test_vector["inputs"]["recipient"]
    with evm_chain(chain_id, tmp_path / "anvil.log") as evm, state_chain(test_vector) as server:
        evm.deploy_bed(raw(test_vector["agg_key"]["compressed"]), 5 * ETHER)
        send = ("--eth-rpc", evm.url, "--key", str(key), "--yes", "--json", "--max-fee", "1")
        result = recover(server, *send, chain=chain)
        ended(result, ExitCode.OK)
        report = json.loads(result.stdout)
        assert evm.balance(receiver) == amount
        receipt = evm.call("eth_getTransactionReceipt", report["hash"])
        assert (int(receipt["gasUsed"], 16), int(receipt["blockNumber"], 16)) == (
            report["gasUsed"],
            report["blockNumber"],
        )
        tip = int(report["transaction"]["maxPriorityFeePerGas"], 16)
        assert tip == 0 if chain == "arbitrum" else 0 < tip <= MAX_TIP
        ended(recover(server, "--eth-rpc", evm.url, chain=chain), ExitCode.ALREADY_SENT)


def test_a_receiver_that_refuses_and_then_does_not(evm: Evm, key: Path) -> None:
    """Refuse while the receiver would reject the payment, and pay once it accepts."""
    moody = evm.deploy("Moody")
    with state_chain(offer(moody, 100)) as server:
        send = ("--eth-rpc", evm.url, "--key", str(key), "--yes", "--max-fee", "1")
        ended(
            recover(server, *send),
            ExitCode.WOULD_REVERT,
            "transfer fallback failed",
            "receiver still refuses",
        )
        evm.send(_call("open()"), to=moody)
        ended(recover(server, *send), ExitCode.OK, "Done")
    assert evm.balance(moody) == 100


def test_a_call_is_simulated_before_it_is_offered(evm: Evm) -> None:
    """Simulate before anything is offered, and offer only a call that would succeed."""
    moody = evm.deploy("Moody")
    with state_chain(offer(moody, 100)) as server:
        refused = recover(server, "--eth-rpc", evm.url)
        ended(refused, ExitCode.WOULD_REVERT, "receiver still refuses", "0.0000000000000001 ETH on Ethereum")
        assert "Send it" not in refused.output
        evm.send(_call("open()"), to=moody)
        words = ("Send it", "In a simulation the call succeeds.", "Nothing was sent.")
        ended(recover(server, "--eth-rpc", evm.url), ExitCode.OK, *words)


def test_a_vault_that_is_too_poor(evm: Evm, key: Path) -> None:
    """Refuse a payment above what the vault holds."""
    with state_chain(offer(RECEIVER, 6 * ETHER)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    ended(result, ExitCode.WOULD_REVERT, "less than is to be paid")


def test_a_sender_without_funds(evm: Evm, tmp_path: Path) -> None:
    """Refuse a sender that cannot pay the gas."""
    poor = tmp_path / "poor"
    poor.write_text("11" * 32)
    with state_chain(offer(RECEIVER, 1)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(poor), "--yes")
    ended(result, ExitCode.NO_GAS_FUNDS, "has 0 ETH", "the gas may cost 0.0")


@pytest.mark.world
def test_another_chain(tmp_path: Path, key: Path, compiled: None) -> None:
    """Refuse an EVM node of another chain id."""
    with (
        evm_chain(1, tmp_path / "anvil.log") as evm,
        state_chain(vector("native-ethereum-even-key")) as server,
    ):
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key))
        ended(result, ExitCode.WRONG_CHAIN, "wrong chain", "chain id 31337", "serves 1")


@pytest.mark.world
def test_the_right_chain_without_the_contracts(tmp_path: Path, compiled: None) -> None:
    """Refuse an EVM node of the right chain id without the contracts."""
    with (
        evm_chain(31337, tmp_path / "anvil.log") as evm,
        state_chain(vector("native-ethereum-even-key")) as server,
    ):
        ended(recover(server, "--eth-rpc", evm.url), ExitCode.WRONG_CHAIN, "there is no contract")


def test_a_key_that_was_rotated_on_the_chain(evm: Evm, key: Path) -> None:
    """Refuse a payload whose key was rotated, and advise to fetch it again."""
    evm.send(_call("rotate(uint256,uint8)", 5, 0), to=KEY_MANAGER)
    with state_chain(offer(RECEIVER, 1)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    ended(result, ExitCode.KEY_ROTATED, "key rotated", "fetch the payload again")


def _call(signature: str, *words: int) -> str:
    return "0x" + keccak_256(signature.encode())[:4].hex() + "".join(f"{word:064x}" for word in words)


def test_a_transaction_for_another_wallet(evm: Evm) -> None:
    """Print a transaction that another wallet sends as it is, and send nothing."""
    with state_chain(offer(RECEIVER, ETHER)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--unsigned", "--from", USER, "--json")
        ended(result, ExitCode.OK)
        fields = json.loads(result.stdout)["transaction"]
        printed = recover(server, "--eth-rpc", evm.url, "--unsigned", "--from", USER)
        words = f"In the fields of a wallet: gas limit {int(fields['gas'], 16)}, maximum fee "
        ended(printed, ExitCode.OK, words, f"nonce {int(fields['nonce'], 16)}.")
    assert evm.balance(RECEIVER) == 0
    evm.submit(fields | {"from": USER})
    assert evm.balance(RECEIVER) == ETHER


def test_a_dry_run_and_a_refusal_send_nothing(evm: Evm, key: Path) -> None:
    """Send nothing in a dry run and after "n"."""
    with state_chain(offer(RECEIVER, ETHER)) as server:
        dry = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--dry-run")
        ended(dry, ExitCode.OK, "costs at most", "Nothing was sent.")
        refused = recover(server, "--eth-rpc", evm.url, "--key", str(key), typed="n\n")
        ended(refused, ExitCode.OK, "Nothing was sent.")
    assert evm.balance(RECEIVER) == 0


def test_a_payload_is_explained_without_an_evm_node() -> None:
    """Explain the payload, and check its signature, without an EVM node."""
    with state_chain(offer(RECEIVER, ETHER)) as server:
        result = recover(server)
    ended(result, ExitCode.OK, "1 ETH on Ethereum", "The signature is the aggregate key's.", "--eth-rpc=URL")


def test_the_text_begins_with_amount_receiver_deadline_and_the_complete_command() -> None:
    """Print amount, receiver, deadline and a complete command first, and details with --verbose only."""
    with state_chain(offer(RECEIVER, ETHER)) as server:
        short, long = recover(server), recover(server, "--verbose")
        lines = short.output.splitlines()
        names = [re.split("  +", line, maxsplit=1) for line in lines[:3]]
        assert names[0] == ["pays", "1 ETH on Ethereum"]
        assert names[1] == ["to", checksum_address(raw(RECEIVER))]
        assert re.fullmatch(r"about \d{4}-\d\d-\d\d \d\d:\d\d UTC, in \d+ (hour|minute)s?", names[2][1])
        command = f"cfnode recover ethereum 7 --network=mainnet --node={server.url} --eth-rpc=URL --key=FILE"
        assert lines[3:6] == ["", "Send it:", command]
        assert "It is a call of transferFallback" not in short.output
        assert "It is a call of transferFallback" in long.output
        assert json.loads(recover(server, "--json").stdout)["command"] == command
        unsigned = recover(server, "--unsigned")
        assert "Send it" not in unsigned.output


def test_a_call_that_was_given_up_has_a_command_with_the_archive_node_that_has_its_events(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Name in the command the archive that has the events of a call that was given up."""
    payload = replace(payload_of(vector("native-ethereum-even-key")), broadcast_id=7, is_offered=False)
    work = Recovery(None, None, False, 1.0, {})  # type: ignore[arg-type]  # nothing is asked
    work.flags, work.owner, work.archive = ("--network=dev",), "9-Bitcoin-1", ("--archive=http://old.test",)
    work.failed = FailedCall(payload, b"", b"", 6, None, 2000)
    work._say_command()
    command = (
        "cfnode recover --for 9-Bitcoin-1 --archive=http://old.test --network=dev --eth-rpc=URL --key=FILE"
    )
    assert command in " ".join(capsys.readouterr().out.split())
    _print_table(work, (payload, payload))
    assert capsys.readouterr().out.count("cfnode recover ethereum 7 --network=dev") == 2


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        (600, "in 1 hour"),
        (14_400 + 600, "in 1 day and 1 hour"),
        (43_200, "in 3 days"),
        (0, "in less than a minute"),
    ],
)
def test_a_deadline_is_a_time_and_a_number_of_days(blocks: int, words: str) -> None:
    """Print the deadline as a time and as the days or hours that are left."""
    test_vector = vector("native-ethereum-even-key")
    failed = FailedCall(payload_of(test_vector), b"", b"", 6, 5, 1000 + blocks, 1000, 1_740_000_000_000)
    assert dict(summary(failed))["until"].endswith(f" UTC, {words}")


@pytest.mark.parametrize("epoch", [6, 7, 1_000_000, 2**32 - 1])
def test_a_failure_in_an_epoch_to_come_has_no_later_deadline(epoch: int) -> None:
    """No call can have failed later than now: a node that says so does not move the deadline."""
    with state_chain(offer(RECEIVER, ETHER), now=entries((7, epoch))) as server:
        result = recover(server, "--json")
    ended(result, ExitCode.OK)
    payload = json.loads(result.stdout)["payload"]
    assert (payload["lastEpoch"], payload["lastBlock"]) == (7, 2_000)


def test_a_deadline_that_no_date_has_is_unknown() -> None:
    """Leave the deadline open where no calendar has its date."""
    failed = FailedCall(payload_of(vector("native-ethereum-even-key")), b"", b"", 6, 6, 2**64, 1, 2**64)
    assert (failed.deadline_ms, dict(summary(failed))["until"]) == (None, "")


@pytest.mark.parametrize(
    ("state", "code", "word"),
    [
        ({"now": None}, ExitCode.EXPIRED, "has expired"),
        ({"now": entries((7, 6))}, ExitCode.BEING_SIGNED, "try again in a minute"),
        (
            {"now": None, "before": entries((7, 5))},
            ExitCode.BEING_SIGNED,
            "signed again after an epoch change",
        ),
    ],
)
def test_nothing_to_recover(state: dict[str, Any], code: ExitCode, word: str) -> None:
    """Exit with codes of their own for an expired call and for one that is being signed."""
    with state_chain(vector("native-ethereum-even-key"), offered=False, **state) as server:
        ended(recover(server), code, word)
        result = recover(server, "--json")
        assert json.loads(result.stdout)["error"]["code"] == code.name


def test_a_number_that_no_broadcast_has() -> None:
    """Say that no failed call has the number."""
    with state_chain(vector("native-ethereum-even-key"), offered=False, now=None) as server:
        result = CliRunner().invoke(cli, ["recover", "ethereum", "99", "--node", server.url])
    ended(result, ExitCode.NO_SUCH_CALL, "no such failed call")


def test_an_old_signature_between_two_epochs() -> None:
    """Say that a call with an earlier key's signature is being signed again."""
    test_vector = vector("native-ethereum-even-key")
    other = vector("token-ethereum-odd-key")["agg_key"]
    with state_chain(test_vector | {"agg_key": other}) as server:
        ended(recover(server), ExitCode.KEY_ROTATED, "being signed again")


def test_a_node_that_is_down() -> None:
    """Exit with the code for the network where the node is down."""
    result = CliRunner().invoke(cli, ["recover", "ethereum", "7", "--node", "http://127.0.0.1:1"])
    ended(result, ExitCode.NETWORK, "Network error")


NO_EVM_NODE = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--eth-rpc", NO_EVM_NODE, "--unsigned"], "need --from"),
        (["--eth-rpc", NO_EVM_NODE, "--dry-run"], "need --from"),
        (["--dry-run", "--from", USER], "--dry-run needs --eth-rpc"),
        (["--key", __file__, "--yes"], "needs --eth-rpc"),
        (
            ["--key", __file__, "--eth-rpc", NO_EVM_NODE, "--from", USER],
            "--from names the sender without --key",
        ),
        (["--json", "--key", __file__, "--eth-rpc", NO_EVM_NODE], "--json does not prompt"),
        (["--archive", NO_EVM_NODE], "needs --for OWNER"),
        (["--from", "0x12"], "40 hex digits"),
        (["--from", USER.replace("C8", "c8")], f"the checksum of {USER.replace('C8', 'c8')} is wrong"),
    ],
)
def test_flags_that_do_not_fit(arguments: list[str], words: str) -> None:
    """Name the flag that is missing or too much."""
    with state_chain(offer(RECEIVER, 1)) as server:
        ended(recover(server, *arguments), ExitCode.USAGE, words)


def test_a_call_for_a_wallet_that_does_the_rest(evm: Evm) -> None:
    """Print a call of four members for a wallet that adds the rest; submitted, it pays."""
    with state_chain(offer(RECEIVER, ETHER)) as server:
        result = recover(server, "--unsigned")
        ended(result, ExitCode.OK, "it adds gas, fees and nonce")
    call = json.loads(result.stdout[result.stdout.index("{") : result.stdout.rindex("}") + 1])
    assert set(call) == {"chainId", "to", "value", "data"}
    evm.submit({key: call[key] for key in ("to", "data")} | {"from": USER})
    assert evm.balance(RECEIVER) == ETHER


def test_a_key_in_a_keystore_is_opened_by_its_password(evm: Evm, tmp_path: Path) -> None:
    """Open a keystore by its password from a file or typed, and print neither it nor the key."""
    store, wrong, right = tmp_path / "store.json", tmp_path / "wrong", tmp_path / "right"
    account = require_eth_account().Account
    store.write_text(json.dumps(account.encrypt(USER_KEY, "a secret", kdf="pbkdf2", iterations=10)))
    wrong.write_text("another secret\n")
    right.write_text("a secret\n")
    with state_chain(offer(RECEIVER, ETHER)) as server:
        send = ("--eth-rpc", evm.url, "--key", str(store), "--yes", "--json")
        refused = recover(server, *send, "--password-file", str(wrong))
        ended(refused, ExitCode.CONFIGURATION, "the password is wrong")
        asked = recover(server, *send[:-2], "--dry-run", typed="a secret\n")
        ended(asked, ExitCode.OK, "Nothing was sent")
        done = recover(server, *send, "--password-file", str(right))
        ended(done, ExitCode.OK)
    assert evm.balance(RECEIVER) == ETHER
    for result in (refused, asked, done):
        assert "secret" not in result.output
        assert USER_KEY[2:] not in result.output


def test_an_evm_node_that_is_lost_after_sending(evm: Evm, key: Path) -> None:
    """All answers arrive but the receipt: the node is gone, and the error names the hash."""

    def between(request: Request) -> bytes | None:
        (call, *_) = request.calls
        if call["method"] == "eth_getTransactionReceipt":
            return None
        answers = evm.client.post(evm.url, json=request.calls).json()
        return page(200, json.dumps(answers).encode())

    with state_chain(offer(RECEIVER, ETHER)) as server, serving(between) as lost:
        send = ("--eth-rpc", lost.url, "--key", str(key), "--yes", "--json", "--timeout=1")
        result = recover(server, *send)
    ended(result, ExitCode.NETWORK)
    error = json.loads(result.stdout)["error"]
    assert error["code"] == "TIMEOUT"
    assert "it was sent as 0x" in error["message"]
    assert evm.balance(RECEIVER) == ETHER


def test_ctrl_c_while_the_receipt_is_awaited(evm: Evm, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the hash of what was sent when Ctrl-C ends the wait for its receipt."""

    def pressed(text: str, quiet: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cfnode.cli.progress.waiting", pressed)
    with state_chain(offer(RECEIVER, ETHER)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    ended(result, ExitCode.INTERRUPTED, "interrupted; sent as 0x")


def test_a_failing_command_prints_the_reason_as_json() -> None:
    """Print the reason of a wrong line as JSON."""
    with state_chain(offer(RECEIVER, 1)) as server:
        result = recover(server, "--json", "--dry-run")
    assert json.loads(result.stdout)["error"]["code"] == "USAGE"
