"""The origin of a call: a signed account, or an authority such as root or governance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .errors import bad_origin


class Authority(Enum):
    """Origins that no account has."""

    NONE = auto()  # a bare extrinsic: an inherent, or one that validate_unsigned accepts
    ROOT = auto()
    GOVERNANCE = auto()
    WITNESS = auto()  # the authorities have witnessed it on another chain
    HISTORICAL_WITNESS = auto()
    THRESHOLD_SIGNATURE = auto()  # the authorities have signed a requested payload


@dataclass(frozen=True, slots=True)
class Origin:
    """An account, or an authority. The `ensure_…` methods refuse all others with BadOrigin."""

    account: bytes | None = None
    authority: Authority | None = None

    @classmethod
    def signed(cls, account: bytes) -> Origin:
        """Return the origin of calls that this account (32 bytes) has signed."""
        return cls(account=account)

    def ensure_signed(self) -> bytes:
        """Return the account (32 bytes) that signed."""
        if self.account is None:
            raise bad_origin()
        return self.account

    def ensure_none(self) -> None:
        """Require the origin of a bare extrinsic, which has no account."""
        self._ensure(Authority.NONE)

    def ensure_root(self) -> None:
        """Require the origin of the chain itself."""
        self._ensure(Authority.ROOT)

    def ensure_governance(self) -> None:
        """Require the origin of governance; root may do what governance may."""
        self._ensure(Authority.GOVERNANCE, Authority.ROOT)

    def ensure_witnessed(self) -> None:
        """Require the authorities' witnesses, of this epoch; root may do what witnesses may."""
        self._ensure(Authority.WITNESS, Authority.ROOT)

    def ensure_threshold_signed(self) -> None:
        """Require a signature of the authorities' aggregate key."""
        self._ensure(Authority.THRESHOLD_SIGNATURE)

    def _ensure(self, *allowed: Authority) -> None:
        if self.authority not in allowed:
            raise bad_origin()


NONE = Origin(authority=Authority.NONE)
ROOT = Origin(authority=Authority.ROOT)
GOVERNANCE = Origin(authority=Authority.GOVERNANCE)
WITNESS = Origin(authority=Authority.WITNESS)
THRESHOLD_SIGNATURE = Origin(authority=Authority.THRESHOLD_SIGNATURE)
