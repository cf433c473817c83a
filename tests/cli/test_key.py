"""The `key` commands as a person or a script uses them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.key.secret_input import SCHEMES
from cfnode.core import keys
from cfnode.core.bip39 import entropy_of
from cfnode.core.chainspec import BERGHAIN, to_json
from cfnode.core.ethereum_key import EthereumKey
from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from cfnode.core.suri import DEV_PHRASE
from cfnode.store import node_key

ROOT = Path(__file__).resolve().parents[2]
PHRASE = "essay awesome afraid movie wish save genius eyebrow tonight milk agree pretty alcohol three whale"
SEED = "afabf42a9a99910cdd64795ef05ed71acfa2238f5682d26ae62028df3cc59727"
ACCOUNT = "cFMziohdyxVZy4DGXw2zkapubUoTaqjvAM7QGcpyLo9Cba7HA"
PUBLIC = Keypair.from_suri(PHRASE).public.hex()
FILES = {"node_key_file", "signing_key_file", "ethereum_key_file"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home of its own, and no setting of the person who runs the tests."""
    for name in ("CFNODE_BASE_PATH", "CFNODE_CHAIN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Run `cfnode key` in this process."""
    return CliRunner().invoke(cli, ["key", *map(str, arguments)], input=stdin, catch_exceptions=False)


def done(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Run a `key` command that must succeed."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def failed(code: int, *arguments: str | Path, stdin: str | bytes | None = None) -> str:
    """Return the last line on standard error of a command that must fail with this exit code."""
    result = run(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (code, "")
    return result.stderr.rstrip("\n").rpartition("\n")[2]


def mode(path: Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


class TestGenerate:
    """Runs of `key generate`, the operator's first command."""

    def test_the_document_is_the_one_of_generate_keys(self) -> None:
        """Print node, Ethereum and signing keys that fit phrase and ids; warn on standard error."""
        result = done("generate")
        document = json.loads(result.stdout)
        assert list(document) == [
            "node_key",
            "peer_id",
            "seed_phrase",
            "ethereum_key",
            "ethereum_address",
            "signing_key",
            "signing_account_id",
        ]
        phrase = document["seed_phrase"]
        assert len(phrase.split()) == 12
        signing, ethereum = Keypair.from_suri(phrase), EthereumKey.from_phrase(phrase)
        node = Keypair.from_seed(bytes.fromhex(document["node_key"]["secret_key"]), "ed25519")
        assert signing.seed is not None
        assert document["signing_key"] == {
            "secret_key": signing.seed.hex(),
            "public_key": signing.public.hex(),
        }
        assert document["node_key"]["public_key"] == node.public.hex()
        assert document["peer_id"] == peer_id(node.public)
        assert document["ethereum_key"] == {
            "secret_key": ethereum.secret.hex(),
            "public_key": ethereum.public.hex(),
        }
        assert document["ethereum_address"] == ethereum.address.hex()
        assert "Keep the seed phrase in a safe place" in result.stderr

    def test_the_published_phrase_gives_the_published_keys(self) -> None:
        """Derive from a published phrase the published signing and Ethereum keys."""
        document = json.loads(done("generate", "--seed-phrase", PHRASE).stdout)
        assert document["seed_phrase"] == PHRASE
        assert document["signing_key"]["secret_key"] == SEED
        assert document["signing_account_id"] == ACCOUNT
        assert document["ethereum_key"]["secret_key"] == (
            "5c25d9ae0363ecd8dd18da1608ead2a4dc1ec658d6ed412d47e10d486ff0d1db"
        )
        assert document["ethereum_address"] == "e01156ca92d904cc67ff47517bf3a3500b418280"

    def test_a_phrase_can_come_from_standard_input(self) -> None:
        """Read the phrase from standard input, where no list of processes can have it."""
        document = json.loads(done("generate", "-s", "-", stdin=f"{PHRASE}\n").stdout)
        assert document["signing_key"]["secret_key"] == SEED

    @pytest.mark.parametrize("words", [12, 15, 18, 21, 24])
    def test_the_phrase_has_as_many_words_as_asked_for(self, words: int) -> None:
        """Make a phrase of each length that BIP-39 has, with a correct checksum."""
        phrase = json.loads(done("generate", "--words", str(words)).stdout)["seed_phrase"]
        assert len(phrase.split()) == words
        assert entropy_of(phrase)

    def test_two_phrases_are_never_the_same(self) -> None:
        """Draw new entropy at each run: two operators must never get one key."""
        assert done("generate").stdout != done("generate").stdout

    def test_text_is_for_reading(self) -> None:
        """Print phrase, account and seed on labelled lines."""
        lines = done("generate", "--output-type", "text", "-s", PHRASE).stdout.splitlines()
        assert lines[0] == f"Seed phrase:         {PHRASE}"
        assert lines[1] == f"Account:             {ACCOUNT}"
        assert lines[2] == f"Signing secret seed: 0x{SEED}"

    def test_the_files_hold_the_printed_keys(self, home: Path) -> None:
        """Save the three printed keys in files of their owner alone, in a new folder that is private too."""
        result = done("generate", "--path", home / "new" / "keys")
        document, path = json.loads(result.stdout), home / "new" / "keys"
        assert {file.name for file in path.iterdir()} == FILES
        assert (path / "signing_key_file").read_text() == document["signing_key"]["secret_key"]
        assert (path / "node_key_file").read_text() == document["node_key"]["secret_key"]
        assert (path / "ethereum_key_file").read_text() == document["ethereum_key"]["secret_key"]
        assert [mode(file) for file in path.iterdir()] == [0o600] * 3
        assert mode(path) == 0o700
        assert f"Saved node_key_file, signing_key_file and ethereum_key_file in {path}" in result.stderr

    @pytest.mark.parametrize("name", sorted(FILES))
    def test_nothing_is_overwritten_and_nothing_half_saved(self, home: Path, name: str) -> None:
        """Save none of the three files if any of them exists."""
        (home / name).write_text("mine")
        before = {path.name for path in home.iterdir()}
        message = failed(3, "generate", "--path", home)
        assert message == f"Error: {home / name} exists and is not overwritten: nothing was saved"
        assert {path.name for path in home.iterdir()} == before
        assert (home / name).read_text() == "mine"

    def test_a_malformed_phrase_is_an_error_that_does_not_repeat_it(self) -> None:
        """Name the place of the misspelled word, but print neither it nor the phrase."""
        message = failed(1, "generate", "-s", PHRASE.replace("wish", "whish"))
        assert message == "Error: word 5 of the seed phrase is not in the English BIP-39 list"

    def test_words_and_a_given_phrase_exclude_each_other(self) -> None:
        """Refuse a number of words for a phrase that is given."""
        assert "--words is for a new phrase" in failed(2, "generate", "-s", PHRASE, "-w", "12")


class TestSecretsOnStandardOutput:
    """Standard output of a command, sent to a file, a device or nowhere."""

    @pytest.mark.parametrize(
        "words",
        [["generate"], ["generate", "--output-type=text"], ["generate-node-key"], ["inspect", PHRASE]],
    )
    def test_a_file_becomes_its_owners_alone(
        self, home: Path, words: list[str], capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Restrict to its owner a file that standard output is sent to, and say so."""
        (home / "out").touch(0o644)
        (home / "out").chmod(0o664)
        assert to_file(home / "out", words) == 0
        assert (mode(home / "out"), (home / "out").stat().st_size >= 64) == (0o600, True)
        assert "its mode is 0600 now" in capfd.readouterr().err

    def test_a_file_without_a_secret_keeps_its_mode(self, home: Path) -> None:
        """Leave the mode of a file alone that gets only a public key."""
        (home / "out").touch()
        (home / "out").chmod(0o644)
        assert to_file(home / "out", ["inspect", ACCOUNT]) == 0
        assert (mode(home / "out"), ACCOUNT in (home / "out").read_text()) == (0o644, True)

    def test_where_the_mode_cannot_be_changed_nothing_is_printed_or_saved(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Print no secret and save none where the output file cannot be made private."""
        monkeypatch.setattr(os, "fchmod", lambda descriptor, mode: None)
        (home / "out").touch()
        (home / "out").chmod(0o644)
        assert to_file(home / "out", ["generate", "--path", str(home / "keys")]) == 3
        assert ((home / "out").read_bytes(), (home / "keys").exists()) == (b"", False)

    @pytest.mark.parametrize("is_closed", [False, True])
    def test_a_phrase_that_went_nowhere_is_not_one_to_keep(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], is_closed: bool
    ) -> None:
        """Say that the phrase was not printed, instead of asking the person to keep it."""
        if is_closed:
            monkeypatch.setattr(sys, "stdout", None)
        into = None if is_closed else Path(os.devnull)
        assert to_file(into, ["generate", "--path", str(home / "keys")]) == 0
        assert f"was not printed: only the files in {home / 'keys'} have" in (err := capfd.readouterr().err)
        assert "Keep the seed phrase" not in err
        assert to_file(into, ["generate"]) == 0
        assert capfd.readouterr().err == "Nothing was printed or saved: these keys are lost.\n"


def to_file(path: Path | None, words: list[str]) -> int:
    """Run a command in this process with its standard output sent to a file; the exit code."""
    with ExitStack() as stack:
        if path is not None:
            stack.enter_context(redirect_stdout(stack.enter_context(path.open("w"))))
        try:
            cli.main(["key", *words])
        except SystemExit as end:
            return int(end.code or 0)
    raise AssertionError("the command does not end")


class TestInsert:
    """Runs of `key insert`, which hands the node its keys."""

    def keystore(self, home: Path, chain: str = "dev") -> Path:
        """Return the keystore of a chain below the base path."""
        return home / "base" / "chains" / chain / "keystore"

    def test_the_official_command_line_works_and_again(self, home: Path) -> None:
        """Insert by the official command line; again it changes nothing and says that the key is there."""
        line = [
            "insert", "--chain=dev", f"--base-path={home / 'base'}", f"--suri=0x{SEED}", "--key-type=brok",
            "--scheme=sr25519",
        ]  # fmt: skip
        first, again = done(*line), done(*line)
        path = self.keystore(home) / f"62726f6b{PUBLIC}"
        assert path.read_text() == f'"0x{SEED}"'
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        assert (first.stdout, again.stdout) == ("", "")
        assert first.stderr == f"brok key of {ACCOUNT} inserted into {path.parent}\n"
        assert again.stderr == f"brok key of {ACCOUNT} is already in {path.parent}\n"

    def test_a_broker_key_is_the_default_and_so_is_the_base_path_of_run(self, home: Path) -> None:
        """Insert a broker key of the main net into the base path of `run`, where no flag names others."""
        done("insert", "--suri", "//Alice")
        (path,) = (home / "data/cfnode/chains/Chainflip-Berghain/keystore").iterdir()
        assert path.name == "62726f6b" + Keypair.from_suri("//Alice").public.hex()

    def test_the_base_path_and_the_chain_come_from_the_environment_as_for_run(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Take base path and chain from the variables that `run` reads."""
        monkeypatch.setenv("CFNODE_BASE_PATH", str(home / "base"))
        monkeypatch.setenv("CFNODE_CHAIN", "dev")
        done("insert", "--suri", "//Alice")
        assert len(list(self.keystore(home).iterdir())) == 1

    def test_a_secret_comes_from_a_file_in_every_form(self, home: Path) -> None:
        """Read a file with a seed, a seed after 0x or a phrase, by --suri as by --suri-file."""
        for number, content in enumerate((SEED, f"0x{SEED}\n", f"{PHRASE}\n")):
            (home / "secret").write_text(content)
            for flag in ("--suri", "--suri-file"):
                done("insert", "--dev", "--base-path", home / f"{number}{flag}", flag, home / "secret")
                keystore = home / f"{number}{flag}" / "chains" / "dev" / "keystore"
                assert [path.name for path in keystore.iterdir()] == [f"62726f6b{PUBLIC}"]

    def test_a_secret_comes_from_standard_input(self, home: Path) -> None:
        """Store the phrase itself from standard input, without the line's end."""
        done("insert", "--dev", "-d", home / "base", "--suri", "-", stdin=f"{PHRASE}\n")
        assert json.loads((self.keystore(home) / f"62726f6b{PUBLIC}").read_text()) == PHRASE

    def test_a_chain_specification_names_the_directory(self, home: Path) -> None:
        """Take the keystore's folder from the id in a specification's file."""
        (home / "spec.json").write_text(
            to_json(BERGHAIN).replace('"id": "Chainflip-Berghain"', '"id": "mine"')
        )
        done("insert", "--chain", home / "spec.json", "-d", home / "base", "--suri", "//Alice")
        assert len(list(self.keystore(home, "mine").iterdir())) == 1

    def test_the_keystore_can_be_named_itself(self, home: Path) -> None:
        """Insert into a keystore that a flag names, under the hexadecimal name of the key's type."""
        done("insert", "--keystore-path", home / "ks", "--suri", "//Alice", "--key-type", "aura")
        assert [path.name[:8] for path in (home / "ks").iterdir()] == ["61757261"]

    def test_a_second_broker_key_is_warned_of(self, home: Path) -> None:
        """Warn of two broker or provider keys: the node then knows none to sign with."""
        done("insert", "--keystore-path", home / "ks", "--suri", "//Alice")
        result = done("insert", "--keystore-path", home / "ks", "--suri", "//Bob")
        assert f"Warning: {home / 'ks'} now holds 2 broker keys." in result.stderr
        other = done("insert", "--keystore-path", home / "ks", "--suri", "//Eve", "--key-type", "lqpr")
        assert "Warning" not in other.stderr
        second = done("insert", "--keystore-path", home / "ks", "--suri", "//Bob", "--key-type", "lqpr")
        assert (
            "now holds 2 liquidity provider keys. The node turns its liquidity provider methods off"
            in second.stderr
        )

    def test_a_keystore_open_to_others_is_warned_of(self, home: Path) -> None:
        """Advise chmod 700 for a keystore that others may read."""
        (home / "ks").mkdir(mode=0o755)
        result = done("insert", "--keystore-path", home / "ks", "--suri", "//Alice")
        assert f"chmod 700 {home / 'ks'}" in result.stderr

    def test_a_finality_key_is_ed25519_by_default(self, home: Path) -> None:
        """Take ed25519 for a finality key, which GRANDPA cannot use with sr25519."""
        done("insert", "--keystore-path", home / "ks", "--suri", "//Alice", "--key-type", "gran")
        assert [path.name[8:] for path in (home / "ks").iterdir()] == [
            Keypair.from_suri("//Alice", "ed25519").public.hex()
        ]

    def test_a_password_is_part_of_the_key_and_not_of_the_file(self, home: Path) -> None:
        """Derive the key with the password, and store the phrase without it."""
        (home / "pw").write_text("hush\n")
        wanted = Keypair.from_suri(f"{PHRASE}///hush").public.hex()
        for way in (["--password", "hush"], ["--password-filename", str(home / "pw")]):
            done("insert", "--keystore-path", home / "ks", "--suri", PHRASE, *way)
        (path,) = (home / "ks").iterdir()
        assert path.name == f"62726f6b{wanted}"
        assert json.loads(path.read_text()) == PHRASE

    @pytest.mark.parametrize(
        ("code", "arguments", "message"),
        [
            (1, ["--suri", "three little words"], "this one has 3"),
            (1, ["--suri", "0x1234"], "a hexadecimal seed is 0x and 64 hex digits"),
            (1, ["--suri", "//Alice/soft", "--scheme", "ed25519"], "ed25519 has no soft junctions"),
            (2, ["--suri", SEED], "a seed in hexadecimal begins with 0x"),
            (2, ["--suri", "//Alice", "--suri-file", "x"], "give the secret only once"),
            (
                2,
                ["--suri", "//A", "--password", "a", "--password-interactive"],
                "give only one of --password",
            ),
            (2, ["--suri", "//Alice", "--dev", "--chain", "berghain"], "--dev means --chain dev"),
            (2, [], "no secret is given"),
            (2, ["--suri", ""], "the secret is empty"),
            (2, ["--suri", "-"], "the secret is empty"),
            (2, ["--suri-file", "/dev/null"], "the secret is empty"),
            (2, ["--suri", "/etc/keys/mistyped"], "there is no file of that name"),
            (
                2,
                ["--suri", "mistyped"],
                "the text is not a secret, and there is no file of that name; check the path: a secret is 12",
            ),
            (2, ["--suri", "keys/signing_key_file"], "there is no file of that name"),
            (2, ["--suri", "~/my keys/key"], "there is no file of that name"),
            (2, ["--suri", "signing.key"], "there is no file of that name"),
            (3, ["--suri-file", "/dev/zero"], "/dev/zero is larger than 16384 bytes"),
            (2, ["--suri", "//Alice", "--scheme", "rsa"], "Unknown value 'rsa'. Choose from sr25519"),
            (3, ["--suri", "//Alice", "--key-type", "broker"], "four ASCII characters"),
            (
                3,
                ["--suri", "//Alice", "--chain", "berghian"],
                "not a built-in chain. Did you mean berghain?",
            ),
            (3, ["--suri-file", "absent"], "cannot read absent: No such file or directory"),
            (3, ["--suri", "//Alice", "--chain", "."], ".: cannot be read: Is a directory"),
        ],
    )
    def test_a_mistake_is_one_line_and_a_code(
        self, home: Path, code: int, arguments: list[str], message: str
    ) -> None:
        """Print one line with what was wrong, exit with the right code, and create nothing."""
        line = failed(code, "insert", *arguments)
        assert line.startswith("Error: ")
        assert message in line
        assert not (home / "data").exists()

    def test_a_malformed_specification_is_an_error_with_the_field(self, home: Path) -> None:
        """Name the field of the specification that has a wrong type."""
        (home / "spec.json").write_text('{"name": "x", "id": 7}')
        line = failed(3, "insert", "--chain", home / "spec.json", "--suri", "//Alice")
        assert line == f"Error: {home / 'spec.json'}: id: must be text, not a number"

    def test_a_broken_key_file_is_not_overwritten(self, home: Path) -> None:
        """Refuse to overwrite a file that holds another key than its name says, and do not print it."""
        path = home / "ks" / f"62726f6b{PUBLIC}"
        path.parent.mkdir(mode=0o700)
        path.write_text('"//Mallory"')
        line = failed(3, "insert", "--keystore-path", home / "ks", "--suri", PHRASE)
        assert str(path) in line
        assert "Mallory" not in line
        assert path.read_text() == '"//Mallory"'


INVALID = (
    "Error: Invalid phrase/URI given: a seed phrase has 12, 15, 18, 21 or 24 words; this one has {}: "
    "give all of them"
)
NO_NETWORK = (
    "Error: Invalid value for '--network' / '-n': '99999' is not a network: choose from chainflip, "
    "substrate, polkadot, kusama, "
    "or a number up to 16383"
)


class TestInspect:
    """Runs of `key inspect`, whose text scripts of Substrate's users read."""

    def test_a_bare_phrase_is_printed_in_substrates_format(self) -> None:
        """Print a phrase's seed, public key and address in Substrate's words and columns."""
        assert done("inspect", PHRASE).stdout == (
            f"Secret phrase:       {PHRASE}\n"
            "  Network ID:        chainflip\n"
            f"  Secret seed:       0x{SEED}\n"
            f"  Public key (hex):  0x{PUBLIC}\n"
            f"  Account ID:        0x{PUBLIC}\n"
            f"  Public key (SS58): {ACCOUNT}\n"
            f"  SS58 Address:      {ACCOUNT}\n"
        )

    def test_a_secret_uri_is_printed_in_substrates_format(self) -> None:
        """Print a development account's URI, seed and address in Substrate's words."""
        lines = done("inspect", "//Alice").stdout.splitlines()
        assert lines[0] == "Secret Key URI `//Alice` is account:"
        assert (
            lines[2]
            == "  Secret seed:       0xe5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a"
        )
        assert lines[6] == "  SS58 Address:      cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"

    def test_there_is_no_seed_behind_a_soft_junction(self) -> None:
        """Print n/a for the seed behind a soft junction, which has none."""
        assert "  Secret seed:       n/a" in done("inspect", "//Alice/0").stdout

    def test_an_address_is_printed_with_its_network(self) -> None:
        """Name the network that an address was made for."""
        address = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
        key = "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
        assert done("inspect", address).stdout == (
            f"Public Key URI `{address}` is account:\n"
            "   Network ID/Version: substrate\n"
            f"  Public key (hex):   {key}\n"
            f"  Account ID:         {key}\n"
            f"  Public key (SS58):  {address}\n"
            f"  SS58 Address:       {address}\n"
        )

    def test_a_public_key_is_printed_without_heading(self) -> None:
        """Print a public key's network by number, and no heading."""
        lines = done("inspect", "--public", f"0x{PUBLIC}", "-n", "7").stdout.splitlines()
        assert lines[0] == "   Network ID/Version: 7"
        assert len(lines) == 5

    def test_json_has_substrates_members_in_order(self) -> None:
        """Print Substrate's members in its order: a URI for a path, no secret for an address."""
        document = json.loads(done("inspect", PHRASE, "--output-type", "json").stdout)
        assert document == {
            "accountId": f"0x{PUBLIC}",
            "networkId": "chainflip",
            "publicKey": f"0x{PUBLIC}",
            "secretPhrase": PHRASE,
            "secretSeed": f"0x{SEED}",
            "ss58Address": ACCOUNT,
            "ss58PublicKey": ACCOUNT,
        }
        assert list(document) == sorted(document)
        assert "secretSeed" not in json.loads(done("inspect", ACCOUNT, "--output-type", "json").stdout)
        assert "secretKeyUri" in json.loads(done("inspect", "//Alice", "--output-type", "json").stdout)

    def test_an_ecdsa_account_is_not_its_public_key(self) -> None:
        """Hash an ECDSA key of 33 bytes to its account, as Substrate does."""
        result = done("inspect", "//Alice", "--scheme", "ecdsa", "--output-type", "json", "-n", "42")
        document = json.loads(result.stdout)
        assert document["publicKey"] == "0x020a1091341fe5664bfa1782d5e04779689068c916b04cb365ec3153755684d9a1"
        assert document["ss58PublicKey"] == "KW39r9CJjAVzmkf9zQ4YDb2hqfAVGdRqn53eRqyruqpxAP5YL"
        assert document["ss58Address"] == "5C7C2Z5sWbytvHpuLTvzKunnnRwQxft1jiqrLD5rhucQ5S9X"

    def test_a_file_and_standard_input_are_read(self, home: Path) -> None:
        """Read the secret from a file or from standard input."""
        (home / "signing_key_file").write_text(SEED)
        assert ACCOUNT in done("inspect", home / "signing_key_file").stdout
        assert ACCOUNT in done("inspect", "-", stdin=PHRASE).stdout

    def test_an_expected_key_is_checked_without_the_path(self) -> None:
        """Compare the expected key with the secret's before its derivation path, as Substrate does."""
        for expected in (f"0x{PUBLIC}", ACCOUNT):
            done("inspect", f"{PHRASE}//0", "--expect-public", expected)
        line = failed(
            1, "inspect", PHRASE, "--expect-public", "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"
        )
        text = f"the secret's public key is 0x{PUBLIC}, not the expected one"
        assert line == f"Error: {text}: check the secret, or --expect-public"

    @pytest.mark.parametrize(
        ("code", "arguments", "message"),
        [
            (1, ["one two three"], INVALID.format(3)),
            (1, ["mistyped"], f"{INVALID.format(1)}. There is no file of that name; check the path"),
            (1, ["--public", "0x12"], "Error: give a public key of sr25519 as 32 bytes in hexadecimal"),
            (2, ["//Alice", "--network", "99999"], NO_NETWORK),
        ],
    )  # fmt: skip
    def test_a_mistake_is_one_line_and_a_code(self, code: int, arguments: list[str], message: str) -> None:
        """Print one line with what was wrong and what to give, and exit with the right code."""
        assert failed(code, "inspect", *arguments) == message


class TestNodeKey:
    """Runs of `key generate-node-key` and `key inspect-node-key`."""

    def test_a_new_key_goes_to_standard_output_and_its_peer_id_to_standard_error(self) -> None:
        """Print the secret on standard output and the peer id on standard error."""
        result = done("generate-node-key")
        node = Keypair.from_seed(bytes.fromhex(result.stdout), "ed25519")
        assert len(result.stdout) == 64
        assert result.stderr == f"{peer_id(node.public)}\n"

    @pytest.mark.parametrize(("flags", "size"), [([], 64), (["--bin"], 32)])
    def test_a_key_file_gives_its_peer_id_back(self, home: Path, flags: list[str], size: int) -> None:
        """Save the key in hexadecimal or raw, and print its peer id again from file and input."""
        made = done("generate-node-key", "--file", home / "key", *flags)
        assert (mode(home / "key"), (home / "key").stat().st_size) == (0o600, size)
        assert done("inspect-node-key", "--file", home / "key", *flags).stdout == made.stderr
        assert done("inspect-node-key", *flags, stdin=(home / "key").read_bytes()).stdout == made.stderr

    def test_a_key_file_is_not_overwritten(self, home: Path) -> None:
        """Refuse to overwrite a node key: the node would change its peer id."""
        done("generate-node-key", "--file", home / "key")
        assert "exists and is not overwritten" in failed(3, "generate-node-key", "--file", home / "key")

    @pytest.mark.parametrize(
        ("flags", "directory"),
        [
            (["--base-path", "base"], "base/chains/Chainflip-Berghain"),
            (["--chain=dev", "--base-path=base"], "base/chains/dev"),
            (["--chain", "dev", "--default-base-path", "--bin"], "data/cfnode/chains/dev"),
        ],
    )
    def test_a_key_is_written_where_the_node_of_a_chain_looks_for_it(
        self, home: Path, flags: list[str], directory: str
    ) -> None:
        """Save the key where the chain's node looks for it, privately, and never over another."""
        made = done("generate-node-key", *flags)
        file = Path(directory) / "network" / "secret_ed25519"
        where = file if flags[-1] != "--bin" else home / file
        notice, peer = made.stderr.splitlines()
        assert (made.stdout, notice) == ("", f'Generating key in "{where}"')
        assert (mode(home / file), mode((home / file).parent)) == (0o600, 0o700)
        assert peer_id(node_key.load(home / file).public) == peer
        before = (home / file).read_bytes()
        assert "exists and is not overwritten" in failed(3, "generate-node-key", *flags)
        assert (home / file).read_bytes() == before

    def test_a_variable_for_the_node_writes_no_key_file(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ignore the node's variables: without a flag the key is printed and not saved."""
        monkeypatch.setenv("CFNODE_BASE_PATH", str(home / "base"))
        monkeypatch.setenv("CFNODE_CHAIN", "dev")
        assert len(done("generate-node-key").stdout) == 64
        assert not (home / "base").exists()

    @pytest.mark.parametrize(
        ("one", "other"),
        [("--file=x", "--base-path=y"), ("--file=x", "--default-base-path"), ("--file=x", "--chain=dev"),
         ("--base-path=y", "--default-base-path")],
    )  # fmt: skip
    def test_a_key_has_one_place(self, home: Path, one: str, other: str) -> None:
        """Refuse two places for one key, in either order, and create nothing."""
        for flags in ((one, other), (other, one)):
            names = [flag.partition("=")[0] for flag in flags]
            line = failed(2, "generate-node-key", *flags)
            assert line == f"Error: {names[1]} cannot be used with {names[0]}: give one of them"
        assert list(home.iterdir()) == []

    def test_a_malformed_node_key_is_an_error(self) -> None:
        """Refuse a text that is no key, and say what one looks like."""
        line = failed(3, "inspect-node-key", stdin="hello")
        assert line == "Error: standard input is not a node key: it must be 32 bytes or 64 hex digits"


def test_every_scheme_can_be_chosen() -> None:
    """Offer each scheme that the keys have."""
    assert SCHEMES == keys.SCHEMES


@pytest.mark.parametrize(
    "command", ["generate", "insert", "inspect", "generate-node-key", "inspect-node-key"]
)
def test_help_teaches_by_example(command: str) -> None:
    """Print an example of each command in its help."""
    text = done(command, "--help").stdout
    assert f"cfnode key {command}" in text
    assert f"  {command}" in done("--help").stdout


class TestAsAProcess:
    """Once for real: another process, its umask, its standard input, a terminal that shows nothing typed."""

    def command(self, *arguments: str | Path) -> list[str]:
        """Return the command line of a new process."""
        return [sys.executable, "-m", "cfnode", "key", *map(str, arguments)]

    @pytest.fixture(autouse=True)
    def importable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the new process import this source tree."""
        monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def test_files_are_private_under_any_umask(self, home: Path) -> None:
        """Create the key file and its folder privately though the umask would allow all."""
        line = self.command("insert", "--dev", "-d", home / "base", "--suri", "-")
        subprocess.run(line, input=DEV_PHRASE, text=True, check=True, umask=0, capture_output=True)
        (path,) = (home / "base" / "chains" / "dev" / "keystore").iterdir()
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)

    def test_a_typed_secret_is_not_echoed(self, home: Path) -> None:
        """Read a secret from a terminal without printing it there."""
        controller, terminal = os.openpty()
        line = self.command("insert", "--keystore-path", home / "ks")
        process = subprocess.Popen(line, pass_fds=[terminal], preexec_fn=lambda: os.login_tty(terminal))
        output = self.output_until(controller, b"Secret phrase or URI: ")
        os.write(controller, b"//Alice//secret\n")
        output += self.output_until(controller, b"inserted into")
        assert process.wait() == 0
        os.close(controller)
        os.close(terminal)
        assert b"//Alice" not in output
        assert len(list((home / "ks").iterdir())) == 1

    def output_until(self, controller: int, words: bytes) -> bytes:
        """Read from the terminal up to some words."""
        output = b""
        while words not in output:
            output += os.read(controller, 1024)
        return output
