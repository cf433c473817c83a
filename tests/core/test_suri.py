"""Secret URIs: each form, each mistake, and never a word of them in an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core import bip39, suri
from cfnode.core.hashing import blake2_256
from cfnode.core.suri import DEV_PHRASE, Junction, SuriError

SEED_TEXT = "0x" + "ab" * 32


def test_no_root_means_the_development_phrase() -> None:
    """Derive from the development phrase where the URI has no root."""
    uri = suri.parse("//Alice")
    assert uri.root == DEV_PHRASE
    assert uri.junctions == (Junction(b"\x14Alice".ljust(32, b"\0"), hard=True),)
    assert uri.password is None
    assert suri.parse("").root == DEV_PHRASE


def test_a_path_mixes_hard_and_soft_junctions_in_order() -> None:
    """Read hard and soft junctions in their order, and the password behind them, slashes included."""
    uri = suri.parse(f"{SEED_TEXT}//polkadot/stash/0///correct horse/battery")
    assert [junction.hard for junction in uri.junctions] == [True, False, False]
    assert uri.password == "correct horse/battery"
    assert uri.seed() == b"\xab" * 32


@pytest.mark.parametrize(
    ("name", "chain_code"),
    [
        ("0", bytes(32)),
        ("1", b"\x01".ljust(32, b"\0")),
        ("+007", b"\x07".ljust(32, b"\0")),
        (str(2**64 - 1), (b"\xff" * 8).ljust(32, b"\0")),
        (str(2**64), (b"\x50" + str(2**64).encode()).ljust(32, b"\0")),
        ("-1", b"\x08-1".ljust(32, b"\0")),
        ("a" * 31, b"\x7c" + b"a" * 31),
        ("a" * 32, blake2_256(b"\x80" + b"a" * 32)),
        ("b" * 64, blake2_256(b"\x01\x01" + b"b" * 64)),
        ("ü", b"\x08\xc3\xbc".ljust(32, b"\0")),
    ],
)
def test_a_junction_is_a_number_or_a_string_and_hashed_when_long(name: str, chain_code: bytes) -> None:
    """Take a junction as a number or a string, and hash it when it does not fit in 32 bytes."""
    assert Junction.of(name, hard=True).chain_code == chain_code


def test_the_password_salts_the_phrase_and_one_given_apart_outranks_it() -> None:
    """Salt the phrase by the password, and prefer one that is given apart."""
    uri = suri.parse(f"{DEV_PHRASE}///one")
    assert uri.seed() == bip39.substrate_seed(DEV_PHRASE, "one")
    assert uri.seed("two") == bip39.substrate_seed(DEV_PHRASE, "two")
    assert suri.parse(DEV_PHRASE).seed("one") == uri.seed()


def test_only_a_phrase_alone_is_a_bare_phrase() -> None:
    """Recognize a phrase without junctions and password, the form that is asked for elsewhere."""
    assert suri.parse(DEV_PHRASE).is_bare_phrase
    assert not suri.parse(f"{DEV_PHRASE}//0").is_bare_phrase
    assert not suri.parse(f"{DEV_PHRASE}///pw").is_bare_phrase
    assert not suri.parse(SEED_TEXT).is_bare_phrase


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/", "not a secret URI"),
        ("//Alice/", "not a secret URI"),
        ("phrase! words", "not a secret URI"),
        ("//\udcff", "not a secret URI"),
        ("x" * 9000, "at most 8192"),
        ("0x" + "ab" * 31, "64 hex digits"),
        ("0x" + "zz" * 32, "64 hex digits"),
        (DEV_PHRASE.rsplit(" ", 1)[0], "this one has 11"),
        (DEV_PHRASE.replace("lake", "laek"), "word 4 .* not in the English"),
        (DEV_PHRASE.replace("walk", "wall"), "checksum"),
    ],
)
def test_a_mistake_is_named_without_repeating_the_secret(text: str, words: str) -> None:
    """Name a mistake without repeating the secret, in the error and in its cause."""
    with pytest.raises(SuriError, match=words) as caught:
        suri.parse(text).seed()
    assert "laek" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_parsed_uri_does_not_show_its_secret() -> None:
    """Keep the secret out of a parsed URI's repr."""
    text = repr(suri.parse(f"{DEV_PHRASE}//hidden///hush"))
    assert "bottom" not in text
    assert "hush" not in text


@given(st.text(max_size=60))
def test_no_text_makes_the_parser_raise_anything_but_its_own_error(text: str) -> None:
    """Answer any text with a seed or a short SuriError."""
    try:
        suri.parse(text).seed()
    except SuriError as error:
        assert len(str(error)) < 200


@pytest.mark.parametrize("length", sorted(bip39.ENTROPY_LENGTHS.values()))
def test_every_length_of_phrase_gives_back_its_entropy(length: int) -> None:
    """Give back the entropy of a phrase of every length."""
    entropy = bytes(range(length))
    phrase = bip39.phrase_of(entropy)
    assert bip39.entropy_of(phrase) == entropy
    assert bip39.ENTROPY_LENGTHS[len(phrase.split())] == length


def test_the_wallet_seed_is_the_one_of_bip39() -> None:
    """Derive the wallet seed that BIP 39 publishes."""
    phrase = "abandon " * 11 + "about"
    assert bip39.wallet_seed(phrase).hex() == (
        "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc1"
        "9a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4"
    )


def test_the_substrate_seed_comes_from_the_entropy() -> None:
    """First row of the vectors of the `substrate-bip39` crate (password `Substrate`)."""
    phrase = "abandon " * 11 + "about"
    assert bip39.substrate_seed(phrase, "Substrate").hex() == (
        "44e9d125f037ac1d51f0a7d3649689d422c2af8b1ec8e00d71db4d7bf6d127e3"
    )


def test_a_phrase_of_another_size_is_refused() -> None:
    """Refuse entropy of another size."""
    with pytest.raises(bip39.PhraseError, match="not 17"):
        bip39.phrase_of(bytes(17))
