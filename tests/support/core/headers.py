"""Headers of the vectors, and any header."""

from __future__ import annotations

from hypothesis import strategies as st

from cfnode.core.header import DigestItem, DigestKind, Header
from tests.conftest import shared


def read(name: str) -> bytes:
    """Return a header of the vectors."""
    path = shared("vectors", "smoldot", f"header-{name}")
    if name.endswith(".hex"):
        return bytes.fromhex(path.read_text())
    text = path.read_bytes()
    return bytes.fromhex(text.decode().strip()) if text[:1] in b"0123456789abcdef" else text


ITEMS = st.one_of(
    st.builds(DigestItem, st.just(DigestKind.OTHER), st.none(), st.binary(max_size=80)),
    st.builds(
        DigestItem,
        st.sampled_from([DigestKind.CONSENSUS, DigestKind.SEAL, DigestKind.PRE_RUNTIME]),
        st.binary(min_size=4, max_size=4),
        st.binary(max_size=80),
    ),
    st.just(DigestItem(DigestKind.RUNTIME_ENVIRONMENT_UPDATED)),
)
HASHES = st.binary(min_size=32, max_size=32)
HEADERS = st.builds(
    Header, HASHES, st.integers(0, 2**32 - 1), HASHES, HASHES, st.lists(ITEMS, max_size=5).map(tuple)
)
