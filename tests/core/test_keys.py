"""Key pairs of three schemes against well-known keys and against libraries that others wrote."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
from hashlib import sha3_256
from pathlib import Path

import pytest
import sr25519
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.signing import SigningKey

from cfnode.core import ed25519, ss58
from cfnode.core.ethereum_key import EthereumKey
from cfnode.core.keys import SCHEMES, Keypair, Scheme, account_id, verify
from cfnode.core.merlin import Transcript, _keccak_f
from cfnode.core.peer_id import PeerIdError, peer_id, public_of
from cfnode.core.suri import DEV_PHRASE, SuriError
from tests.core import zip215
from tests.lengths import examples

CHAINFLIP_PHRASE = (
    "essay awesome afraid movie wish save genius eyebrow tonight milk agree pretty alcohol three whale"
)


@pytest.mark.parametrize(
    ("uri", "scheme", "public"),
    [
        # The development accounts that every Substrate chain knows.
        (DEV_PHRASE, "sr25519", "46ebddef8cd9bb167dc30878d7113b7e168e6f0646beffd77d69d39bad76b47a"),
        ("//Alice", "sr25519", "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"),
        ("//Bob", "sr25519", "8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48"),
        ("//Alice//stash", "sr25519", "be5ddb1579b72e84524fc29e78609e3caf42e85aa118ebfe0b0ad404b5bdd25f"),
        ("//Alice", "ed25519", "88dc3417d5058ec4b4503e0c12ea1a0a89be200fe98922423d4334014fa6b0ee"),
        ("//Bob", "ed25519", "d17c2d7823ebf260fd138f2d7e27d114c0145d968b5ff5006125f2414fadae69"),
        ("//Alice", "ecdsa", "020a1091341fe5664bfa1782d5e04779689068c916b04cb365ec3153755684d9a1"),
        # The soft junction of polkadot-js's own tests.
        (f"{DEV_PHRASE}/foo", "sr25519", "40b9675df90efa6069ff623b0fdfcf706cd47ca7452a5056c7ad58194d23440a"),
    ],
)
def test_well_known_uris_give_the_well_known_keys(uri: str, scheme: Scheme, public: str) -> None:
    """Derive the well-known development keys from their URIs, in each scheme."""
    assert Keypair.from_suri(uri, scheme).public.hex() == public


def test_the_seed_behind_hard_junctions_is_known() -> None:
    """Substrate's `subkey inspect //Alice` prints this seed."""
    alice = Keypair.from_suri("//Alice")
    assert alice.seed is not None
    assert alice.seed.hex() == "e5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a"
    assert Keypair.from_seed(alice.seed) == alice


def test_a_soft_junction_has_no_seed() -> None:
    """Have no seed behind a soft junction: it is derived from the key, not from a seed."""
    assert Keypair.from_suri("//Alice/0").seed is None
    assert Keypair.from_suri("//Alice/0//1").seed is None


def test_chainflips_phrase_gives_its_signing_and_ethereum_keys() -> None:
    """Derive Chainflip's signing key and Ethereum key from one phrase, and keep the secret out of repr."""
    pair, ethereum = Keypair.from_suri(CHAINFLIP_PHRASE), EthereumKey.from_phrase(CHAINFLIP_PHRASE)
    assert pair.seed is not None
    assert pair.seed.hex() == "afabf42a9a99910cdd64795ef05ed71acfa2238f5682d26ae62028df3cc59727"
    assert ss58.encode(pair.account) == "cFMziohdyxVZy4DGXw2zkapubUoTaqjvAM7QGcpyLo9Cba7HA"
    assert ethereum.secret.hex() == "5c25d9ae0363ecd8dd18da1608ead2a4dc1ec658d6ed412d47e10d486ff0d1db"
    assert ethereum.address.hex() == "e01156ca92d904cc67ff47517bf3a3500b418280"
    assert ethereum.secret.hex() not in repr(ethereum)


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
@settings(max_examples=examples(20))
def test_a_hard_sr25519_child_is_the_one_of_the_rust_library(seed: bytes, chain_code: bytes) -> None:
    """Derive a hard sr25519 child as the Rust library does."""
    public, secret = sr25519.pair_from_seed(seed)
    _, expected, _ = sr25519.hard_derive_keypair((chain_code, public, secret), b"")
    assert Keypair.from_seed(seed).hard(chain_code).public == bytes(expected)


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
@settings(max_examples=examples(20))
def test_a_soft_child_can_be_found_from_the_public_key_alone(seed: bytes, chain_code: bytes) -> None:
    """Derive a soft child's public key from the parent's public key alone, and sign by the child."""
    pair = Keypair.from_seed(seed)
    _, expected = sr25519.derive_pubkey((chain_code, pair.public), b"")
    child = pair.soft(chain_code)
    assert child.public == bytes(expected)
    assert child.verify(b"message", child.sign(b"message"))


@pytest.mark.parametrize("scheme", SCHEMES)
@given(st.binary(max_size=300))
@settings(max_examples=examples(20))
def test_a_signature_holds_for_its_message_and_key_only(scheme: Scheme, message: bytes) -> None:
    """Verify a signature for its message and key, and for no other."""
    alice, bob = Keypair.from_suri("//Alice", scheme), Keypair.from_suri("//Bob", scheme)
    signature = alice.sign(message)
    assert alice.verify(message, signature)
    assert not bob.verify(message, signature)
    assert not alice.verify(message + b"\0", signature)
    assert not alice.verify(message, signature[:-1] + bytes([signature[-1] ^ 1]))


@pytest.mark.parametrize("scheme", SCHEMES)
@given(public=st.binary(max_size=40), signature=st.one_of(st.binary(max_size=70), st.just(b"\xff" * 65)))
@settings(max_examples=examples(30))
def test_malformed_keys_and_signatures_are_just_false(
    scheme: Scheme, public: bytes, signature: bytes
) -> None:
    """Answer malformed keys and signatures with False: a peer's bytes must not raise."""
    pair = Keypair.from_suri("//Alice", scheme)
    assert not verify(scheme, public, b"message", pair.sign(b"message"))
    assert not verify(scheme, pair.public, b"message", signature)


@pytest.mark.parametrize("scheme", ["ed25519", "ecdsa"])
def test_a_soft_junction_is_refused_where_the_scheme_has_none(scheme: Scheme) -> None:
    """Refuse a soft junction in a scheme that has none."""
    with pytest.raises(SuriError, match="no soft junctions"):
        Keypair.from_suri("//Alice/soft", scheme)


def test_a_seed_that_is_not_a_scalar_of_the_curve_is_refused() -> None:
    """Refuse a seed that is not a scalar of the curve, or not 32 bytes."""
    with pytest.raises(SuriError, match="not a secp256k1 secret"):
        Keypair.from_seed(bytes(32), "ecdsa")
    with pytest.raises(SuriError, match="not 31"):
        Keypair.from_seed(bytes(31))


def test_nothing_that_shows_a_pair_shows_its_secret() -> None:
    """Keep the secret out of every text of a pair, and out of pickles and copies."""
    pair = Keypair.from_suri("//Alice")
    assert pair.seed is not None
    for text in (repr(pair), str(pair), f"{pair}", repr([pair]), repr({"pair": pair})):
        assert pair.seed.hex() not in text
        assert pair.public.hex() in text
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="neither pickled nor copied"):
            leak(pair)


def test_pairs_are_equal_by_scheme_and_public_key() -> None:
    """Compare and hash pairs by scheme and public key."""
    assert Keypair.from_suri("//Alice") == Keypair.from_suri(f"{DEV_PHRASE}//Alice")
    assert len({Keypair.from_suri("//Alice"), Keypair.from_suri("//Alice")}) == 1
    assert Keypair.from_suri("//Alice") != Keypair.from_suri("//Alice", "ed25519")


def test_the_account_of_an_ecdsa_key_is_its_hash() -> None:
    """`//Alice` with ecdsa: 5C7C2Z5sWbytvHpuLTvzKunnnRwQxft1jiqrLD5rhucQ5S9X."""
    pair = Keypair.from_suri("//Alice", "ecdsa")
    assert len(pair.public) == 33
    assert ss58.encode(pair.account, 42) == "5C7C2Z5sWbytvHpuLTvzKunnnRwQxft1jiqrLD5rhucQ5S9X"
    assert account_id(bytes(32)) == bytes(32)


def test_merlin_agrees_with_its_published_vector() -> None:
    """Compute the challenge that Merlin publishes."""
    transcript = Transcript(b"test protocol")
    transcript.append(b"some label", b"some data")
    assert transcript.challenge(b"challenge", 32).hex() == (
        "d5a21972d0d5fe320c0d263fac7fffb8145aa640af6e9bca177c03c7efcf0615"
    )


def test_the_permutation_is_the_one_of_sha3() -> None:
    """Permute the state as SHA-3 does, compared with hashlib's."""
    block = bytearray(200)
    block[0], block[135] = 0x06, 0x80
    assert _keccak_f(bytes(block))[:32] == sha3_256(b"").digest()


SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
]
"""Points of small order, some written non-canonically (ZIP-215, "Test vectors")."""


@pytest.mark.parametrize("public", SMALL_ORDER)
def test_zip215_accepts_small_orders_that_libsodium_refuses(public: str) -> None:
    """Accept points of small order by ZIP 215, which libsodium refuses."""
    for commitment in SMALL_ORDER:
        assert ed25519.verify(bytes.fromhex(public), b"Zcash", bytes.fromhex(commitment) + bytes(32))


def test_zip215_refuses_a_scalar_that_is_not_reduced() -> None:
    """Refuse a scalar that is not reduced: one signature would have two forms."""
    key = SigningKey(bytes(32))
    signature = key.sign(b"message").signature
    unreduced = (int.from_bytes(signature[32:], "little") + zip215.ORDER).to_bytes(32, "little")
    assert ed25519.verify(bytes(key.verify_key), b"message", signature)
    assert not ed25519.verify(bytes(key.verify_key), b"message", signature[:32] + unreduced)


@given(st.binary(max_size=60), st.integers(0, 127), st.integers(0, 255))
@settings(max_examples=examples(60), deadline=None)
def test_every_signature_is_judged_by_the_equation_of_zip215(message: bytes, at: int, mask: int) -> None:
    """True ones, and those of which one byte of key, commitment, scalar or message is another."""
    key = SigningKey(b"\x07" * 32)
    whole = bytearray(bytes(key.verify_key) + key.sign(message).signature + message)
    whole[at % len(whole)] ^= mask
    public, signature, said = bytes(whole[:32]), bytes(whole[32:96]), bytes(whole[96:])
    assert ed25519.verify(public, said, signature) is zip215.verify(public, said, signature)


@pytest.mark.parametrize("public", SMALL_ORDER[:3])
def test_the_oracle_accepts_small_orders_too(public: str) -> None:
    """Check that the oracle of these tests accepts points of small order, too."""
    for commitment in SMALL_ORDER:
        assert zip215.verify(bytes.fromhex(public), b"Zcash", bytes.fromhex(commitment) + bytes(32))


@pytest.mark.parametrize(("public", "signature"), [(31, 64), (32, 63), (0, 0), (33, 65)])
def test_a_key_or_signature_of_another_length_is_invalid(public: int, signature: int) -> None:
    """Refuse a key or signature of another length."""
    assert not ed25519.verify(bytes(public), b"message", bytes(signature))


def test_a_peer_id_holds_its_key() -> None:
    """The first boot node of the main net."""
    public = public_of("12D3KooWPWqdeeWGjycVLiy6drp2P9ghozqbe9o57Fjvj39QFHaF")
    assert public.hex().startswith("cb863746")
    assert peer_id(public) == "12D3KooWPWqdeeWGjycVLiy6drp2P9ghozqbe9o57Fjvj39QFHaF"


@pytest.mark.parametrize("text", ["", "12D3KooW", "1" * 52, "0" * 52, "Q" * 52])
def test_text_that_is_not_a_peer_id_is_refused(text: str) -> None:
    """Refuse text that is not a peer id."""
    with pytest.raises(PeerIdError):
        public_of(text)


def test_a_key_of_another_size_has_no_peer_id() -> None:
    """Refuse a peer id for a key of another size."""
    with pytest.raises(PeerIdError, match="not 33"):
        peer_id(bytes(33))


URIS = [
    DEV_PHRASE,
    f"{DEV_PHRASE}//polkadot//0",
    f"{CHAINFLIP_PHRASE}//1//a very long junction that does not fit into thirty-two bytes",
    f"{CHAINFLIP_PHRASE}/soft/2//hard",
    "//Alice",
]
DERIVER = """
import json, sys
from substrateinterface import Keypair, KeypairType
schemes = {"sr25519": KeypairType.SR25519, "ed25519": KeypairType.ED25519}
asked = json.load(sys.stdin)
made = [Keypair.create_from_uri(uri, crypto_type=schemes[scheme], ss58_format=2112) for uri, scheme in asked]
print(json.dumps([[pair.public_key.hex(), pair.ss58_address, pair.sign(b"x").hex()] for pair in made]))
"""


def test_substrate_interface_derives_the_same_keys(substrate_interface: Path) -> None:
    """py-substrate-interface, in an environment of its own."""
    asked: list[tuple[str, Scheme]] = [(uri, "sr25519") for uri in URIS]
    asked += [(uri, "ed25519") for uri in (DEV_PHRASE, CHAINFLIP_PHRASE)]
    command = [substrate_interface, "-c", DERIVER]
    result = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    for (uri, scheme), (public, address, signature) in zip(asked, json.loads(result.stdout), strict=True):
        pair = Keypair.from_suri(uri, scheme)
        assert (pair.public.hex(), ss58.encode(pair.account)) == (public, address)
        assert pair.verify(b"x", bytes.fromhex(signature))


@given(st.binary(max_size=200), st.sampled_from(["//Alice", "//Bob//stash", "//Eve/soft"]))
@settings(max_examples=examples(20))
def test_a_repeatable_pair_signs_a_message_with_the_same_bytes(message: bytes, uri: str) -> None:
    """Sign a message with the same bytes each time, and another message with another one-time scalar."""
    pair = Keypair.from_suri(uri)
    again = pair.repeatable()
    signature = again.sign(message)
    assert signature == pair.repeatable().sign(message) != pair.sign(message)
    assert pair.verify(message, signature) and again == pair
    assert again.sign(message + b"1")[:32] != signature[:32], "a one-time scalar is used for one message"
    assert Keypair.from_suri("//Alice", "ed25519").repeatable().sign(message) == Keypair.from_suri(
        "//Alice", "ed25519"
    ).sign(message)
