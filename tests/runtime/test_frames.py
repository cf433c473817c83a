"""Messages between the node and its executor process."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.state import Changes
from cfnode.runtime import frames
from cfnode.runtime.calls import BlockSource, ProofSource

TABLES = st.dictionaries(
    st.sampled_from([b"", b"child"]),
    st.dictionaries(st.binary(max_size=4), st.none() | st.binary(max_size=300), min_size=1, max_size=20),
)


def through(message: frames.Order | frames.ExecutorAnswer, decode: object) -> object:
    """Return a message after it was encoded and decoded."""
    frame = frames.encode_frame(message)
    assert frames.frame_length(frame[: frames.LENGTH_SIZE]) == len(frame) - frames.LENGTH_SIZE
    assert callable(decode)
    return decode(frame[frames.LENGTH_SIZE :])


@pytest.mark.parametrize(
    "order",
    [
        frames.CallOrder(1, BlockSource(bytes(32)), [("Core_version", b"")]),
        frames.CallOrder(
            2, ProofSource(bytes(32), [b"node"], b"code"), [("Core_version", b"args"), ("Toy_get", b"")]
        ),
        frames.Execute(3, b"header", [b"extrinsic"]),
        frames.Build(4, bytes(32), 7, [b"item"], [(b"timstap0", b"now")], [b"x"], 1.5),
        frames.AddOverlay(bytes(32), bytes(32), 9, bytes(32)),
        frames.Rows(True, b"", {b"\0": None, b"": b"node"}),
    ],
)
def test_orders_arrive_as_they_were_sent(order: frames.Order) -> None:
    """Encode each order and decode it."""
    assert through(order, frames.decode_order) == order


@pytest.mark.parametrize(
    "answer",
    [
        frames.Ready(),
        frames.Piece(b"beginning"),
        frames.Output(1, [4], b"end"),
        frames.Changed(2, bytes(32)),
        frames.Built(3, b"header", [b"x"], [(bytes(32), "stale")], bytes(32)),
        frames.Failed(4, frames.FailureKind.MISSING_NODE, "text", b"key", b"child"),
    ],
)
def test_answers_arrive_as_they_were_sent(answer: frames.ExecutorAnswer) -> None:
    """Encode each answer and decode it."""
    assert through(answer, frames.decode_answer) == answer


@settings(max_examples=60)
@given(TABLES, TABLES, st.integers(1, 2000))
def test_changes_arrive_whole_in_slices_of_any_size(
    storage: dict[bytes, dict[bytes, bytes | None]],
    nodes: dict[bytes, dict[bytes, bytes | None]],
    size: int,
) -> None:
    """Put changes together from slices of any size, and begin anew after them."""
    changes = Changes(storage=storage, nodes=nodes, root=bytes(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "FRAME_SLICE_BYTES", size)
        parts = list(frames.changes_in_slices(changes))
    assert all(sum(len(k) + len(v or b"") for k, v in part.rows.items()) < size + 310 for part in parts)
    assembly = frames.Assembly()
    for part in parts:
        assembly.add(part)
    assert assembly.take_changes(bytes(32)) == changes
    assert assembly.take_changes(bytes(32)) == Changes(storage={}, nodes={}, root=bytes(32))


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5), st.integers(1, 20))
def test_outputs_arrive_whole_in_pieces_of_any_size(outputs: list[bytes], size: int) -> None:
    """Put outputs together from pieces of any size, none of which is too large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "FRAME_SLICE_BYTES", size)
        *pieces, last = frames.outputs_in_pieces(5, outputs)
    assembly = frames.Assembly()
    for piece in pieces:
        assert isinstance(piece, frames.Piece)
        assembly.add(piece)
    assert isinstance(last, frames.Output)
    assert (last.id, assembly.take_outputs(last)) == (5, outputs)
    assert all(len(part.data) <= size for part in (*pieces, last) if isinstance(part, frames.Piece))


def test_the_parts_of_a_failed_message_are_dropped() -> None:
    """Drop the parts of a failed message: they would be read as part of the next."""
    assembly = frames.Assembly()
    assembly.add(frames.Piece(b"half"))
    assembly.add(frames.Rows(False, b"", {b"k": b"v"}))
    assembly.clear()
    assert assembly.take_outputs(frames.Output(1, [5], b"whole")) == [b"whole"]
    assert assembly.take_changes(bytes(32)).storage == {}


def test_frames_beyond_the_limit_are_neither_sent_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to send or read a frame over the limit."""
    with pytest.raises(ValueError, match="at most"):
        frames.frame_length(b"\xff\xff\xff\xff")
    monkeypatch.setattr(frames, "MAX_FRAME", 100)
    with pytest.raises(ValueError, match="at most"):
        frames.encode_frame(frames.Piece(bytes(101)))


@given(st.binary(max_size=40))
def test_malformed_messages_are_refused_by_both_sides(data: bytes) -> None:
    """Refuse malformed messages on both sides by the decoder's own error."""
    for decode in (frames.decode_order, frames.decode_answer):
        try:
            decode(data)
        except msgspec.MsgspecError:
            continue
