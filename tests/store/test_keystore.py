"""The keystore: Substrate's files byte for byte, safe on disk, and never part of a message."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from cfnode.core.keys import Keypair
from cfnode.core.suri import SuriError
from cfnode.store import node_key, secret_file
from cfnode.store.keystore import BROKER, Keystore, KeystoreError, MultipleKeysError
from cfnode.store.secret_file import SecretFileError

ALICE, BOB = Keypair.from_suri("//Alice"), Keypair.from_suri("//Bob")
ALICE_FILE = "62726f6bd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
SEED = "0xe5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a"


@pytest.fixture
def keystore(tmp_path: Path) -> Keystore:
    """Return the keystore of a development chain."""
    return Keystore(tmp_path / "chains" / "dev" / "keystore")


def mode(path: Path) -> int:
    """Return the permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


def put(keystore: Keystore, name: str, content: str) -> Path:
    """Write a key file by hand."""
    keystore.path.mkdir(parents=True, exist_ok=True)
    path = keystore.path / name
    path.write_text(content)
    path.chmod(0o600)
    return path


def test_a_key_file_has_the_name_and_content_that_substrate_gives_it(keystore: Keystore) -> None:
    """Name and write a key file as Substrate does, so that either node can use it."""
    assert keystore.insert("brok", SEED) == ALICE.public
    assert [path.name for path in keystore.path.iterdir()] == [ALICE_FILE]
    assert (keystore.path / ALICE_FILE).read_bytes() == f'"{SEED}"'.encode()


def test_text_is_escaped_as_substrate_does(keystore: Keystore) -> None:
    """Escape the secret's text as Substrate's JSON does."""
    public = keystore.insert("brok", '//Alice///a"b\\c ü\t')
    path = keystore.path / f"62726f6b{public.hex()}"
    assert path.read_bytes() == '"//Alice///a\\"b\\\\c ü\\t"'.encode()


def test_only_the_owner_can_read_what_is_written(keystore: Keystore) -> None:
    """Write directory and files for their owner alone, whatever the umask."""
    umask = os.umask(0)
    try:
        keystore.insert("brok", "//Alice")
    finally:
        os.umask(umask)
    assert (mode(keystore.path), mode(keystore.path / ALICE_FILE)) == (0o700, 0o600)
    assert keystore.warnings() == []


def test_a_keystore_written_by_hand_gives_the_broker_its_key(keystore: Keystore) -> None:
    """Read the broker's key from a file that was written by hand, for its own type only."""
    put(keystore, ALICE_FILE, f'"{SEED}"')
    assert keystore.signer(BROKER) == ALICE
    assert keystore.keys("brok") == [ALICE.public]
    assert keystore.has("brok", ALICE.public)
    assert not keystore.has("aura", ALICE.public)


def test_an_absent_keystore_is_an_empty_one(keystore: Keystore) -> None:
    """Take an absent keystore as an empty one, without creating it."""
    assert keystore.keys("brok") == []
    assert keystore.signer(BROKER) is None
    assert not keystore.path.exists()


def test_inserting_a_key_again_changes_nothing(keystore: Keystore) -> None:
    """Change nothing when a key is inserted again, even in another notation."""
    keystore.insert("brok", "//Alice")
    keystore.insert("brok", "//Alice")
    keystore.insert("brok", SEED)  # the same key, written differently
    assert json.loads((keystore.path / ALICE_FILE).read_text()) == "//Alice"
    assert len(list(keystore.path.iterdir())) == 1


def test_a_broken_file_is_named_and_not_overwritten(keystore: Keystore) -> None:
    """Name a broken file and do not overwrite it."""
    path = put(keystore, ALICE_FILE, '"//Bob"')
    with pytest.raises(KeystoreError, match=ALICE_FILE):
        keystore.insert("brok", "//Alice")
    assert path.read_text() == '"//Bob"'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('"//Mallory"', "the secret of another key"),
        ("bottom drive obey", "JSON string, in quotes"),
        ("[1]", "JSON string, in quotes"),
        ("\xff", "JSON string, in quotes"),
        ('"only three words"', "this one has 3"),
        ('"' + "x" * 20_000 + '"', "larger than"),
    ],
)
def test_a_file_that_does_not_give_its_key_is_named_without_its_secret(
    keystore: Keystore, content: str, words: str
) -> None:
    """Name a file that does not give its key, without repeating its secret."""
    put(keystore, ALICE_FILE, content)
    with pytest.raises(KeystoreError, match=words) as caught:
        keystore.signer(BROKER)
    assert ALICE_FILE in str(caught.value)
    assert "Mallory" not in str(caught.value)
    assert "three words" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_error_about_several_broker_keys_names_their_files(keystore: Keystore) -> None:
    """Name the files when there are several broker keys: one of them must be chosen by hand."""
    keystore.insert("brok", "//Alice")
    keystore.insert("brok", "//Bob")
    assert keystore.keys("brok") == sorted([ALICE.public, BOB.public])
    with pytest.raises(MultipleKeysError, match=f"holds 2 broker keys.*{BOB.public.hex()}.*{ALICE_FILE}"):
        keystore.signer(BROKER)


def test_keys_of_other_types_do_not_count(keystore: Keystore) -> None:
    """Count keys of one type only, each in its own scheme."""
    keystore.insert("brok", "//Alice")
    keystore.insert("lqpr", "//Bob")
    grandpa = keystore.insert("gran", "//Alice")
    assert keystore.signer(BROKER) == ALICE
    assert grandpa == Keypair.from_suri("//Alice", "ed25519").public
    assert keystore.pair("gran", grandpa).scheme == "ed25519"


@pytest.mark.parametrize("scheme", ["sr25519", "ed25519", "ecdsa"])
def test_every_scheme_can_be_kept_and_used(keystore: Keystore, scheme: str) -> None:
    """Keep and use keys of every scheme."""
    public = keystore.insert("test", "//Alice", scheme)  # type: ignore[arg-type]
    assert keystore.pair("test", public).scheme == scheme


def test_the_stated_public_key_decides_the_scheme(keystore: Keystore) -> None:
    """Decide the scheme by the stated public key, and refuse a secret that does not give it."""
    wanted = Keypair.from_suri("//Alice", "ed25519").public
    assert keystore.insert("test", "//Alice", public=wanted) == wanted
    with pytest.raises(KeystoreError, match="does not give the stated public key"):
        keystore.insert("test", "//Alice", public=BOB.public)


def test_a_key_inserted_with_a_password_needs_it(tmp_path: Path) -> None:
    """Need the password of a key that was inserted with one, and never write it."""
    phrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"
    public = Keystore(tmp_path, "hush").insert("brok", phrase)
    assert Keystore(tmp_path, "hush").pair("brok", public).public == public
    assert "hush" not in next(tmp_path.iterdir()).read_text()
    with pytest.raises(KeystoreError, match="give the same one"):
        Keystore(tmp_path).pair("brok", public)


def test_a_wrong_secret_leaves_nothing_behind(keystore: Keystore) -> None:
    """Leave nothing behind after a wrong secret."""
    with pytest.raises(SuriError):
        keystore.insert("brok", "three little words")
    assert not keystore.path.exists()


@pytest.mark.parametrize("key_type", ["", "bro", "broke", "brök"])
def test_a_key_type_has_four_characters(keystore: Keystore, key_type: str) -> None:
    """Refuse a key type that is not four ASCII characters."""
    with pytest.raises(KeystoreError, match="four ASCII characters"):
        keystore.insert(key_type, "//Alice")


def test_other_files_are_ignored(keystore: Keystore) -> None:
    """Ignore files whose names are not those of keys."""
    for name in ("README", ".62726f6b.new", "62726f6b", ALICE_FILE.upper(), ALICE_FILE[:-2]):
        put(keystore, name, "anything")
    assert keystore.keys("brok") == []
    assert keystore.signer(BROKER) is None


def test_a_link_is_not_followed(keystore: Keystore, tmp_path: Path) -> None:
    """Refuse a key file that is a symbolic link."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text('"//Alice"')
    keystore.path.mkdir(parents=True)
    (keystore.path / ALICE_FILE).symlink_to(elsewhere)
    with pytest.raises(KeystoreError, match=f"{ALICE_FILE}: it is a symbolic link"):
        keystore.signer(BROKER)


def test_a_directory_or_pipe_in_the_place_of_a_file_does_not_hang(keystore: Keystore) -> None:
    """Refuse a pipe in the place of a key file instead of waiting for it."""
    keystore.path.mkdir(parents=True)
    os.mkfifo(keystore.path / ALICE_FILE)
    with pytest.raises(KeystoreError, match="not a regular file"):
        keystore.signer(BROKER)


def test_warnings_name_the_files_that_other_users_can_access(keystore: Keystore) -> None:
    """Warn of directory and files that other users can access, with the command that helps."""
    path = put(keystore, ALICE_FILE, '"//Alice"')
    keystore.path.chmod(0o750)
    path.chmod(0o644)
    assert keystore.warnings() == [
        f"{keystore.path} is open to other users of this machine (mode 0750): chmod 700 {keystore.path}",
        f"{path} is open to other users of this machine (mode 0644): chmod 600 {path}",
    ]
    assert keystore.signer(BROKER) == ALICE


def test_a_file_in_the_place_of_the_keystore_is_refused(tmp_path: Path) -> None:
    """Refuse a file in the place of the keystore."""
    (tmp_path / "keystore").write_text("")
    with pytest.raises(SecretFileError, match="is not a directory"):
        Keystore(tmp_path / "keystore").insert("brok", "//Alice")


def test_several_files_are_written_or_none(tmp_path: Path) -> None:
    """Write several secret files or none, and overwrite nothing."""
    (tmp_path / "c").write_text("mine")
    with pytest.raises(SecretFileError, match=r"/c exists and is not overwritten: nothing was saved"):
        secret_file.create_all({tmp_path / name: b"new" for name in "abc"})
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert (tmp_path / "c").read_text() == "mine"


def test_files_are_created_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Create secret files on a file system without hard links, and overwrite nothing there either."""

    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    secret_file.create(tmp_path / "a", b"one")
    with pytest.raises(FileExistsError):
        secret_file.create(tmp_path / "a", b"two")
    assert [(path.name, path.read_bytes(), mode(path)) for path in tmp_path.iterdir()] == [
        ("a", b"one", 0o600)
    ]


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no half-written secret on a full disk."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SecretFileError, match="No space left"):
        secret_file.create(tmp_path / "a", b"one")
    assert list(tmp_path.iterdir()) == []


def test_a_node_key_is_raw_bytes_or_hex(tmp_path: Path) -> None:
    """Read a node key as raw bytes or as hex, with or without a line end."""
    secret = bytes(range(32))
    expected = Keypair.from_seed(secret, "ed25519")
    for content in (secret, secret.hex().encode(), secret.hex().encode() + b"\n"):
        path = tmp_path / "key"
        path.write_bytes(content)
        assert node_key.load(path) == expected


@pytest.mark.parametrize("content", [b"", bytes(31), bytes(33), b"zz" * 32, b"12" * 31])
def test_a_malformed_node_key_is_refused(tmp_path: Path, content: bytes) -> None:
    """Refuse a node key of another size or notation."""
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(SecretFileError, match=r"/key is not a node key: it must be 32 bytes or 64 hex"):
        node_key.load(tmp_path / "key")


def test_a_node_key_is_created_once(tmp_path: Path) -> None:
    """Create a node key once, for its owner alone, and refuse to overwrite it."""
    path = tmp_path / "network" / node_key.NODE_KEY_FILE
    created = node_key.load_or_create(path)
    assert node_key.load_or_create(path) == created
    assert (mode(path), mode(path.parent), len(path.read_bytes())) == (0o600, 0o700, 32)
    with pytest.raises(SecretFileError, match="exists and is not overwritten"):
        node_key.create(path)


@pytest.mark.parametrize("content", [b"[" * 16_000, b'{"a":' * 3_000])
def test_a_key_file_of_nested_brackets_is_refused_as_malformed(tmp_path: Path, content: bytes) -> None:
    """Refuse a key file of nested brackets as malformed, not by a RecursionError."""
    keystore = Keystore(tmp_path)
    public = keystore.insert("brok", "//Alice")
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    with pytest.raises(KeystoreError, match="must hold a secret URI as a JSON string"):
        keystore.pair("brok", public)
