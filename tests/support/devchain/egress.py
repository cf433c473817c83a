"""Transfers that fail, and what their fallback signs."""

from __future__ import annotations

from typing import Any

from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import TransferParams
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import BITCOIN, Swapper

API = "CustomRuntimeApi_cf_"


def fails(broker: Swapper, asset: str, chain: str = "Ethereum", fails: bool = True) -> None:
    """Let transfers to the wallet fail."""
    assert broker.dev("fail_receiver", address=address_on(chain), asset=asset, fails=fails) == "Ok"


def failed_transfer(broker: Swapper, asset: str, chain: str = "Ethereum") -> dict[str, Any]:
    """Swap Bitcoin into an asset whose receiver does not take it; the request of the fallback."""
    fails(broker, asset, chain)
    broker.deposit("Btc", asset, BITCOIN)
    broker.blocks(4)
    event: dict[str, Any] = broker.event("TransferFallbackRequested")
    return event


def signed_transfer(data: bytes) -> tuple[int, Signature, TransferParams]:
    """Return nonce, signature and transfer of a fallback's data."""
    words = [data[4 + 32 * n : 36 + 32 * n] for n in range(6)]
    numbers = [int.from_bytes(word, "big") for word in words]
    transfer = TransferParams(words[3][12:], words[4][12:], numbers[5])
    return numbers[1], Signature(words[0], words[2][12:]), transfer
