"""Keys that share much, end inside each other and differ late; values around the 32-byte limits."""

from __future__ import annotations

from hypothesis import strategies as st

KEYS = st.one_of(
    st.binary(max_size=3),
    st.lists(st.sampled_from([b"\x00", b"\x01", b"\x10", b"\x11", b"\xff"]), max_size=6).map(b"".join),
    st.integers(0, 40).map(lambda n: b"\xab" * n),
)
VALUES = st.one_of(
    st.binary(max_size=3),
    st.integers(29, 36).flatmap(lambda n: st.binary(min_size=n, max_size=n)),
    st.just(b"\x07" * 200),
)
VERSIONS = st.sampled_from([0, 1])
PAIRS = st.dictionaries(KEYS, VALUES, max_size=30)
