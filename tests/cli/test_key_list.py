"""`cfnode key list`: what a keystore holds, without its secrets."""

from __future__ import annotations

import json
from pathlib import Path

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from tests.support.cli.commands import run

SECRET = "0x" + "7a" * 32


def insert(folder: Path, secret: str, key_type: str) -> None:
    """Insert a key into a keystore."""
    where = ("--keystore-path", str(folder))
    code, _, err = run("key", "insert", *where, "--suri", secret, "--key-type", key_type)
    assert code == 0, err


def test_each_key_has_its_type_account_and_public_key(tmp_path: Path) -> None:
    """Print type, account and public key of each key, and no secret; skip files that are no keys."""
    for secret, key_type in ((SECRET, "brok"), ("//Bob", "lqpr"), ("//Alice", "gran")):
        insert(tmp_path, secret, key_type)
    (tmp_path / "notes").write_text("no key file")
    code, out, err = run("key", "list", "--keystore-path", str(tmp_path))
    assert (code, err) == (0, "")
    broker, bob = Keypair.from_suri(SECRET), Keypair.from_suri("//Bob")
    voter = Keypair.from_suri("//Alice", "ed25519")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["type", "account", "public", "key"]
    assert sorted(rows[1:]) == sorted(
        [key_type, ss58.encode(pair.account), f"0x{pair.public.hex()}"]
        for key_type, pair in (("brok", broker), ("gran", voter), ("lqpr", bob))
    )
    assert SECRET[2:] not in out
    document = json.loads(run("key", "list", "--keystore-path", str(tmp_path), "--json")[1])
    assert [key["type"] for key in document["keys"]] == [row[0] for row in rows[1:]]
    assert document["keystore"] == str(tmp_path)


def test_an_empty_keystore_is_named(tmp_path: Path) -> None:
    """Name the keystore that holds no keys."""
    assert run("key", "list", "--dev", "--base-path", str(tmp_path)) == (
        0,
        "",
        f"no keys in {tmp_path / 'chains' / 'dev' / 'keystore'}\n",
    )


def test_a_foreign_file_name_is_a_key_of_an_unprintable_type(tmp_path: Path) -> None:
    """Print no escape sequence from the name of a file that someone placed in the keystore."""
    (tmp_path / ("1b5b324a" + "00" * 32)).write_text('"//Alice"')
    code, out, _ = run("key", "list", "--keystore-path", str(tmp_path))
    assert (code, "\x1b" in out) == (0, False)
