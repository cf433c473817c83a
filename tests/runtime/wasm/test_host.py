"""The host functions, without WebAssembly, against other people's implementations."""

from __future__ import annotations

import hashlib

import nacl.signing
import pytest
import sr25519
import xxhash
from coincurve import PrivateKey
from Crypto.Hash import keccak
from eth_keys import keys as eth_keys
from eth_keys.exceptions import BadSignature

from cfnode.core.scale import encode_compact
from cfnode.core.trie import EMPTY_ROOT
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.host import HOST_FUNCTIONS, HostError, HostFunctions
from tests.runtime.memory_state import MemoryState

MESSAGE = b"a message"
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def host(pairs: dict[bytes, bytes] | None = None, **children: dict[bytes, bytes]) -> HostFunctions:
    """Return host functions on a state."""
    made = HostFunctions(lambda code: b"version" if code == b"code" else None)
    made.enter(Journal(MemoryState(pairs, **children)))
    return made


def limit(number: int | None) -> bytes:
    """Encode an optional limit."""
    return b"\0" if number is None else b"\x01" + number.to_bytes(4, "little")


def vec(*items: bytes) -> bytes:
    """Encode a list of byte strings."""
    return encode_compact(len(items)) + b"".join(encode_compact(len(item)) + item for item in items)


def test_hashes() -> None:
    """Hash as the standard libraries do."""
    on = host()
    for data in (b"", b"abc", bytes(1000)):

        def twox(seeds: int, data: bytes = data) -> bytes:
            return b"".join(xxhash.xxh64_intdigest(data, seed).to_bytes(8, "little") for seed in range(seeds))

        assert on.ext_hashing_sha2_256_version_1(data) == hashlib.sha256(data).digest()
        assert on.ext_hashing_blake2_256_version_1(data) == hashlib.blake2b(data, digest_size=32).digest()
        assert on.ext_hashing_blake2_128_version_1(data) == hashlib.blake2b(data, digest_size=16).digest()
        assert on.ext_hashing_keccak_256_version_1(data) == keccak.new(digest_bits=256, data=data).digest()
        assert on.ext_hashing_keccak_512_version_1(data) == keccak.new(digest_bits=512, data=data).digest()
        assert on.ext_hashing_twox_64_version_1(data) == twox(1)
        assert on.ext_hashing_twox_128_version_1(data) == twox(2)
        assert on.ext_hashing_twox_256_version_1(data) == twox(4)


def test_ed25519_verifies_by_zip_215() -> None:
    """Verify ed25519 by ZIP 215, as the chain must, keys of small order included."""
    on = host()
    key = nacl.signing.SigningKey(b"\x01" * 32)
    public, signature = key.verify_key.encode(), key.sign(MESSAGE).signature
    assert on.ext_crypto_ed25519_verify_version_1(signature, MESSAGE, public) == 1
    assert on.ext_crypto_ed25519_verify_version_1(signature, MESSAGE + b"!", public) == 0
    identity = b"\x01" + bytes(31)  # a key of small order, which libsodium refuses
    assert on.ext_crypto_ed25519_verify_version_1(identity + bytes(32), MESSAGE, identity) == 1


def test_sr25519_signs_in_substrates_context() -> None:
    """Verify sr25519 in Substrate's context, and answer 0 for malformed keys and signatures."""
    on = host()
    public, secret = sr25519.pair_from_seed(b"\x02" * 32)
    signature = sr25519.sign((public, secret), MESSAGE)
    for verify in (on.ext_crypto_sr25519_verify_version_1, on.ext_crypto_sr25519_verify_version_2):
        assert verify(signature, MESSAGE, public) == 1
        assert verify(signature, MESSAGE + b"!", public) == 0
        assert verify(bytes(64), MESSAGE, public) == 0
        assert verify(signature, MESSAGE, b"\xff" * 32) == 0


def test_ecdsa_verifies_and_recovers_as_ethereums_library() -> None:
    """Recover a key from an ECDSA signature as Ethereum's library does, and verify by it."""
    on = host()
    secret = PrivateKey(b"\x03" * 32)
    digest = hashlib.blake2b(MESSAGE, digest_size=32).digest()
    signature = secret.sign_recoverable(digest, hasher=None)
    public = secret.public_key.format()
    theirs = eth_keys.Signature(signature).recover_public_key_from_msg_hash(digest)
    whole = b"\0" + theirs.to_bytes()
    later = signature[:64] + bytes([signature[64] + 27])
    for encoded in (signature, later):
        assert on.ext_crypto_secp256k1_ecdsa_recover_version_1(encoded, digest) == whole
        assert on.ext_crypto_secp256k1_ecdsa_recover_version_2(encoded, digest) == whole
        assert on.ext_crypto_secp256k1_ecdsa_recover_compressed_version_1(encoded, digest) == b"\0" + public
        assert on.ext_crypto_secp256k1_ecdsa_recover_compressed_version_2(encoded, digest) == b"\0" + public
    assert on.ext_crypto_ecdsa_verify_version_1(signature, MESSAGE, public) == 1
    assert on.ext_crypto_ecdsa_verify_version_2(signature, MESSAGE, public) == 1
    assert on.ext_crypto_ecdsa_verify_prehashed_version_1(signature, digest, public) == 1
    assert on.ext_crypto_ecdsa_verify_version_2(later, MESSAGE, public) == 0
    assert on.ext_crypto_ecdsa_verify_version_2(signature, MESSAGE + b"!", public) == 0
    with pytest.raises(BadSignature):
        eth_keys.Signature(vrs=(0, 0, 1)).recover_public_key_from_msg_hash(digest)
    assert on.ext_crypto_secp256k1_ecdsa_recover_version_2(bytes(65), digest) == b"\x01\x02"


def test_ecdsa_names_what_is_wrong_with_a_signature_and_version_1_reduces_it() -> None:
    """Name what is wrong with an ECDSA signature, except in version 1, which reduces a large scalar."""
    on = host()
    digest = hashlib.sha256(MESSAGE).digest()
    signature = PrivateKey(b"\x03" * 32).sign_recoverable(digest, hasher=None)
    recover = on.ext_crypto_secp256k1_ecdsa_recover_compressed_version_2
    assert recover(signature[:64] + b"\x04", digest) == b"\x01\x01"  # BadV
    assert recover(b"\xff" * 64 + b"\0", digest) == b"\x01\x00"  # BadRS
    assert recover(ORDER.to_bytes(32, "big") + signature[32:], digest) == b"\x01\x00"
    reduced = on.ext_crypto_secp256k1_ecdsa_recover_compressed_version_1
    small = (5).to_bytes(32, "big") + signature[32:]
    large = (5 + ORDER).to_bytes(32, "big") + signature[32:]
    assert recover(large, digest) == b"\x01\x00"
    assert reduced(large, digest) == reduced(small, digest) == recover(small, digest)


def test_a_batch_is_answered_at_its_end() -> None:
    """Answer for a batch of signatures at its end, and at once outside of one."""
    on = host()
    key = nacl.signing.SigningKey(b"\x01" * 32)
    public, signature = key.verify_key.encode(), key.sign(MESSAGE).signature
    for messages, held in (((MESSAGE, MESSAGE), 1), ((MESSAGE, b"other", MESSAGE), 0), ((), 1)):
        on.ext_crypto_start_batch_verify_version_1()
        assert all(
            on.ext_crypto_ed25519_batch_verify_version_1(signature, message, public) for message in messages
        )
        assert on.ext_crypto_finish_batch_verify_version_1() == held
    assert on.ext_crypto_ed25519_batch_verify_version_1(signature, b"other", public) == 0


def test_storage_is_read_and_written() -> None:
    """Read, write, append and list storage with the host interface's encodings."""
    on = host({b"a": b"one", b"b": b"two"})
    assert on.ext_storage_get_version_1(b"a") == b"\x01\x0cone"
    assert on.ext_storage_get_version_1(b"x") == b"\0"
    assert on.ext_storage_read_version_1(b"a", 2, 1) == (b"ne", b"\x01\x02\0\0\0")
    assert on.ext_storage_read_version_1(b"a", 1, 0) == (b"o", b"\x01\x03\0\0\0")
    assert on.ext_storage_read_version_1(b"a", 8, 9) == (b"", b"\x01\0\0\0\0")
    assert on.ext_storage_read_version_1(b"x", 8, 0) == (b"", b"\0")
    on.ext_storage_set_version_1(b"c", b"three")
    on.ext_storage_clear_version_1(b"a")
    assert [on.ext_storage_exists_version_1(key) for key in (b"a", b"b", b"c")] == [0, 1, 1]
    assert on.ext_storage_next_key_version_1(b"b") == b"\x01\x04c"
    assert on.ext_storage_next_key_version_1(b"c") == b"\0"
    on.ext_storage_append_version_1(b"list", b"\x07")
    on.ext_storage_append_version_1(b"list", b"\x08")
    assert on.ext_storage_get_version_1(b"list") == b"\x01\x0c\x08\x07\x08"
    assert on.ext_storage_changes_root_version_1(bytes(32)) == b"\0"


def test_transactions_nest_and_only_own_ones_end() -> None:
    """Nest transactions, and refuse to end one that this call has not begun."""
    on = host({b"a": b"0"})
    on.ext_storage_start_transaction_version_1()
    on.ext_storage_set_version_1(b"a", b"1")
    on.ext_storage_start_transaction_version_1()
    on.ext_storage_set_version_1(b"a", b"2")
    on.ext_storage_rollback_transaction_version_1()
    assert on.ext_storage_get_version_1(b"a") == b"\x01\x041"
    on.ext_storage_commit_transaction_version_1()
    for end in (
        on.ext_storage_commit_transaction_version_1,
        on.ext_storage_rollback_transaction_version_1,
    ):
        with pytest.raises(HostError, match="no open transaction"):
            end()


def test_prefixes_are_cleared_up_to_a_limit() -> None:
    """Clear a prefix up to a limit, and say whether keys remain."""
    pairs = {b"p%d" % number: b"v" for number in range(5)}
    on = host(pairs)
    assert on.ext_storage_clear_prefix_version_2(b"p", limit(2)) == b"\x01\x02\0\0\0"
    assert on.ext_storage_clear_prefix_version_2(b"p", limit(None)) == b"\0\x05\0\0\0"
    assert on.ext_storage_next_key_version_1(b"") == b"\0"
    with pytest.raises(HostError, match="not an Option<u32>"):
        on.ext_storage_clear_prefix_version_2(b"p", b"\x01\x02")
    again = host(pairs)
    again.ext_storage_clear_prefix_version_1(b"p")
    assert again.ext_storage_next_key_version_1(b"") == b"\0"


def test_roots_are_those_of_the_state_after_the_writes() -> None:
    """Compute roots after the writes in each state version, and refuse unknown versions and bad input."""
    on = host({b"a": b"v" * 40})
    on.ext_storage_set_version_1(b"b", b"w" * 40)
    after = {b"a": b"v" * 40, b"b": b"w" * 40}
    assert on.ext_storage_root_version_2(1) == MemoryState(after).root
    pairs = vec(b"a", b"v" * 40, b"b", b"w" * 40)
    pairs = encode_compact(2) + pairs[1:]
    assert on.ext_storage_root_version_1() == on.ext_storage_root_version_2(0)
    assert on.ext_trie_blake2_256_root_version_2(pairs, 1) == MemoryState(after).root
    assert on.ext_trie_blake2_256_root_version_1(pairs) == on.ext_trie_blake2_256_root_version_2(pairs, 0)
    assert on.ext_trie_blake2_256_ordered_root_version_1(vec()) == EMPTY_ROOT
    ordered = MemoryState({b"\0": b"x" * 50, b"\x04": b"y" * 50}).root
    assert on.ext_trie_blake2_256_ordered_root_version_2(vec(b"x" * 50, b"y" * 50), 1) == ordered
    for version in (2, 0xFFFFFFFF):
        with pytest.raises(HostError, match="no state version"):
            on.ext_storage_root_version_2(version)
    for wrong in (b"\x08\x04", b"\xfe\xff\xff\xff", b"\0\0"):
        with pytest.raises(HostError, match="malformed"):
            on.ext_trie_blake2_256_root_version_1(wrong)
        with pytest.raises(HostError, match="malformed"):
            on.ext_trie_blake2_256_ordered_root_version_1(wrong)


def test_child_tries_are_kept_apart() -> None:
    """Keep child tries apart from the top trie and from each other."""
    on = host({b"a": b"top"}, kid={b"a": b"child", b"b": b"more"})
    kid = b"kid"
    assert on.ext_default_child_storage_get_version_1(kid, b"a") == b"\x01\x14child"
    assert on.ext_default_child_storage_read_version_1(kid, b"a", 3, 2) == (b"ild", b"\x01\x03\0\0\0")
    assert on.ext_default_child_storage_next_key_version_1(kid, b"a") == b"\x01\x04b"
    on.ext_default_child_storage_set_version_1(kid, b"c", b"new")
    on.ext_default_child_storage_clear_version_1(kid, b"a")
    assert on.ext_default_child_storage_exists_version_1(kid, b"a") == 0
    assert on.ext_default_child_storage_exists_version_1(kid, b"c") == 1
    assert on.ext_storage_get_version_1(b"a") == b"\x01\x0ctop"
    root = MemoryState({b"b": b"more", b"c": b"new"}).root
    assert on.ext_default_child_storage_root_version_2(kid, 1) == root
    assert on.ext_default_child_storage_root_version_1(b"other") == EMPTY_ROOT
    assert on.ext_default_child_storage_clear_prefix_version_2(kid, b"b", limit(None)) == b"\0\x01\0\0\0"
    on.ext_default_child_storage_clear_prefix_version_1(kid, b"c")
    assert on.ext_default_child_storage_next_key_version_1(kid, b"") == b"\0"
    with pytest.raises(HostError, match="needs a name"):
        on.ext_default_child_storage_get_version_1(b"", b"a")


def test_child_tries_are_killed_up_to_a_limit() -> None:
    """Delete a child trie up to a limit, and say how many keys went and whether all did."""
    keys = {b"%d" % number: b"v" for number in range(4)}
    assert host(kid=keys).ext_default_child_storage_storage_kill_version_2(b"kid", limit(3)) == 0
    assert host(kid=keys).ext_default_child_storage_storage_kill_version_2(b"kid", limit(4)) == 1
    killed = host(kid=keys).ext_default_child_storage_storage_kill_version_3(b"kid", limit(3))
    assert killed == b"\x01\x03\0\0\0"
    on = host(kid=keys)
    on.ext_default_child_storage_storage_kill_version_1(b"kid")
    assert on.ext_default_child_storage_root_version_2(b"kid", 1) == EMPTY_ROOT


def test_entries_for_an_index_are_dropped_and_counted() -> None:
    """Drop entries for off-chain indices and count them, since this node has no such index."""
    on = host()
    on.ext_offchain_index_set_version_1(b"key", b"value")
    on.ext_offchain_index_clear_version_1(b"key")
    on.ext_transaction_index_index_version_1(1, 2, bytes(32))
    on.ext_transaction_index_renew_version_1(1, bytes(32))
    assert on.dropped == 4
    assert on.ext_storage_proof_size_storage_proof_size_version_1() == 2**64 - 1
    assert on.ext_wasm_tracing_enabled_version_1(b"") == on.ext_wasm_tracing_enter_span_version_1(b"") == 0
    on.ext_wasm_tracing_event_version_1(b"")


def test_the_last_messages_are_kept_and_a_panic_raises_its_own() -> None:
    """Keep the last messages for the reason of a trap, cut and bounded, and raise the panic's own text."""
    on = host()
    assert on.ext_logging_max_level_version_1() == 1
    on.ext_logging_log_version_1(1, b"runtime", b"the reason")
    on.ext_misc_print_num_version_1(7)
    on.ext_misc_print_hex_version_1(b"\xab")
    on.ext_misc_print_utf8_version_1(b"x" * 2_000 + b"\xff")
    assert list(on.messages) == ["the reason", "7", "0xab", "x" * 1_000]
    for number in range(20):
        on.ext_misc_print_num_version_1(number)
    assert len(on.messages) == 8
    with pytest.raises(HostError, match=r"^it panicked$"):
        on.ext_panic_handler_abort_on_panic_version_1(b"it panicked")
    on.enter(Journal(MemoryState()))
    assert not on.messages


def test_the_version_of_other_code() -> None:
    """Return the version of other code, or None where it has none."""
    on = host()
    assert on.ext_misc_runtime_version_version_1(b"code") == b"\x01\x1cversion"
    assert on.ext_misc_runtime_version_version_1(b"no code") == b"\0"


def test_after_a_call_nothing_of_its_state_is_left() -> None:
    """Keep no reference to a state after its call."""
    on = host({b"a": b"1"})
    on.leave()
    assert on.ext_storage_get_version_1(b"a") == b"\0"


def test_each_host_function_has_a_signature() -> None:
    """Give each of the 71 host functions its WebAssembly signature."""
    assert len(HOST_FUNCTIONS) == 71
    read = HOST_FUNCTIONS["ext_storage_read_version_1"]
    assert (read.parameter_types, read.result_types) == (["i64", "i64", "i32"], ["i64"])
    verify = HOST_FUNCTIONS["ext_crypto_ed25519_verify_version_1"]
    assert (verify.parameter_types, verify.result_types) == (["i32", "i64", "i32"], ["i32"])
