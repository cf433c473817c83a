"""Two sides prove who they are and talk in secret; everything else is a RemoteError."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import LocalError, RemoteError
from cfnode.core.p2p.noise import MAX_PLAINTEXT, NoiseHandshake, SecureChannel
from cfnode.core.peer_id import peer_id

ALICE = Keypair.from_seed(bytes([1]) * 32, "ed25519")
BOB = Keypair.from_seed(bytes([2]) * 32, "ed25519")
CAROL = Keypair.from_seed(bytes([3]) * 32, "ed25519")


def sides(expected: bytes | None = None) -> tuple[NoiseHandshake, NoiseHandshake]:
    """Return a dialer, with the key it expects, and a listener; their ephemeral keys are fixed."""
    dialer = NoiseHandshake(
        ALICE, dialer=True, static=b"\x11" * 32, ephemeral=b"\x12" * 32, expected=expected
    )
    return dialer, NoiseHandshake(BOB, dialer=False, static=b"\x21" * 32, ephemeral=b"\x22" * 32)


def shake(
    dialer: NoiseHandshake, listener: NoiseHandshake, size: int = 1000
) -> tuple[SecureChannel, SecureChannel]:
    """Carry the handshake's bytes in pieces and return both sides' secure channels."""
    while not (dialer.finished and listener.finished):
        for source, sink in ((dialer, listener), (listener, dialer)):
            data = source.bytes_to_send()
            for start in range(0, len(data), size):
                sink.receive_data(data[start : start + size])
    return dialer.channel(), listener.channel()


@settings(max_examples=20)
@given(st.integers(1, 300))
def test_both_sides_prove_their_node_keys_however_the_bytes_are_cut(size: int) -> None:
    """Prove both node keys to the other side, however the bytes are cut."""
    dialer, listener = sides(expected=BOB.public)
    shake(dialer, listener, size)
    assert dialer.remote == BOB.public
    assert listener.remote == ALICE.public


@settings(max_examples=20)
@given(st.lists(st.binary(max_size=500), max_size=8), st.integers(1, 400))
def test_what_is_sealed_is_opened_in_order(messages: list[bytes], size: int) -> None:
    """Open sealed messages in their order in both directions, however the stream is cut."""
    here, there = shake(*sides())
    for source, sink in ((here, there), (there, here)):
        stream = b"".join(source.seal(message) for message in messages)
        got: list[bytes] = []
        for start in range(0, len(stream), size):
            got += sink.receive_data(stream[start : start + size])
        assert got == messages


def test_a_message_is_not_opened_before_it_is_asked_for() -> None:
    """Decrypt a message only when it is asked for: a flood must not cost work ahead of its turn."""
    here, there = shake(*sides())
    wire = b"".join(here.seal(bytes([number])) for number in range(3))
    messages = there.messages(wire[:-1])
    assert next(messages) == b"\0"
    assert there._receiving._nonce == 1
    assert list(messages) == [b"\1"]
    assert there.receive_data(wire[-1:]) == [b"\2"]


def test_a_message_has_a_largest_size() -> None:
    """Seal a message of the largest size, and refuse one byte more."""
    here, there = shake(*sides())
    assert there.receive_data(here.seal(bytes(MAX_PLAINTEXT))) == [bytes(MAX_PLAINTEXT)]
    with pytest.raises(LocalError, match="are allowed"):
        here.seal(bytes(MAX_PLAINTEXT + 1))


def test_another_node_than_the_address_names_is_refused_by_both_names() -> None:
    """Refuse a node whose key is not that of the dialed address, and name both ids."""
    dialer, listener = sides(expected=CAROL.public)
    with pytest.raises(RemoteError, match=f"id is {peer_id(BOB.public)}.*{peer_id(CAROL.public)}"):
        shake(dialer, listener)


def test_every_altered_byte_of_the_handshake_is_noticed() -> None:
    """Refuse a handshake in which any byte was altered on the way."""
    _, listener = sides()
    hello = sides()[0].bytes_to_send()
    listener.receive_data(hello)
    answer = listener.bytes_to_send()
    for index in range(2, len(answer)):
        dialer, _ = sides()
        dialer.bytes_to_send()
        altered = bytearray(answer)
        altered[index] ^= 0x40
        with pytest.raises(RemoteError):
            dialer.receive_data(bytes(altered))


def test_altered_replayed_and_reordered_messages_are_refused() -> None:
    """Refuse a message that was altered, replayed or taken out of order."""
    here, there = shake(*sides())
    first, second = here.seal(b"first"), here.seal(b"second")
    with pytest.raises(RemoteError, match="forged, altered or cut"):
        shake(*sides())[1].receive_data(second)
    assert there.receive_data(first) == [b"first"]
    with pytest.raises(RemoteError):
        there.receive_data(first)


def test_a_key_of_low_order_is_refused() -> None:
    """Refuse a key of low order, which would make the shared secret known to all."""
    _, listener = sides()
    with pytest.raises(RemoteError, match="low order"):
        listener.receive_data((32).to_bytes(2, "big") + bytes(32))


def test_a_connection_ends_before_a_nonce_comes_again() -> None:
    """End the connection before a nonce repeats: a repeated one breaks the cipher."""
    here, _ = shake(*sides())
    here._sending._nonce = (1 << 64) - 2
    here.seal(b"the last one")
    with pytest.raises(RemoteError, match="all its nonces"):
        here.seal(b"one too many")


@settings(max_examples=60)
@given(st.binary(max_size=400))
def test_no_bytes_make_a_handshake_fail_otherwise_than_by_a_remote_error(data: bytes) -> None:
    """Answer any bytes in a handshake with nothing worse than a RemoteError."""
    for side in sides():
        with contextlib.suppress(RemoteError):
            side.receive_data(len(data).to_bytes(2, "big") + data)
            side.receive_data(data)
