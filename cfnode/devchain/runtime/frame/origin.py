"""On whose behalf is a call made?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .errors import bad_origin


class Authority(Enum):
    """Origins that no account has."""

    NONE = auto()  # a bare extrinsic: an inherent, or one that validate_unsigned has let in
    ROOT = auto()
    GOVERNANCE = auto()
    WITNESS = auto()  # the authorities have seen it on another chain
    HISTORICAL_WITNESS = auto()
    THRESHOLD_SIGNATURE = auto()  # the authorities have signed what was asked of them


@dataclass(frozen=True, slots=True)
class Origin:
    """An account, or an authority. The `ensure_…` methods refuse all others with BadOrigin."""

    account: bytes | None = None
    authority: Authority | None = None

    @classmethod
    def signed(cls, account: bytes) -> Origin:
        """The origin of what this account (32 bytes) has signed."""
        return cls(account=account)

    def ensure_signed(self) -> bytes:
        """The account that signed."""
        if self.account is None:
            raise bad_origin()
        return self.account

    def ensure_none(self) -> None:
        """Require the origin of a bare extrinsic, which has no account."""
        self._ensure(Authority.NONE)

    def ensure_root(self) -> None:
        """The chain itself."""
        self._ensure(Authority.ROOT)

    def ensure_governance(self) -> None:
        """Governance; root may do what governance may."""
        self._ensure(Authority.GOVERNANCE, Authority.ROOT)

    def ensure_witnessed(self) -> None:
        """The authorities' witnesses, of this epoch."""
        self._ensure(Authority.WITNESS, Authority.ROOT)

    def ensure_threshold_signed(self) -> None:
        """A signature of the authorities' aggregate key has come."""
        self._ensure(Authority.THRESHOLD_SIGNATURE)

    def _ensure(self, *allowed: Authority) -> None:
        if self.authority not in allowed:
            raise bad_origin()


NONE = Origin(authority=Authority.NONE)
ROOT = Origin(authority=Authority.ROOT)
GOVERNANCE = Origin(authority=Authority.GOVERNANCE)
WITNESS = Origin(authority=Authority.WITNESS)
THRESHOLD_SIGNATURE = Origin(authority=Authority.THRESHOLD_SIGNATURE)
