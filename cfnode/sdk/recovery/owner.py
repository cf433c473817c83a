"""Owners of failed calls, as a text names them.

An owner is an address (of the receiver or of the deposit), a deposit channel's id, a swap's id, a transaction
(of the deposit, or of the batch with the failed transfer) or a State Chain account. Only the format is
checked here: a malformed text is refused before any exchange.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import base58

from cfnode.core.addresses import AddressError
from cfnode.core.ss58 import Ss58Error, decode
from cfnode.sdk.calls.statuses import channel_of
from cfnode.sdk.errors import ValidationError
from cfnode.swaps.addresses import address_text, bitcoin_text, read_address
from cfnode.swaps.identity import ChannelId

__all__ = [
    "Account",
    "Address",
    "Batch",
    "Channel",
    "Owner",
    "Swap",
    "Transaction",
    "evm_address",
    "read_owner",
]

MAX_OWNER = 200
"""Maximum length of an owner: more than any address, id or transaction has."""
_EVM = re.compile(r"0[xX][0-9a-fA-F]{40}\Z")
_HASH = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})\Z")
_EXTRINSIC = re.compile(r"[0-9]{1,10}-[0-9]{1,10}\Z")
_U64_DIGITS = 20
_TRON_PREFIX = 0x41
_FORMS = (
    "an address, a depositChannelId (6739624-Bitcoin-34009), a swap's id, a transaction or an account (cF…)"
)


@dataclass(frozen=True, slots=True)
class Address:
    """An address in the spelling of the chain's events, and its bytes in the format of the events.

    `form` is `evm`, `tron`, `bitcoin` or `raw`.
    """

    text: str
    raw: bytes
    form: str = "raw"

    def may_be_paid_on(self, chain: str) -> bool:
        """Return whether failed calls of the chain can pay an address of this form."""
        return self.form == ("tron" if chain == "Tron" else "evm")


@dataclass(frozen=True, slots=True)
class Channel:
    """A deposit channel."""

    text: str
    id: ChannelId


@dataclass(frozen=True, slots=True)
class Swap:
    """A swap request by its number."""

    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction of a foreign chain; `hash` is None if events do not contain such an id."""

    text: str
    hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """A State Chain account, 32 bytes."""

    text: str
    public: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Batch:
    """A broadcast that pays several receivers at once."""

    text: str
    chain: str
    broadcast_id: int


Owner = Address | Channel | Swap | Transaction | Account | Batch
"""What a failed call may belong to."""


def read_owner(reference: str | int) -> Owner:
    """Return the owner that a text names; raise ValidationError for a malformed text."""
    text = str(reference).strip()
    if isinstance(reference, bool) or not text or len(text) > MAX_OWNER:
        raise ValidationError("owner", f"{text[:60]!r} is not {_FORMS}")
    for read in _READERS:
        if (owner := read(text)) is not None:
            return owner
    raise ValidationError("owner", f"{text!r:.90} is not {_FORMS}")


def _swap(text: str) -> Owner | None:
    if not (text.isascii() and text.isdigit()):
        return None
    if len(text) > _U64_DIGITS or int(text) >= 1 << 64:
        raise ValidationError("owner", f"{text[:24]} is too large for a swap's id")
    return Swap(text, int(text))


def _channel(text: str) -> Owner | None:
    try:
        channel = channel_of(text)
    except ValidationError as error:
        raise ValidationError("owner", f"{error.message}, in the depositChannelId {text!r}") from None
    return None if channel is None else Channel(str(channel), channel)


def evm_address(text: str) -> Address | None:
    """Return an address of an EVM chain, None for another text; raise ValidationError for a bad checksum."""
    if not _EVM.match(text):
        return None
    try:
        _, account = address = read_address("Ethereum", f"0x{text[2:]}")
    except AddressError as error:
        raise ValidationError("owner", str(error)) from None
    return Address(address_text(address), account, "evm")


def _hash(text: str) -> Owner | None:
    match = _HASH.match(text)
    return Transaction(text.replace("0X", "0x"), bytes.fromhex(match[1])) if match else None


def _extrinsic(text: str) -> Owner | None:
    return Transaction(text) if _EXTRINSIC.match(text) else None


def _account(text: str) -> Owner | None:
    if not text.startswith("cF"):
        return None
    try:
        return Account(text, decode(text)[1])
    except Ss58Error as error:
        raise ValidationError("owner", f"{text!r} is not a State Chain account: {error}") from None


def _base58(text: str) -> Owner | None:
    """Return a Tron address, a Solana address or a Solana transaction; None for another text."""
    try:
        data = base58.b58decode(text)
    except ValueError:
        return None
    if text.startswith("T") and len(data) == 25:
        try:
            payload = base58.b58decode_check(text)
        except ValueError:
            raise ValidationError("owner", f"the checksum of the Tron address {text} is wrong") from None
        return Address(text, payload[1:], "tron") if payload[0] == _TRON_PREFIX else None
    return Address(text, data) if len(data) == 32 else Transaction(text) if len(data) == 64 else None


def _bitcoin(text: str) -> Owner | None:
    normalized = bitcoin_text(text)
    return None if normalized is None else Address(normalized, normalized.encode(), "bitcoin")


def _substrate(text: str) -> Owner | None:
    try:
        return Address(text, decode(text)[1])
    except Ss58Error:
        return None


_READERS: tuple[Callable[[str], Owner | None], ...] = (
    _hash,
    _swap,
    _channel,
    evm_address,
    _extrinsic,
    _account,
    _bitcoin,
    _base58,
    _substrate,
)
