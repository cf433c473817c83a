"""Accounts of Chainflip's deposit channels on Assethub (and on Polkadot).

Each is a derivative of the vault account, as the relay chain's utility pallet derives them (`as_derivative`):
blake2b-256("modlpy/utilisuba" ‖ account ‖ index u16 little-endian). A channel id is wider than an index, so
its 16-bit words are applied one after the other, lowest first, down to the last word that is not zero.
"""

from __future__ import annotations

from cfnode.core.hashing import blake2_256

__all__ = ["deposit_account"]


def deposit_account(vault: bytes, channel_id: int) -> bytes:
    """Return the 32-byte account of a channel under the vault account."""
    account = vault
    while channel_id:
        word, channel_id = channel_id & 0xFFFF, channel_id >> 16
        account = blake2_256(b"modlpy/utilisuba" + account + word.to_bytes(2, "little"))
    return account
