"""The account that gives the key manager each new key of the development chain.

On a live chain an authority sends the `setAggKeyWithAggKey` that the old key has signed. A development chain
sends nothing, so the key manager's governor sets the key that the node reports.
"""

from __future__ import annotations

from eth.vm.forks.cancun import CancunVM
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from cfnode.core.vault_calls import selector
from cfnode.devchain.evm.chain import EvmChain, Mined
from cfnode.devchain.evm.genesis import GOVERNOR

__all__ = ["set_key"]

_GAS = 200_000


def set_key(chain: EvmChain, key_manager: bytes, key: bytes) -> Mined:
    """Mine the governor's transaction that sets an aggregate key (33 bytes, compressed)."""
    sender = Address(GOVERNOR.address)
    unsigned = CancunVM.create_unsigned_transaction(
        nonce=chain.state(chain.height).get_nonce(sender),
        gas_price=2 * chain.base_fee,
        gas=_GAS,
        to=Address(key_manager),
        value=0,
        data=_set_key(key),
    )
    signed = unsigned.as_signed_transaction(PrivateKey(GOVERNOR.secret), chain_id=chain.chain_id)
    return chain.send(signed.encode())


def _set_key(key: bytes) -> bytes:
    """Return the data of the call, whose tuple is encoded as its two words."""
    parity = key[0] & 1
    return selector("setAggKeyWithGovKey((uint256,uint8))") + key[1:] + parity.to_bytes(32, "big")
