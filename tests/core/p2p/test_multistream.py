"""Two sides agree on a protocol; hostile lines end in a RemoteError."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multistream import Dialer, MultistreamListener, line
from cfnode.core.p2p.protobuf import framed

GENESIS = "8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"
HEADER_LINE = bytes.fromhex("132f6d756c746973747265616d2f312e302e300a")


def test_lines_have_the_bytes_of_the_specification() -> None:
    """Write protocol lines in the bytes of the specification."""
    assert line("/multistream/1.0.0") == HEADER_LINE
    assert line("/noise") == bytes.fromhex("072f6e6f6973650a")
    assert line("/yamux/1.0.0") == bytes.fromhex("0d2f79616d75782f312e302e300a")
    assert line("na") == bytes.fromhex("036e610a")
    assert line(f"/{GENESIS}/block-announces/1")[0] == 0x54
    assert line(f"/{GENESIS}/sync/warp")[0] == 0x4C


def talk(dialer: Dialer, listener: MultistreamListener, size: int) -> None:
    """Carry what they say to and fro in pieces of `size` bytes until both are silent."""
    while True:
        there, back = dialer.bytes_to_send(), listener.bytes_to_send()
        if not there and not back:
            return
        for start in range(0, len(there), size):
            listener.receive_data(there[start : start + size])
        for start in range(0, len(back), size):
            dialer.receive_data(back[start : start + size])


@given(
    st.integers(1, 60),
    st.permutations(["/a", "/b/1", "/c/2"]),
    st.sets(st.sampled_from(["/a", "/b/1", "/c/2"])),
)
def test_the_first_name_that_both_know_is_chosen(size: int, names: list[str], known: set[str]) -> None:
    """Agree on the dialer's first name that the listener knows, however the bytes are cut."""
    dialer, listener = Dialer(names), MultistreamListener(known)
    if not known:
        with pytest.raises(RemoteError, match="refused"):
            talk(dialer, listener, size)
        return
    talk(dialer, listener, size)
    assert dialer.chosen == listener.chosen == next(name for name in names if name in known)


def test_a_listener_is_silent_until_the_dialer_has_spoken() -> None:
    """Send nothing as a listener before the dialer has spoken."""
    listener = MultistreamListener({"/echo"})
    assert listener.bytes_to_send() == b""
    listener.receive_data(HEADER_LINE)
    assert listener.bytes_to_send() == HEADER_LINE


def test_data_that_follows_the_choice_is_kept_for_the_protocol() -> None:
    """Keep the bytes behind the chosen line for the protocol: a dialer may send them at once."""
    listener = MultistreamListener({"/echo"})
    listener.receive_data(Dialer(["/echo"]).bytes_to_send() + b"hello")
    assert listener.chosen == "/echo"
    assert listener.rest == b"hello"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (line("/multistream/2.0.0"), "the header is"),
        (HEADER_LINE + framed(b"\xff\xfe\n"), "not UTF-8"),
        (HEADER_LINE + framed(b"/noise"), "without a newline"),
        (HEADER_LINE + framed(b"x" * 1025), "1024 are allowed"),
        (HEADER_LINE + line("/unknown") * 20, "20 proposals"),
    ],
)
def test_a_hostile_line_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    """Refuse a hostile line and say why."""
    with pytest.raises(RemoteError, match=reason):
        MultistreamListener({"/noise"}).receive_data(data)


def test_an_answer_to_another_question_is_refused() -> None:
    """Refuse an answer that names another protocol than was proposed."""
    with pytest.raises(RemoteError, match="the answer to"):
        Dialer(["/noise"]).receive_data(HEADER_LINE + line("/plaintext"))


@given(st.binary(max_size=300))
def test_no_bytes_make_either_side_fail_otherwise_than_by_a_remote_error(data: bytes) -> None:
    """Answer any bytes on either side with nothing worse than a RemoteError."""
    for side in (MultistreamListener({"/noise"}), Dialer(["/noise"])):
        with contextlib.suppress(RemoteError):
            side.receive_data(HEADER_LINE + data)
