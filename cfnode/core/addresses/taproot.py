"""Bitcoin outputs of Chainflip's deposit channels (taproot).

The output of a channel (BIP 341) cannot be spent by its key: the internal key is a point without known
logarithm (x = 0xee…ee), and the only leaf of its tree is the script `salt DROP key CHECKSIG`, where the salt
is the channel id and the key the vault's. Salt 0 is the vault itself: its key, untweaked.
"""

from __future__ import annotations

from dataclasses import dataclass

from coincurve import PublicKey

from cfnode.core.addresses.bitcoin import Script
from cfnode.core.addresses.errors import AddressError
from cfnode.core.hashing import sha2_256

__all__ = ["MAX_TAPROOT_CHANNEL_ID", "TaprootDeposit", "deposit"]

MAX_TAPROOT_CHANNEL_ID = 2**32 - 1
_INTERNAL_KEY = b"\xee" * 32
_LEAF_VERSION = 0xC0
_OP_1, _OP_1NEGATE, _OP_DROP, _OP_CHECKSIG = 0x51, 0x4F, 0x75, 0xAC


@dataclass(frozen=True, slots=True)
class TaprootDeposit:
    """The output of a channel: `output_key` is compressed (33 bytes), `leaf_script` unlocks the output.

    For salt 0 there is no leaf: hash and script are empty.
    """

    public_key_x: bytes
    salt: int
    output_key: bytes
    leaf_hash: bytes = b""
    leaf_script: bytes = b""

    @property
    def script(self) -> Script:
        """The output script, a taproot key."""
        return "Taproot", self.output_key[1:]


def deposit(public_key_x: bytes, salt: int) -> TaprootDeposit:
    """Return the output for a channel id (`salt`) under the vault's x-only key (32 bytes).

    Raises AddressError for a channel id of more than 32 bits.
    """
    if not 0 <= salt <= MAX_TAPROOT_CHANNEL_ID:
        raise AddressError(f"a Bitcoin channel id has 32 bits, {salt} has more")
    if salt == 0:
        return TaprootDeposit(public_key_x, 0, b"\x02" + public_key_x)
    script = _push_salt(salt) + bytes([_OP_DROP, 32]) + public_key_x + bytes([_OP_CHECKSIG])
    # The script has at most 40 bytes, so its compact length is one byte.
    leaf = _tagged_hash(b"TapLeaf", bytes([_LEAF_VERSION, len(script)]) + script)
    tweak = _tagged_hash(b"TapTweak", _INTERNAL_KEY + leaf)
    output_key = PublicKey(b"\x02" + _INTERNAL_KEY).add(tweak).format(compressed=True)
    return TaprootDeposit(public_key_x, salt, output_key, leaf, script)


def _push_salt(salt: int) -> bytes:
    """Return a number as the State Chain pushes it: no sign byte, and 129 (read as -1) as OP_1NEGATE."""
    if salt <= 16:
        return bytes([_OP_1 + salt - 1])
    if salt == 129:
        return bytes([_OP_1NEGATE])
    digits = salt.to_bytes((salt.bit_length() + 7) // 8, "little")
    return bytes([len(digits)]) + digits


def _tagged_hash(tag: bytes, message: bytes) -> bytes:
    prefix = sha2_256(tag)
    return sha2_256(prefix + prefix + message)
