"""Key files of `cfnode recover`: keystores, keys in hex, and the passwords of keystores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli.exits import ExitCode
from tests.sdk.anvil import DEPLOYER, USER, USER_KEY, Evm, require_eth_account
from tests.support.sdk.providers import report, transfer
from tests.support.sdk.recover_command import ETHER, ended, recover, state_chain


def keystore(folder: Path, **changes: Any) -> Path:
    """Write the user's keystore, with some members changed."""
    account = require_eth_account().Account
    document = account.encrypt(USER_KEY, "a secret", kdf="pbkdf2", iterations=10) | changes
    path = folder / "store.json"
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("form", ["\ufeff{}", "\ufeff0X{}"])
def test_a_key_in_hex_of_another_program(form: str, evm: Evm, key: Path) -> None:
    """With a byte order mark, as some editors write it, and the prefix in upper case."""
    key.write_text(form.format(USER_KEY[2:]), "utf-8")
    with state_chain(transfer()[1]) as server:
        ended(recover(server, "--eth-rpc", evm.url, "--key", str(key), "--dry-run"), ExitCode.OK)


def test_a_keystore_with_another_derivation_is_not_a_wrong_password(evm: Evm, tmp_path: Path) -> None:
    """Name the derivation that is not supported instead of blaming the password."""
    store, word = keystore(tmp_path), tmp_path / "password"
    document = json.loads(store.read_text())
    document["crypto"]["kdfparams"]["prf"] = "hmac-sha512"
    store.write_text(json.dumps(document))
    word.write_text("a secret\n")
    with state_chain(transfer()[1]) as server:
        send = ("--eth-rpc", evm.url, "--key", str(store), "--password-file", str(word), "--yes")
        result = recover(server, *send)
    ended(result, ExitCode.CONFIGURATION, "hmac-sha512", "is not supported")
    assert "password is wrong" not in result.output


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"version": 1, "crypto": {}}, "its version is 1"),
        ({"version": "3", "crypto": {}}, "its version is '3'"),
        ({"version": 3, "crypto": {}}, "not a keystore JSON of version 3"),
        ({"version": 3, "crypto": {"cipher": 5, "kdf": None, "kdfparams": "x"}}, "cannot be opened"),
        ({"version": 3}, "not a keystore JSON of version 3"),
        ([], "neither a keystore JSON nor a key in hex"),
    ],
)
def test_a_keystore_that_cannot_be_used(document: Any, words: str, evm: Evm, tmp_path: Path) -> None:
    """Name the version or the form of a keystore that cannot be used, with the code KEY_FILE."""
    store, word = tmp_path / "store.json", tmp_path / "password"
    store.write_text(json.dumps(document))
    word.write_text("a secret\n")
    with state_chain(transfer()[1]) as server:
        send = ("--eth-rpc", evm.url, "--key", str(store), "--password-file", str(word), "--yes", "--json")
        result = recover(server, *send)
    ended(result, ExitCode.CONFIGURATION)
    error = report(result)["error"]
    assert (error["code"], words in error["message"]) == ("KEY_FILE", True), error


@pytest.mark.parametrize(("content", "words"), [(b"", "no password"), (b"\xff\xfe", "not UTF-8")])
def test_a_password_file_that_holds_none(content: bytes, words: str, evm: Evm, tmp_path: Path) -> None:
    """Refuse a password file that is empty or not UTF-8."""
    store, word = keystore(tmp_path), tmp_path / "password"
    word.write_bytes(content)
    with state_chain(transfer()[1]) as server:
        result = recover(
            server, "--eth-rpc", evm.url, "--key", str(store), "--password-file", str(word), "--yes"
        )
    ended(result, ExitCode.CONFIGURATION, words)


def test_a_keystore_with_a_byte_order_mark_and_an_upper_case_prefix(evm: Evm, tmp_path: Path) -> None:
    """The address is known before the password is asked for."""
    store = keystore(tmp_path, address="0X" + USER[2:].upper())
    store.write_text("\ufeff" + store.read_text(), "utf-8")
    with state_chain(transfer()[1]) as server:
        dry = recover(server, "--eth-rpc", evm.url, "--key", str(store), "--dry-run")
    ended(dry, ExitCode.OK, f"The transaction of {USER}")
    assert "Password" not in dry.output


@pytest.mark.parametrize("form", ["a secret\n", "\ufeffa secret\r\n", "a secret"])
def test_a_password_file_of_another_program(form: str, evm: Evm, tmp_path: Path) -> None:
    """With a byte order mark and line ends of Windows."""
    word = tmp_path / "password"
    word.write_bytes(form.encode())
    with state_chain(transfer()[1]) as server:
        send = ("--eth-rpc", evm.url, "--key", str(keystore(tmp_path)), "--password-file", str(word))
        ended(recover(server, *send, "--yes"), ExitCode.OK, "Done: 1 ETH")


def test_the_password_is_asked_for_last_and_three_times(evm: Evm, tmp_path: Path) -> None:
    """Ask for the password after the cost, three times, and print none of what was typed."""
    receiver, test_vector = transfer()
    with state_chain(test_vector) as server:
        send = ("--eth-rpc", evm.url, "--key", str(keystore(tmp_path)))
        wrong = recover(server, *send, typed="y\n1\n2\n3\n")
        ended(wrong, ExitCode.CONFIGURATION, "the password is wrong")
        assert wrong.output.count("Password") == 3
        assert wrong.output.index("costs at most") < wrong.output.index("Password")
        done = recover(server, *send, typed="y\n1\n2\na secret\n")
        ended(done, ExitCode.OK, "Done: 1 ETH")
    assert evm.balance(receiver) == ETHER
    assert "a secret" not in wrong.output + done.output
    assert "Warning" not in done.output


def test_a_keystore_that_names_another_address(evm: Evm, tmp_path: Path) -> None:
    """Refuse a keystore whose key belongs to another address than it names, and send nothing."""
    receiver, test_vector = transfer()
    store = keystore(tmp_path, address=DEPLOYER[2:].lower())
    with state_chain(test_vector) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(store), typed="y\na secret\n")
    ended(result, ExitCode.CONFIGURATION, "belongs to another address")
    assert evm.balance(receiver) == 0


def test_an_interruption_at_a_question(evm: Evm, key: Path, tmp_path: Path) -> None:
    """Exit with the code for an interruption at either question."""
    with state_chain(transfer()[1]) as server:
        asked = recover(server, "--eth-rpc", evm.url, "--key", str(key))
        ended(asked, ExitCode.INTERRUPTED, "Send it?", "interrupted")
        typed = recover(server, "--eth-rpc", evm.url, "--key", str(keystore(tmp_path)), typed="y\n")
        ended(typed, ExitCode.INTERRUPTED, "Password")


def test_a_key_that_others_may_read_is_warned_about(evm: Evm, key: Path) -> None:
    """Warn of a key file that other accounts may read, and do not print the key."""
    key.chmod(0o644)
    with state_chain(transfer()[1]) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--dry-run")
    ended(result, ExitCode.OK, f"Warning: other accounts may read {key}")
    assert USER_KEY[2:] not in result.output
