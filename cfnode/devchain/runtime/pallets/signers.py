"""Threshold signers of Polkadot, Bitcoin and Solana, with their aggregate keys.

PolkadotThresholdSigner (25), BitcoinThresholdSigner (26), SolanaThresholdSigner (42), of
pallet_cf_threshold_signature: their keys are those of `keys`, and `key_rotation` changes them. No transaction
is built here for their chains.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.keys import AggKey

from .key_rotation import KeyRotation, names_of

__all__ = ["BitcoinThresholdSigner", "PolkadotThresholdSigner", "SolanaThresholdSigner"]


class PolkadotThresholdSigner(KeyRotation):
    """Assethub: sr25519."""

    index = 25
    crypto = "PolkadotCrypto"
    names = names_of("PolkadotAccountId", crypto)

    def active_key(self) -> bytes | None:
        """Return the aggregate key of the current epoch (32 bytes), or None."""
        key = super().active_key()
        assert key is None or isinstance(key, bytes)
        return key


class BitcoinThresholdSigner(KeyRotation):
    """Bitcoin: taproot keys."""

    index = 26
    crypto = "BitcoinCrypto"
    hands_over = True
    names = names_of("btc::AggKey", crypto)

    def active_key(self) -> values.BtcAggKey | None:
        """Return the current and the previous aggregate key, or None."""
        key = super().active_key()
        assert key is None or isinstance(key, values.BtcAggKey)
        return key

    def handed_over(self, new_key: AggKey) -> AggKey:
        """Return a new key with the current one as its previous key."""
        key = self.active_key()
        assert key is not None and isinstance(new_key, values.BtcAggKey)
        return replace(new_key, previous=key.current)


class SolanaThresholdSigner(KeyRotation):
    """Solana: ed25519."""

    index = 42
    crypto = "SolanaCrypto"
    names = names_of("Address", crypto)

    def active_key(self) -> bytes | None:
        """Return the aggregate key of the current epoch (32 bytes), or None."""
        key = super().active_key()
        assert key is None or isinstance(key, bytes)
        return key
