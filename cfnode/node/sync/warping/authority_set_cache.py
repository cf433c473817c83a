"""File of the authority set that warp proofs have led to, so that a restart need not prove it again.

The last proven header and the set after it are saved in a file next to the database (which light-RPC mode
deletes). The file is keyed by the genesis hash and by the block where the proofs began (genesis, or a
checkpoint), and ends with a hash: a truncated file, and one of another chain or of another beginning, is
ignored. The file is trusted as our own keys are. A peer still has to continue from its block; when none does,
or two prove another block (`cross_check.py`), it is deleted.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from cfnode.core.grandpa import AuthoritySet, encode_authorities, read_authorities
from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact
from cfnode.store import atomic_file

__all__ = ["AUTHORITY_SETS_FILE", "AuthoritySetCache", "TrustedSet"]

AUTHORITY_SETS_FILE = "authority-sets"
_MAGIC = b"cfnode sets 2\n"
MAX_AUTHORITY_SETS_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class TrustedSet:
    """A final block, and the authorities that finalize the next one.

    `votes`: its encoded justification, if known.
    """

    header: Header
    authorities: AuthoritySet
    votes: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def number(self) -> int:
        """The number of the final block."""
        return self.header.number


class AuthoritySetCache:
    """The file of one chain. `root`: the block where its proofs begin; None for genesis.

    Its methods block: call them in a thread.
    """

    def __init__(self, path: Path, genesis_hash: bytes, root: bytes | None = None) -> None:
        self.path = path
        self._head = _MAGIC + genesis_hash + (root or genesis_hash)

    def load(self) -> TrustedSet | None:
        """Return the set that was saved last; None without a valid file."""
        try:
            if self.path.stat().st_size > MAX_AUTHORITY_SETS_BYTES:
                return None
            return self._decode(self.path.read_bytes())
        except (OSError, ValueError):
            return None

    def save(self, trusted: TrustedSet) -> None:
        """Save a set in place of the present one. Raise StoreError."""
        atomic_file.replace(self.path, self._encode(trusted))

    def forget(self) -> None:
        """Delete the file."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _encode(self, trusted: TrustedSet) -> bytes:
        header = trusted.header.encode()
        sets = trusted.authorities.set_id.to_bytes(8, "little") + encode_authorities(
            trusted.authorities.authorities
        )
        content = self._head + encode_compact(len(header)) + header + sets
        return content + blake2_256(content)

    def _decode(self, data: bytes) -> TrustedSet:
        content, seal = data[:-32], data[-32:]
        if blake2_256(content) != seal or not content.startswith(self._head):
            raise ScaleError("the file of authority sets is damaged, or another chain's")
        cursor = ByteCursor(content, len(self._head))
        header = Header.decode(cursor.bytes())
        set_id, authorities = cursor.u64(), read_authorities(cursor)
        cursor.finish()
        return TrustedSet(header, AuthoritySet(set_id, authorities))
