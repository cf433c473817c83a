"""Which aggregate key signs for Chainflip on the foreign chains?

EvmThresholdSigner (24), BitcoinThresholdSigner (26), SolanaThresholdSigner (42), of
pallet_cf_threshold_signature. Keys do not change on the development chain: each epoch is given the one of
`runtime.dev.keys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from cfnode.runtime.dev.frame import Map, Pallet, Value
from cfnode.runtime.dev.keys import signer_key

__all__ = ["BitcoinThresholdSigner", "EvmThresholdSigner", "SolanaThresholdSigner", "ThresholdSigner"]

GENESIS_EPOCH = 1


class ThresholdSigner(Pallet):
    """The keys of one signature scheme, by epoch."""

    crate = "pallet_cf_threshold_signature"

    CurrentKeyEpoch = Value("u32", optional=True)
    Keys = Map("Twox64Concat", "u32", "AggKey", optional=True)

    def genesis(self, config: Any) -> None:
        self.on_new_epoch(GENESIS_EPOCH)

    def on_new_epoch(self, epoch: int) -> None:
        """The epoch's authorities hold the key."""
        self.Keys.put(epoch, signer_key(self.name))
        self.CurrentKeyEpoch.put(epoch)

    def active_key(self) -> Any:
        """The key of the current key epoch, or None."""
        epoch = self.CurrentKeyEpoch.get()
        return None if epoch is None else self.Keys.get(epoch)


class EvmThresholdSigner(ThresholdSigner):
    """Ethereum, Arbitrum and Tron: Schnorr over secp256k1."""

    index = 24
    names: ClassVar[Mapping[str, str]] = {"AggKey": "evm::AggKey"}


class BitcoinThresholdSigner(ThresholdSigner):
    """Bitcoin: taproot keys."""

    index = 26
    names: ClassVar[Mapping[str, str]] = {"AggKey": "btc::AggKey"}


class SolanaThresholdSigner(ThresholdSigner):
    """Solana: ed25519."""

    index = 42
    names: ClassVar[Mapping[str, str]] = {"AggKey": "Address"}
